/**
 * A fair queue serves accounts in turn, the organisations of an account in turn, and each in the order of arrival, whoever
 * may be served and whoever leaves.
 */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, FastCheck, Schema } from "effect"
import { FairQueue, type ChooseWaiter } from "../../src/domain/share/FairQueue.js"
import { ownerOf } from "../support/shareOwners.js"

const drain = (queue: FairQueue<string>, pick?: ChooseWaiter<string>) => {
  const taken: Array<string> = []
  for (let next = queue.take(pick); next !== undefined; next = queue.take(pick)) taken.push(next)
  return taken
}

/** Of accounts by their letters; `A1` is of an organisation whose parent is `a`. */
const queueOf = (...waiters: ReadonlyArray<string>) => {
  const queue = new FairQueue<string>()
  for (const waiter of waiters) {
    const organisation = waiter.slice(0, 1)
    queue.add(ownerOf(organisation, organisation.toLowerCase()), waiter)
  }
  return queue
}

describe("A fair queue", () => {
  it("serves owners round-robin, however much waits for one, and each in the order of arrival", () => {
    const queue = queueOf("a1", "a2", "a3", "a4", "b1", "c1", "c2")
    assert.deepStrictEqual(drain(queue), ["a1", "b1", "c1", "a2", "c2", "a3", "a4"])
  })

  it("gives the organisations of an account its turns, one after the other", () => {
    const queue = queueOf("a1", "a2", "a3", "A1", "A2", "b1", "b2", "b3", "b4", "b5")
    assert.deepStrictEqual(drain(queue), ["a1", "b1", "A1", "b2", "a2", "b3", "A2", "b4", "a3", "b5"])
  })

  it("passes over owners that may not be served, which keep their turn", () => {
    const queue = queueOf("a1", "a2", "b1", "b2")
    const notA: ChooseWaiter<string> = (account) => (account === "a" ? -1 : 0)
    assert.isTrue(queue.canTake(notA))
    assert.strictEqual(queue.take(notA), "b1")
    assert.deepStrictEqual(drain(queue), ["a1", "b2", "a2"])
    assert.isFalse(queue.canTake(notA))
  })

  it("serves another organisation of an account while one may not be served", () => {
    const queue = queueOf("a1", "A1", "b1")
    const notFirst: ChooseWaiter<string> = (_, [next]) => (next === "a1" ? -1 : 0)
    assert.deepStrictEqual([queue.take(notFirst), queue.take(notFirst), queue.take(notFirst)], ["A1", "b1", undefined])
    assert.deepStrictEqual(drain(queue), ["a1"])
  })

  it("serves a later one of an owner where the earlier ones may not be, and keeps their order", () => {
    const queue = queueOf("a1", "a2", "a3", "b1")
    assert.strictEqual(
      queue.take((_, waiting) => waiting.indexOf("a2")),
      "a2"
    )
    assert.deepStrictEqual(drain(queue), ["b1", "a1", "a3"])
  })

  it("forgets what leaves, and owners without anything", () => {
    const queue = queueOf("a1", "A1", "b1", "b2")
    const a = ownerOf("a")
    assert.isTrue(queue.remove(a, "a1"))
    assert.isFalse(queue.remove(a, "a1"))
    assert.isFalse(queue.remove(ownerOf("c"), "c1"))
    assert.deepStrictEqual([queue.size, queue.accounts, queue.isWaiting("a")], [3, 2, true])
    assert.deepStrictEqual(queue.of(ownerOf("b")), ["b1", "b2"])
    assert.deepStrictEqual(queue.of(a), [])
    assert.isTrue(queue.remove(ownerOf("A", "a"), "A1"))
    assert.isFalse(queue.isWaiting("a"))
    drain(queue)
    assert.deepStrictEqual([queue.size, queue.accounts], [0, 0])
  })

  it.prop(
    "lets no account be served twice while another waits, whatever its organisations",
    [FastCheck.array(Arbitrary.make(Schema.Literal("a", "A", "b", "B", "c", "d")), { maxLength: 40 })],
    ([owners]) => {
      const taken = drain(queueOf(...owners.map((owner, n) => `${owner}${n}`))).map((one) => one.toLowerCase())
      assert.strictEqual(taken.length, owners.length)
      for (const [at, waiter] of taken.entries()) {
        const next = taken.slice(at + 1).findIndex((one) => one.startsWith(waiter.slice(0, 1)))
        const later = new Set(taken.slice(at + 1).map((one) => one.slice(0, 1)))
        if (next >= 0) assert.isAtLeast(next, later.size - 1)
      }
    }
  )
})
