/** The locks on a node's shards follow what its sharding wants, also where it stopped waiting for them. */
import { RunnerAddress, RunnerStorage, ShardId } from "@effect/cluster"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer } from "effect"
import { Membership } from "../../src/runtime/cluster/Membership.js"
import type { Seat } from "../../src/runtime/cluster/Seat.js"
import { Gaining, layer, Leaving } from "../../src/runtime/cluster/ShardLocks.js"

const address = new RunnerAddress.RunnerAddress({ host: "127.0.0.1", port: 1 })
const shards = (...ids: ReadonlyArray<number>) => ids.map((id) => ShardId.make("default", id))

/** A seat whose locks come once `answer` is called. */
const makeSeat = () => {
  const shards = new Map<number, number>()
  const waiting: Array<() => void> = []
  const unlocked: Array<ReadonlyArray<number>> = []
  const seat: Pick<Seat, "shards" | "lock" | "unlock"> = {
    shards,
    lock: (wanted) =>
      new Promise((resolve) => {
        waiting.push(() => {
          for (const shard of wanted) shards.set(shard, 0)
          resolve()
        })
      }),
    unlock: (given) => {
      unlocked.push(given)
      for (const shard of given) shards.delete(shard)
      return Promise.resolve()
    }
  }
  return { seat: seat as Seat, answer: () => waiting.shift()?.(), unlocked }
}

const storageOn = (seat: Seat, leaving: Leaving["Type"] = new Set()) =>
  layer.pipe(
    Layer.provide(
      Layer.succeed(
        Membership,
        Membership.of({
          isHolding: () => true,
          members: () => [],
          changedSince: () => Effect.succeed(0),
          onChange: () => undefined,
          onCommits: () => undefined,
          join: Effect.void,
          leave: Effect.void,
          seat: () => seat,
          awaitSeat: Effect.succeed(seat)
        })
      )
    ),
    Layer.provide([Layer.succeed(Leaving, leaving), Layer.succeed(Gaining, new Set())]),
    Layer.build,
    Effect.map((context) => RunnerStorage.RunnerStorage.pipe(Effect.provide(context))),
    Effect.flatten
  )

describe("the locks on a node's shards", () => {
  it.scopedLive("that came too late for its sharding are given up", () =>
    Effect.gen(function* () {
      const { answer, seat, unlocked } = makeSeat()
      const storage = yield* storageOn(seat)
      const late = yield* Effect.timeoutOption(storage.acquire(address, shards(1, 2, 3)), "20 millis")
      assert.strictEqual(late._tag, "None")
      // They may still come: nothing is given up before.
      for (let n = 0; n < 3; n++) yield* storage.refresh(address, [])
      assert.deepStrictEqual(unlocked, [])
      answer()
      yield* Effect.yieldNow()
      // Meanwhile another node has joined, and 2 is all that is wanted.
      const second = yield* Effect.fork(storage.acquire(address, shards(2)))
      yield* Effect.yieldNow()
      answer()
      assert.deepStrictEqual(yield* second, shards(2))
      for (let n = 0; n < 3; n++) assert.deepStrictEqual(yield* storage.refresh(address, shards(2)), shards(2))
      assert.deepStrictEqual([...seat.shards.keys()], [2])
      assert.deepStrictEqual(unlocked, [[1, 3]])
    })
  )

  it.scopedLive("are kept while its sharding has them, or is about to", () =>
    Effect.gen(function* () {
      const { answer, seat } = makeSeat()
      const storage = yield* storageOn(seat)
      const done = yield* Deferred.make<void>()
      yield* Effect.fork(Effect.zipRight(storage.acquire(address, shards(1, 2)), Deferred.succeed(done, undefined)))
      yield* Effect.yieldNow()
      answer()
      yield* Deferred.await(done)
      // It has noted none yet.
      yield* storage.refresh(address, [])
      assert.deepStrictEqual(yield* storage.refresh(address, shards(1, 2)), shards(1, 2))
      yield* storage.refresh(address, shards(1, 2))
      assert.deepStrictEqual([...seat.shards.keys()], [1, 2])
    })
  )

  it.scopedLive("are given up although what runs on them does not stop", () =>
    Effect.gen(function* () {
      const { seat, unlocked } = makeSeat()
      seat.shards.set(1, 0)
      // As a run that waits for a commit over a silent path.
      const storage = yield* storageOn(seat, new Set([() => Effect.uninterruptible(Effect.sleep("1 minute"))]))
      yield* Effect.uninterruptible(storage.release(address, ShardId.make("default", 1)))
      assert.deepStrictEqual(unlocked, [[1]])
    })
  )

  it.scopedLive("that cannot be had are not an error of its sharding", () =>
    Effect.gen(function* () {
      const lost = { shards: new Map<number, number>(), lock: () => Promise.reject(new Error("gone")) }
      const storage = yield* storageOn(lost as unknown as Seat)
      assert.deepStrictEqual(yield* storage.acquire(address, shards(1)), [])
    })
  )

  it.scopedLive("are waited for while their holder gives them up, and had within a moment", () =>
    Effect.gen(function* () {
      const held = new Map<number, number>()
      let isFree = false
      const lock = (wanted: ReadonlyArray<number>) => {
        for (const shard of wanted) if (shard === 1 || isFree) held.set(shard, Date.now())
        return Promise.resolve()
      }
      const storage = yield* storageOn({ shards: held, lock } as unknown as Seat)
      const both = [...shards(1), ...shards(2)]
      yield* Effect.fork(
        Effect.delay(
          Effect.sync(() => (isFree = true)),
          100
        )
      )
      assert.sameMembers([...(yield* storage.acquire(address, both))], both)
      isFree = false
      held.clear()
      assert.sameMembers([...(yield* storage.acquire(address, both))], [...shards(1)], "what there is after that")
    })
  )
})
