/** The wait for an owner ends when its node cannot be reached, and only then. */
import { Sharding } from "@effect/cluster"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Option, TestClock } from "effect"
import { makeOwnerReach } from "../../src/actors/OwnerReach.js"
import { Ownership } from "../../src/actors/ports/Ownership.js"
import { ownershipOf } from "../support/ownership.js"

/** `ask`: how the owner's node answers a question; it may change. `isOwn`: whether this node is the owner. */
const waiting = (world: { ask: Effect.Effect<void, string>; isOwn?: boolean }, answer: Effect.Effect<string>) => {
  // Only clients are made of it.
  const sharding = { makeClient: () => Effect.succeed(() => ({ Ask: () => Effect.suspend(() => world.ask) })) }
  return makeOwnerReach.pipe(
    Effect.flatMap((withinReach) => Effect.fork(withinReach("conn_1", answer))),
    Effect.provideService(Ownership, ownershipOf({ owns: () => world.isOwn ?? false })),
    Effect.provideService(Sharding.Sharding, sharding as unknown as Sharding.Sharding["Type"])
  )
}

const seconds = (n: number) => TestClock.adjust(Duration.seconds(n))
const slowAnswer = Effect.delay(Effect.succeed("done"), "1 minute")

describe("the wait for an owner", () => {
  it.effect("takes as long as its work, if its node answers", () =>
    Effect.gen(function* () {
      const wait = yield* waiting({ ask: Effect.void }, slowAnswer)
      yield* seconds(60)
      assert.strictEqual(yield* Fiber.join(wait), "done")
    })
  )

  it.effect("takes as long as its work, if this node is the owner", () =>
    Effect.gen(function* () {
      const wait = yield* waiting({ ask: Effect.never, isOwn: true }, slowAnswer)
      yield* seconds(60)
      assert.strictEqual(yield* Fiber.join(wait), "done")
    })
  )

  it.effect("fails within 15 s if its node does not answer, also from the middle on", () =>
    Effect.gen(function* () {
      const world: { ask: Effect.Effect<void, string> } = { ask: Effect.void }
      const wait = yield* waiting(world, slowAnswer)
      yield* seconds(20)
      assert.isTrue(Option.isNone(yield* Fiber.poll(wait)))
      world.ask = Effect.never
      yield* seconds(15)
      assert.strictEqual((yield* Effect.flip(Fiber.join(wait)))._tag, "OwnerUnreachable")
    })
  )

  it.effect("survives that its node ends, and another takes the owner's shard", () =>
    Effect.gen(function* () {
      const world: { ask: Effect.Effect<void, string> } = { ask: Effect.dieMessage("the node ends") }
      const wait = yield* waiting(world, slowAnswer)
      yield* seconds(8)
      world.ask = Effect.void
      yield* seconds(60)
      assert.strictEqual(yield* Fiber.join(wait), "done")
    })
  )
})
