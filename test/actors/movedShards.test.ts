/** What waits on shards that move to another node starts as soon as they are there, and keeps nothing else waiting. */
import { Sharding } from "@effect/cluster"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, TestClock } from "effect"
import { layer as queueSignals } from "../../src/actors/execution/QueueSignals.js"
import { Ownership } from "../../src/actors/ports/Ownership.js"
import { Wakeups } from "../../src/actors/ports/run/Wakeups.js"
import * as WakeupsLive from "../../src/runtime/process/Wakeups.js"
import { ownershipOf } from "../support/ownership.js"
import { makeRunWorld } from "../support/runWorld.js"

describe("Shards that move", () => {
  it.effect("are looked at by their new owner as soon as it has them", () =>
    Effect.gen(function* () {
      const told: Array<() => void> = []
      const node = ownershipOf({ onGain: (tell) => Effect.sync(() => void told.push(tell)) })
      const world = makeRunWorld({ guests: {}, node: Layer.succeed(Ownership, node) })
      let looks = 0
      const { findWork } = world.table
      Object.assign(world.table, {
        findWork: (...given: Parameters<typeof findWork>) => Effect.tap(findWork(...given), () => void looks++)
      })
      yield* Layer.build(world.layer)
      yield* TestClock.adjust("100 millis")
      const before = looks
      yield* TestClock.adjust("50 millis")
      assert.strictEqual(looks, before, "it looks twice a second")
      for (const tell of told) tell()
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(looks, before + 1)
    }).pipe(Effect.scoped)
  )

  it.effect("keep no signal to the other shards of their new owner waiting", () =>
    Effect.gen(function* () {
      const sent: Array<number> = []
      const shardOf = (id: string) => (Number(id.split("-")[1]) % 2) + 1
      const moving = 1
      const queue = (id: string) => ({
        Queued: () =>
          Effect.suspend(() => {
            sent.push(shardOf(id))
            return shardOf(id) === moving ? Effect.never : Effect.void
          })
      })
      const sharding = { makeClient: () => Effect.succeed(queue), registerEntity: () => Effect.void }
      const node = ownershipOf({
        isAlone: false,
        owns: () => false,
        ownerOf: () => "127.0.0.1:1",
        isMoving: (shard) => shard === moving,
        shardOf
      })
      const ports = Layer.mergeAll(
        // Only clients are made of it.
        Layer.succeed(Sharding.Sharding, sharding as unknown as Sharding.Sharding["Type"]),
        Layer.succeed(Ownership, node),
        WakeupsLive.layer
      )
      const context = yield* Layer.build(Layer.provideMerge(queueSignals, ports))
      const wakeups = yield* Effect.provide(Wakeups, context)
      wakeups.noteQueued(2, moving)
      wakeups.noteQueued(2, 2)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(sent, [moving, 2])
    }).pipe(Effect.scoped)
  )
})
