/**
 * The organisations of an account have one share together of what a node divides, beside a neighbour with its own, and take
 * turns within it: connections outside, bytes, sessions of `svc.db`, reading, permits, the memory of guests.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { Agent } from "undici"
import { makeFairPermits } from "../../src/domain/share/FairPermits.js"
import type { ShareOwner } from "../../src/domain/share/ShareOwner.js"
import { ConnectionPlaces } from "../../src/runtime/egress/ConnectionPlaces.js"
import { ReadingTurns } from "../../src/runtime/egress/ReadingTurns.js"
import { ByteLedger } from "../../src/runtime/memory/ByteLedger.js"
import { GuestMemory } from "../../src/runtime/sandbox/GuestMemory.js"
import { makeTurns, type ReleaseTurn } from "../../src/runtime/workspace/Turns.js"
import { eventually } from "../support/eventually.js"
import { ownerOf } from "../support/shareOwners.js"

const mebibyte = 1_048_576

/** Two organisations of one account, and one of another. */
const [one, two, neighbour] = [ownerOf("one", "parent"), ownerOf("two", "parent"), ownerOf("neighbour")]

/** All of one child wait before those of its sibling, and these before the neighbour's. */
const inOrder: ReadonlyArray<ShareOwner> = [one, one, one, one, two, two, neighbour, neighbour, neighbour]
/** How they are served, one at a time. */
const inTurn = ["one", "neighbour", "two", "neighbour", "one", "neighbour", "two", "one", "one"]

describe("the connections of a node", () => {
  const makePlaces = (node: number) => {
    const places = new ConnectionPlaces({ node, origin: 128 }, () => new Agent())
    const releases: Array<() => void> = []
    const served: Array<string> = []
    const ask = (owner: ShareOwner, origin = "https://a.example") =>
      places.take(owner, origin, ({ release }) => {
        served.push(owner.organisation)
        releases.push(release)
      })
    return { places, ask, served, releases }
  }

  it("are given to the children of an account as to one organisation", () => {
    const { ask, releases, served } = makePlaces(20)
    for (let n = 0; n < 10; n++) for (const owner of [one, two]) ask(owner)
    assert.lengthOf(served, 10, "half of them, which leaves as many free")
    for (let n = 0; n < 4; n++) ask(neighbour)
    assert.lengthOf(
      served.filter((name) => name === "neighbour"),
      4
    )
    for (const release of releases) release()
  })

  it("that become free go to accounts in turn, and to the organisations of each in turn", () => {
    const { ask, places, releases, served } = makePlaces(1)
    const holder = ownerOf("holder")
    ask(holder)
    for (const owner of inOrder) ask(owner)
    served.length = 0
    const releaseAll = () => {
      for (let release = releases.shift(); release !== undefined; release = releases.shift()) release()
    }
    releaseAll()
    assert.deepStrictEqual(served, inTurn)
    assert.include(places.readings(), { open: 0, waiting: 0 })
  })
})

describe("the ledger of held bytes", () => {
  it("counts the children of an account together, and serves them in turn", () => {
    const ledger = new ByteLedger({ bytes: 1_000 })
    assert.isTrue(ledger.open(one, "answers").tryTake(500))
    assert.isFalse(ledger.open(two, "answers").tryTake(300), "more than three quarters of the ledger")
    assert.isTrue(ledger.open(neighbour, "answers").tryTake(300))
  })

  it("gives what becomes free to accounts in turn, and to the organisations of each in turn", () => {
    const ledger = new ByteLedger({ bytes: 1_000 })
    const holdings = [ownerOf("first"), ownerOf("second")].map((owner) => ledger.open(owner, "answers"))
    for (const holding of holdings) assert.isTrue(holding.tryTake(500))
    const served: Array<string> = []
    for (const owner of inOrder) ledger.open(owner, "answers").take(50, () => served.push(owner.organisation))
    for (const holding of holdings) holding.release()
    assert.deepStrictEqual(served, inTurn)
  })
})

describe("the sessions of svc.db", () => {
  const limits = {
    connections: 8,
    connectionsPerAccount: 4,
    transactions: 4,
    transactionsPerAccount: 2,
    waitingPerOrganisation: 64,
    waitMillis: 60_000
  }
  const acquire = (turns: ReturnType<typeof makeTurns>, owner: ShareOwner) =>
    Effect.runPromise(turns.acquire(owner, "statement"))

  it("are given to the children of an account as to one organisation", async () => {
    const turns = makeTurns({ ...limits, connections: 16 })
    const held: Array<string> = []
    const waiting = [one, two, one, two, one, two, neighbour].map((owner) =>
      Effect.runFork(Effect.tap(turns.acquire(owner, "statement"), () => held.push(owner.organisation)))
    )
    await eventually(
      async () => held,
      (all) => all.includes("neighbour")
    )
    assert.deepStrictEqual(held, ["one", "two", "one", "two", "neighbour"])
    assert.strictEqual(turns.usage().waiting, 2)
    await Effect.runPromise(Fiber.interruptAll(waiting))
  })

  it("go to accounts in turn, and to the organisations of each in turn", async () => {
    const turns = makeTurns({ ...limits, connections: 1 })
    const release = await acquire(turns, ownerOf("holder"))
    const served: Array<string> = []
    const all = inOrder.map((owner) =>
      acquire(turns, owner).then((mine: ReleaseTurn) => {
        served.push(owner.organisation)
        mine()
      })
    )
    release()
    await Promise.all(all)
    assert.deepStrictEqual(served, inTurn)
  })
})

describe("the permits for transactions", () => {
  it.effect("are given to accounts in turn, of which none has more than its part, and are given back", () =>
    Effect.gen(function* () {
      const { withPermit } = makeFairPermits(2, 4)
      const gate = yield* Deferred.make<void>()
      const begun: Array<string> = []
      const work = (owner: ShareOwner) =>
        withPermit(
          owner,
          Effect.zipRight(
            Effect.sync(() => begun.push(owner.organisation)),
            Deferred.await(gate)
          )
        )
      const fibers: Array<Fiber.Fiber<void>> = []
      for (const owner of inOrder) {
        fibers.push(yield* Effect.fork(work(owner)))
        yield* Effect.yieldNow()
      }
      assert.deepStrictEqual(begun, ["one", "one", "neighbour", "neighbour"])
      // One that waits, and two that hold a permit.
      for (const fiber of [fibers[5], fibers[0], fibers[1]]) if (fiber !== undefined) yield* Fiber.interrupt(fiber)
      yield* Effect.yieldNow()
      assert.deepStrictEqual(begun.slice(4), ["one", "two"], "the organisations of an account take turns")
      yield* Deferred.succeed(gate, undefined)
      for (const fiber of [...fibers.slice(2, 5), ...fibers.slice(6)]) yield* Fiber.join(fiber)
      assert.lengthOf(begun, inOrder.length - 1)
    })
  )
})

describe("large answers", () => {
  it("are read by accounts in turn, and by the organisations of each in turn", async () => {
    const read: Array<string> = []
    for (const owner of inOrder)
      new ReadingTurns(owner, { pause: () => undefined, resume: () => read.push(owner.organisation) }).countPiece(
        mebibyte
      )
    await eventually(
      async () => read.length,
      (length) => length === inOrder.length
    )
    assert.deepStrictEqual(read, inTurn)
  })
})

describe("the memory of guests", () => {
  it("is freed by the account that holds most, and there by the organisation that holds most", () => {
    const evicted: Array<string> = []
    const memory = new GuestMemory(428 * mebibyte, 1)
    const suspend = (owner: ShareOwner, mebibytes: number) =>
      memory.suspend({ owner, evict: () => evicted.push(owner.organisation) }, mebibytes * mebibyte)
    suspend(neighbour, 110)
    suspend(one, 60)
    suspend(two, 100)
    suspend(one, 10)
    suspend(neighbour, 10)
    suspend(one, 20)
    assert.deepStrictEqual(evicted, ["two"])
  })
})
