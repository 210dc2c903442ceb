/** A fair queue serves its owners in turn, each in the order of arrival, whoever may be served and whoever leaves. */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, FastCheck, Schema } from "effect"
import { FairQueue, type ChooseWaiter } from "../../src/domain/FairQueue.js"

const drain = (queue: FairQueue<string, string>, pick?: ChooseWaiter<string, string>) => {
  const taken: Array<string> = []
  for (let next = queue.take(pick); next !== undefined; next = queue.take(pick)) taken.push(next)
  return taken
}

const queueOf = (...waiters: ReadonlyArray<string>) => {
  const queue = new FairQueue<string, string>()
  for (const waiter of waiters) queue.add(waiter.slice(0, 1), waiter)
  return queue
}

describe("A fair queue", () => {
  it("serves owners round-robin, however much waits for one, and each in the order of arrival", () => {
    const queue = queueOf("a1", "a2", "a3", "a4", "b1", "c1", "c2")
    assert.deepStrictEqual(drain(queue), ["a1", "b1", "c1", "a2", "c2", "a3", "a4"])
  })

  it("passes over owners that may not be served, which keep their turn", () => {
    const queue = queueOf("a1", "a2", "b1", "b2")
    const notA: ChooseWaiter<string, string> = (owner) => (owner === "a" ? -1 : 0)
    assert.isTrue(queue.canTake(notA))
    assert.strictEqual(queue.take(notA), "b1")
    assert.deepStrictEqual(drain(queue), ["a1", "b2", "a2"])
    assert.isFalse(queue.canTake(notA))
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
    const queue = queueOf("a1", "b1", "b2")
    assert.isTrue(queue.remove("a", "a1"))
    assert.isFalse(queue.remove("a", "a1"))
    assert.isFalse(queue.remove("c", "c1"))
    assert.deepStrictEqual([queue.size, queue.owners], [2, 1])
    assert.deepStrictEqual(queue.of("b"), ["b1", "b2"])
    assert.deepStrictEqual(queue.of("a"), [])
    drain(queue)
    assert.deepStrictEqual([queue.size, queue.owners], [0, 0])
  })

  it.prop(
    "lets no owner be served twice while another waits",
    [FastCheck.array(Arbitrary.make(Schema.Literal("a", "b", "c", "d")), { maxLength: 40 })],
    ([owners]) => {
      const taken = drain(queueOf(...owners.map((owner, n) => `${owner}${n}`)))
      assert.strictEqual(taken.length, owners.length)
      for (const [at, waiter] of taken.entries()) {
        const next = taken.slice(at + 1).findIndex((one) => one.startsWith(waiter.slice(0, 1)))
        const later = new Set(taken.slice(at + 1).map((one) => one.slice(0, 1)))
        if (next >= 0) assert.isAtLeast(next, later.size - 1)
      }
    }
  )
})
