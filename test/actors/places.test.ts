/** Partners that hang leave places for the others, and work that waits for a place gets one in turn or is refused. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, TestClock } from "effect"
import { makePlaces, type PlaceBounds, type Places, type ReleasePlace } from "../../src/actors/Places.js"
import { ownerOf } from "../support/shareOwners.js"
import type { ShareOwner } from "../../src/domain/share/ShareOwner.js"

const limits: PlaceBounds = { perNode: 64, perAccount: 16, perPartner: 2, slowAfter: Duration.seconds(5) }

/** Takes places at as many unknown partners as it gets. */
const takeAll = (places: Places, organisation: string, round = 0) => {
  const taken: Array<ReleasePlace> = []
  for (;;) {
    const release = places.tryTake(ownerOf(organisation), `${organisation} ${round} ${taken.length}`)
    if (release === undefined) return taken
    taken.push(release)
  }
}

const answer = (places: Places, organisation: string, partner: string) =>
  Effect.sync(() => {
    const release = places.tryTake(ownerOf(organisation), partner)
    assert.isDefined(release)
    release()
  })

describe("places", () => {
  for (const organisations of [4, 16, 40])
    it.effect(`are left for others while ${organisations} organisations have any number of partners that hang`, () =>
      Effect.gen(function* () {
        const places = yield* makePlaces(limits)
        yield* answer(places, "known", "answers")
        for (let round = 0; round < 8; round++) {
          const all = Array.from({ length: organisations }, (_, n) => takeAll(places, `org ${n}`, round)).flat()
          assert.isAtMost(places.readings().held, 64)
          yield* answer(places, "known", "answers")
          // Of many, each is known to hang only once it did.
          if (round > organisations / 6) yield* answer(places, `fresh ${round}`, `fresh ${round}`)
          yield* TestClock.adjust("15 seconds")
          for (const release of all) release()
        }
      })
    )

  it.effect("of an organisation are left for its partners that answer", () =>
    Effect.gen(function* () {
      const places = yield* makePlaces(limits)
      yield* answer(places, "a", "answers")
      assert.lengthOf(takeAll(places, "a"), 12)
      for (let n = 0; n < 2; n++) assert.isDefined(places.tryTake(ownerOf("a"), "answers"))
      assert.isUndefined(places.tryTake(ownerOf("a"), "answers"), "two for one partner")
    })
  )

  it.effect("are fewer for slow partners, until they are quicker", () =>
    Effect.gen(function* () {
      const places = yield* makePlaces(limits)
      const slow = Array.from({ length: 12 }, (_, n) => `slow ${n}`)
      const first = slow.map((partner) => places.tryTake(ownerOf("a"), partner))
      yield* TestClock.adjust("5 seconds")
      for (const release of first) release?.()
      const again = slow.map((partner) => places.tryTake(ownerOf("a"), partner))
      assert.lengthOf(
        again.filter((release) => release !== undefined),
        8
      )
      assert.deepStrictEqual(places.readings(), { held: 8, slow: 8, waiting: 0 })
      const room = places.room()
      assert.includeMembers(room?.closedPartners.slice() ?? [], slow)
      again[0]?.()
      assert.notInclude(places.room()?.closedPartners ?? [], slow[0])
      assert.deepStrictEqual(places.readings(), { held: 7, slow: 7, waiting: 0 })
    })
  )

  it.effect("tell who would get one as they give them", () =>
    Effect.gen(function* () {
      const places = yield* makePlaces(limits)
      yield* answer(places, "a", "answers")
      takeAll(places, "a")
      assert.deepStrictEqual(places.room(), {
        fullAccounts: [],
        closedPartners: [],
        reservedFor: ["a"],
        isReserved: false,
        answering: ["answers"]
      })
      for (let n = 0; n < 2; n++) places.tryTake(ownerOf("a"), "answers")
      assert.deepStrictEqual(places.room()?.closedPartners, ["answers"])
    })
  )

  it.effect("that are waited for are given to organisations in turn, and given back", () =>
    Effect.gen(function* () {
      const places = yield* makePlaces({ ...limits, perNode: 1, perAccount: 1 })
      const order: Array<string> = []
      const gate = yield* Deferred.make<void>()
      const work = (organisation: string) =>
        places.withPlace(
          ownerOf(organisation),
          organisation,
          Effect.zipRight(
            Effect.sync(() => order.push(organisation)),
            Deferred.await(gate)
          )
        )
      const fibers: Array<Fiber.Fiber<void, unknown>> = []
      for (const organisation of ["a", "a", "b", "c", "a"]) {
        fibers.push(yield* Effect.fork(work(organisation)))
        yield* Effect.yieldNow()
      }
      assert.strictEqual(places.readings().held + places.readings().waiting, 5)
      const gone = fibers[3]
      if (gone !== undefined) yield* Fiber.interrupt(gone)
      yield* Deferred.succeed(gate, undefined)
      for (const fiber of fibers.filter((one) => one !== gone)) yield* Fiber.join(fiber)
      assert.deepStrictEqual(order, ["a", "a", "b", "a"])
      assert.deepStrictEqual(places.readings(), { held: 0, slow: 0, waiting: 0 })
    })
  )

  it.effect("that nobody gives back are refused after ten seconds, and at once to a crowd", () =>
    Effect.gen(function* () {
      const places = yield* makePlaces({ ...limits, perNode: 1, perAccount: 1 })
      const never = places.withPlace(ownerOf("a"), "hangs", Effect.never)
      const first = yield* Effect.fork(never)
      const crowd = yield* Effect.forEach(Array.from({ length: 17 }), () => Effect.fork(Effect.exit(never)))
      yield* Effect.yieldNow()
      yield* TestClock.adjust("10 seconds")
      const exits = yield* Effect.forEach(crowd, Fiber.join)
      const reasons = exits.map((exit) =>
        Exit.isFailure(exit) && exit.cause._tag === "Fail" ? exit.cause.error.reason : ""
      )
      assert.strictEqual(reasons.filter((reason) => reason === "waited").length, 16)
      assert.strictEqual(reasons.filter((reason) => reason === "crowded").length, 1)
      yield* Fiber.interrupt(first)
      assert.deepStrictEqual(places.readings(), { held: 0, slow: 0, waiting: 0 })
    })
  )

  it.effect("are one account's part for all of its organisations, which take turns", () =>
    Effect.gen(function* () {
      const places = yield* makePlaces({ ...limits, perNode: 6, perAccount: 2 })
      const [one, two, neighbour] = [ownerOf("one", "parent"), ownerOf("two", "parent"), ownerOf("neighbour")]
      const given: Array<string> = []
      const gate = yield* Deferred.make<void>()
      let asked = 0
      const work = (owner: ShareOwner) =>
        places.withPlace(
          owner,
          `partner ${asked++}`,
          Effect.zipRight(
            Effect.sync(() => given.push(owner.organisation)),
            Deferred.await(gate)
          )
        )
      const fibers: Array<Fiber.Fiber<void, unknown>> = []
      for (const owner of [one, one, one, one, two, two, neighbour]) {
        fibers.push(yield* Effect.fork(work(owner)))
        yield* Effect.yieldNow()
      }
      assert.deepStrictEqual(given, ["one", "neighbour"], "an account's only unproven place, and a neighbour's")
      yield* Deferred.succeed(gate, undefined)
      for (const fiber of fibers) yield* Fiber.join(fiber)
      assert.deepStrictEqual(given.slice(2), ["one", "two", "one", "two", "one"])
    })
  )
})
