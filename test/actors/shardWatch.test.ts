/** A node that does not do the work of its shards is seen, and ends after half a minute in which Postgres works. */
import { Sharding } from "@effect/cluster"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber, Layer, TestClock } from "effect"
import { backgroundTask } from "../../src/actors/BackgroundTask.js"
import { BackgroundTasks, makeRegistry } from "../../src/actors/ports/BackgroundTasks.js"
import { Ownership } from "../../src/actors/ports/Ownership.js"
import { isWorking, layer, type ShardReading, ShardWatch } from "../../src/actors/shard/ShardWatch.js"
import { ownershipOf } from "../support/ownership.js"

const shardCount = 20

interface World {
  /** Whether a shard answers a message to it. */
  answers: (shard: number) => boolean
  held: ReadonlyArray<number>
  databaseWorks: boolean
  readonly asked: Array<number>
  readonly ends: Array<ShardReading>
}

const makeWorld = (): World => ({
  answers: () => true,
  held: Array.from({ length: shardCount }, (_, n) => n + 1),
  databaseWorks: true,
  asked: [],
  ends: []
})

/** The watch in a world whose messages and shards are the test's. */
const watched = (world: World) => {
  const shardOf = (id: string) => (Number(id) % shardCount) + 1
  const ownership = ownershipOf({
    shardOf,
    owns: (shard) => world.held.includes(shard),
    ownedShards: () => world.held
  })
  const ask = (id: string) =>
    Effect.suspend(() => {
      world.asked.push(shardOf(id))
      return world.answers(shardOf(id)) ? Effect.void : Effect.never
    })
  // The watch uses its clients only.
  const sharding = { makeClient: () => Effect.succeed((id: string) => ({ Ask: () => ask(id) })) }
  return layer({
    databaseWorks: Effect.sync(() => world.databaseWorks),
    end: (reading) => Effect.sync(() => void world.ends.push(reading))
  }).pipe(
    Layer.provide(Layer.succeed(Ownership, ownership)),
    Layer.provide(Layer.succeed(Sharding.Sharding, sharding as unknown as Sharding.Sharding["Type"])),
    Layer.provideMerge(Layer.sync(BackgroundTasks, makeRegistry))
  )
}

const seconds = (n: number) => TestClock.adjust(Duration.seconds(n))
const reading = Effect.map(ShardWatch, (watch) => watch.reading())

describe("the watch of a node's shards", () => {
  it.effect("asks all of them in turn, and finds a node that works", () => {
    const world = makeWorld()
    return Effect.gen(function* () {
      yield* seconds(2 * shardCount)
      assert.sameMembers([...new Set(world.asked)], [...world.held])
      yield* seconds(120)
      assert.deepStrictEqual(yield* reading, { held: shardCount, unanswered: [], overdue: [] })
      assert.isEmpty(world.ends)
    }).pipe(Effect.provide(watched(world)))
  })

  it.effect("reads the shards that it holds now, from its start on", () => {
    const world = makeWorld()
    return Effect.gen(function* () {
      assert.strictEqual((yield* reading).held, shardCount)
      world.held = [3]
      assert.strictEqual((yield* reading).held, 1)
    }).pipe(Effect.provide(watched(world)))
  })

  it.effect("names a shard that does not answer after 5 s, and ends the node 30 s later, once", () => {
    const world = makeWorld()
    world.answers = (shard) => shard !== 7
    return Effect.gen(function* () {
      yield* seconds(14)
      assert.strictEqual(world.asked.at(-1), 7)
      assert.isTrue(isWorking(yield* reading))
      yield* seconds(6)
      assert.deepInclude(yield* reading, { unanswered: [7] })
      assert.strictEqual(world.asked.filter((shard) => shard === 7).length, 1, "a message in hand is not repeated")
      assert.isEmpty(world.ends)
      yield* seconds(60)
      assert.deepStrictEqual(world.ends, [{ held: shardCount, unanswered: [7], overdue: [] }])
    }).pipe(Effect.provide(watched(world)))
  })

  it.effect("ends no node whose shard answers again, or went elsewhere", () => {
    const world = makeWorld()
    world.answers = (shard) => shard !== 7
    return Effect.gen(function* () {
      yield* seconds(30)
      assert.isFalse(isWorking(yield* reading))
      world.held = world.held.filter((shard) => shard !== 7)
      yield* seconds(60)
      assert.isTrue(isWorking(yield* reading))
      assert.isEmpty(world.ends)
    }).pipe(Effect.provide(watched(world)))
  })

  it.effect("names a task whose due work waits for 10 s without a step, and ends the node 30 s later", () => {
    const world = makeWorld()
    return Effect.gen(function* () {
      yield* seconds(1)
      const idle = yield* backgroundTask("idle", Effect.void, { isOfShards: true })
      const hangs = yield* backgroundTask("hangs", Effect.never, { isOfShards: true })
      const waits = yield* backgroundTask("waits", Effect.void, { isOfShards: true })
      const other = yield* backgroundTask("other", Effect.never)
      yield* Effect.fork(hangs.run)
      yield* Effect.fork(other.run)
      yield* idle.run
      yield* waits.reportWaiting(true)
      yield* seconds(9)
      assert.isTrue(isWorking(yield* reading))
      yield* seconds(3)
      assert.deepInclude(yield* reading, { overdue: ["hangs", "waits"] })
      assert.isEmpty(world.ends)
      yield* seconds(30)
      assert.lengthOf(world.ends, 1)
    }).pipe(Effect.provide(watched(world)))
  })

  it.effect("ends no node that goes on, however slowly, or whose passes fail", () => {
    const world = makeWorld()
    return Effect.gen(function* () {
      const slow = yield* backgroundTask(
        "slow",
        (advance) => Effect.forever(Effect.zipRight(Effect.sleep("9 seconds"), advance)),
        { isOfShards: true }
      )
      yield* Effect.fork(slow.run)
      const report = (yield* BackgroundTasks).register("fails", { isOfShards: true })
      report.recordWaiting(true, 0)
      for (let n = 0; n < 12; n++) {
        report.recordStart(0)
        report.recordFailure(0)
        yield* seconds(9)
      }
      assert.isTrue(isWorking(yield* reading))
      assert.isEmpty(world.ends)
    }).pipe(Effect.provide(watched(world)))
  })

  it.effect("ends no node while Postgres does not work, and counts anew afterwards", () => {
    const world = makeWorld()
    world.answers = () => false
    return Effect.gen(function* () {
      yield* seconds(25)
      world.databaseWorks = false
      yield* seconds(300)
      assert.isFalse(isWorking(yield* reading))
      world.databaseWorks = true
      yield* seconds(28)
      assert.isEmpty(world.ends)
      yield* seconds(5)
      assert.lengthOf(world.ends, 1)
    }).pipe(Effect.provide(watched(world)))
  })

  it.effect("counts no time in which the process did not run", () => {
    const world = makeWorld()
    world.answers = () => false
    return Effect.gen(function* () {
      yield* seconds(20)
      assert.isFalse(isWorking(yield* reading))
      // As after a freeze: the timer is late, by any time.
      const clock = yield* Effect.clock
      const late: Clock.Clock = {
        [Clock.ClockTypeId]: Clock.ClockTypeId,
        unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis(),
        unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos() * 3n,
        currentTimeMillis: clock.currentTimeMillis,
        currentTimeNanos: Effect.map(clock.currentTimeNanos, (now) => now * 3n),
        sleep: (duration) => clock.sleep(duration)
      }
      const other = makeWorld()
      other.answers = () => false
      const fiber = yield* Effect.fork(
        Effect.withClock(Effect.scoped(Effect.zipRight(Layer.build(watched(other)), Effect.never)), late)
      )
      yield* seconds(300)
      assert.isNotEmpty(other.asked)
      assert.isEmpty(other.ends)
      assert.lengthOf(world.ends, 1, "a watch on time has counted")
      yield* Fiber.interrupt(fiber)
    }).pipe(Effect.provide(watched(world)))
  })

  it.effect("ends no node that holds no shards", () => {
    const world = makeWorld()
    world.held = []
    return Effect.gen(function* () {
      const hangs = yield* backgroundTask("hangs", Effect.never, { isOfShards: true })
      yield* Effect.fork(hangs.run)
      yield* seconds(300)
      assert.deepStrictEqual(yield* reading, { held: 0, unanswered: [], overdue: [] })
      assert.isEmpty(world.ends)
    }).pipe(Effect.provide(watched(world)))
  })
})
