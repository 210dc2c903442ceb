/** A node begins no more than it holds places for, and says that it is full only when that was the answer. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, TestClock } from "effect"
import { makePlaceLeases, type PlaceLeases } from "../../src/actors/PlaceLeases.js"
import { Ownership } from "../../src/actors/ports/Ownership.js"
import type { OrganisationId } from "../../src/domain/Ids.js"
import { organisationActor } from "../support/organisationActor.js"
import { aloneNode } from "../support/ownership.js"

const organisation = "org_1" as OrganisationId
const most = 10

interface Asked {
  readonly turn: number
  readonly used: number
  readonly wanted: number
}
type Answers = (asked: Asked) => Effect.Effect<{ readonly held: number | null }>

/** A node whose requests `answer` answers. `seat`: `null` for a lone one. */
const makeNode = (seat: string | null, answer: Answers) =>
  Effect.gen(function* () {
    const asked: Array<Asked> = []
    const inUse = new Map<OrganisationId, number>()
    const owner = () => ({
      HoldPlaces: (request: Asked) =>
        Effect.suspend(() => {
          asked.push(request)
          return answer(request)
        })
    })
    const lone = yield* Ownership.pipe(Effect.provide(aloneNode))
    const places = yield* makePlaceLeases("runs", () => inUse).pipe(
      Effect.provide(
        Layer.mergeAll(
          organisationActor(owner),
          Layer.succeed(Ownership, Ownership.of({ ...lone, seat: () => seat, nodes: () => 3, isAlone: seat === null }))
        )
      )
    )
    return { asked, inUse, places }
  })

/** Begins a statement that takes places, and takes none until `end`. */
const beginStatement = (places: PlaceLeases) =>
  Effect.gen(function* () {
    const taking = yield* Deferred.make<void>()
    const taker = yield* Effect.fork(
      places.whileTaking(
        () => Deferred.await(taking),
        () => []
      )
    )
    return { end: Effect.zipRight(Deferred.succeed(taking, undefined), Fiber.join(taker)) }
  })

/** Grants all that is asked for. */
const generous: Answers = ({ wanted }) => Effect.succeed({ held: wanted })

describe("the places of a node", () => {
  it.scoped("are counted by itself if it is alone, which asks nobody", () =>
    Effect.gen(function* () {
      const { asked, inUse, places } = yield* makeNode(null, generous)
      yield* places.makeRoom(organisation, most)
      assert.isTrue(places.hasRoom(organisation, most))
      inUse.set(organisation, most)
      assert.isFalse(places.hasRoom(organisation, most))
      assert.isTrue(places.hasRoom(organisation, null))
      assert.isEmpty(asked)
    })
  )

  it.scoped("are asked for when none is free, and given back when none was needed for two looks", () =>
    Effect.gen(function* () {
      const { asked, inUse, places } = yield* makeNode("node_a", generous)
      assert.isFalse(places.hasRoom(organisation, most))
      yield* places.makeRoom(organisation, most)
      assert.isTrue(places.hasRoom(organisation, most))
      inUse.set(organisation, 1)
      assert.isFalse(places.hasRoom(organisation, most))
      inUse.delete(organisation)
      yield* TestClock.adjust("500 millis")
      assert.deepInclude(asked.at(-1), { used: 0, wanted: 0 })
      assert.isFalse(places.hasRoom(organisation, most))
    })
  )

  it.scoped("that are in use anyhow, since it took runs over, are held at the next look", () =>
    Effect.gen(function* () {
      const { asked, inUse } = yield* makeNode("node_a", generous)
      inUse.set(organisation, 4)
      yield* TestClock.adjust("200 millis")
      assert.deepInclude(asked[0], { used: 4, wanted: 4 })
    })
  )

  it.scoped("do not count if a statement that takes places began before the answer, and are asked for again", () =>
    Effect.gen(function* () {
      const first = yield* Deferred.make<void>()
      const { asked, places } = yield* makeNode("node_a", ({ turn, wanted }) =>
        Effect.as(turn === 1 ? Deferred.await(first) : Effect.void, { held: wanted })
      )
      const starting = yield* Effect.fork(places.makeRoom(organisation, most))
      yield* TestClock.adjust("10 millis")
      const { end } = yield* beginStatement(places)
      yield* TestClock.adjust("10 millis")
      yield* Deferred.succeed(first, undefined)
      yield* TestClock.adjust("10 millis")
      assert.lengthOf(asked, 1, "it waits for the statement")
      assert.isFalse(places.hasRoom(organisation, most))
      yield* end
      yield* Fiber.join(starting)
      assert.lengthOf(asked, 2)
      assert.isTrue(places.hasRoom(organisation, most), "a start is not refused as one too many")
    })
  )

  it.scoped("are had by a start that waited while the last ones were given back", () =>
    Effect.gen(function* () {
      const { inUse, places } = yield* makeNode("node_a", generous)
      yield* places.makeRoom(organisation, most)
      inUse.delete(organisation)
      // The last look gave all back; the next finds nothing held, and waits for a statement, as does a start behind it.
      yield* TestClock.adjust("350 millis")
      const { end } = yield* beginStatement(places)
      yield* TestClock.adjust("100 millis")
      const starting = yield* Effect.fork(places.makeRoom(organisation, most))
      yield* TestClock.adjust("10 millis")
      yield* end
      yield* Fiber.join(starting)
      assert.isTrue(places.hasRoom(organisation, most))
    })
  )

  it.scoped("are asked for at once after some were given back, and not at all when it has all there are", () =>
    Effect.gen(function* () {
      const { asked, inUse, places } = yield* makeNode("node_a", generous)
      // Taken from the queue, of which it keeps none beyond those in use.
      yield* places.whileTaking(
        () => Effect.succeed([organisation, organisation]),
        (taken) => taken
      )
      inUse.set(organisation, 1)
      while (!asked.some(({ wanted }) => wanted === 1)) yield* TestClock.adjust("100 millis")
      yield* places.makeRoom(organisation, most)
      assert.isTrue(places.hasRoom(organisation, most))
      inUse.set(organisation, most)
      yield* TestClock.adjust("100 millis")
      const before = asked.length
      yield* places.makeRoom(organisation, most)
      assert.lengthOf(asked, before)
    })
  )

  it.scoped("cannot be told without a seat: that is no full organisation", () =>
    Effect.gen(function* () {
      const { places } = yield* makeNode("node_a", () => Effect.succeed({ held: null }))
      assert.strictEqual((yield* Effect.flip(places.makeRoom(organisation, most)))._tag, "Unavailable")
    })
  )

  it.scoped("are those of what it takes from the queue, too", () =>
    Effect.gen(function* () {
      const { inUse, places } = yield* makeNode("node_a", generous)
      const take = Effect.sync(() => {
        inUse.set(organisation, 2)
        return [organisation, organisation]
      })
      yield* places.whileTaking(
        (taker) => {
          assert.strictEqual(taker?.seat, "node_a")
          return take
        },
        (taken) => taken
      )
      assert.isFalse(places.hasRoom(organisation, most))
      inUse.set(organisation, 1)
      assert.isTrue(places.hasRoom(organisation, most))
    })
  )
})
