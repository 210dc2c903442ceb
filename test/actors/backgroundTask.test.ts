import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, TestClock } from "effect"
import { backgroundTask, repeatEvery, repeatPasses } from "../../src/actors/BackgroundTask.js"
import { BackgroundTasks, isFailing, makeRegistry } from "../../src/actors/ports/BackgroundTasks.js"
import { announce } from "../support/LogExpectations.js"

const inRegistry = <A, E>(body: Effect.Effect<A, E>) =>
  Effect.suspend(() => Effect.provideService(body, BackgroundTasks, makeRegistry()))

const failing = Effect.gen(function* () {
  const now = yield* Clock.currentTimeMillis
  return (yield* BackgroundTasks)
    .statuses()
    .filter((status) => isFailing(status, now))
    .map(({ name }) => name)
})

describe("passes that are repeated", () => {
  it.scoped("begin at once or an interval later, and end with their scope", () =>
    Effect.gen(function* () {
      const passes = { now: 0, later: 0, ended: 0 }
      const count = (name: keyof typeof passes) => Effect.sync(() => (passes[name] += 1))
      yield* repeatEvery("1 second", count("now"))
      yield* repeatEvery("1 second", count("later"), "later")
      yield* Effect.scoped(repeatEvery("1 second", count("ended"), "later"))
      yield* TestClock.adjust("0 seconds")
      assert.deepStrictEqual(passes, { now: 1, later: 0, ended: 0 })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(passes, { now: 2, later: 1, ended: 0 })
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(passes, { now: 4, later: 3, ended: 0 })
    })
  )
})

describe("a background task is failing", () => {
  it.effect("when it has had no success for a minute with work waiting, and not before", () =>
    inRegistry(
      Effect.gen(function* () {
        const idle = yield* backgroundTask("idle", Effect.void)
        const busy = yield* backgroundTask("busy", Effect.void)
        yield* Effect.all([idle.run, busy.run])
        yield* TestClock.adjust("10 minutes")
        assert.isEmpty(yield* failing, "without work nothing is late")
        yield* busy.reportWaiting(true)
        yield* TestClock.adjust("60 seconds")
        assert.isEmpty(yield* failing)
        // A repeated report does not restart the minute.
        yield* busy.reportWaiting(true)
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* failing, ["busy"])
        yield* busy.run
        assert.isEmpty(yield* failing, "a success ends it")
        yield* TestClock.adjust("61 seconds")
        assert.deepStrictEqual(yield* failing, ["busy"])
        yield* busy.reportWaiting(false)
        assert.isEmpty(yield* failing, "and so does work that is done")
      })
    )
  )

  it.effect("when three passes in a row fail, until one succeeds; defects count as failures", () =>
    inRegistry(
      Effect.gen(function* () {
        announce(/background_task\.failed.*"task":"once"/, { required: true })
        let broken = true
        const task = yield* backgroundTask(
          "once",
          Effect.suspend(() => (broken ? Effect.die(new Error("broken")) : Effect.void))
        )
        yield* Effect.repeatN(task.run, 1)
        assert.isEmpty(yield* failing)
        yield* task.run
        assert.deepStrictEqual(yield* failing, ["once"])
        broken = false
        yield* task.run
        assert.isEmpty(yield* failing)
      })
    )
  )

  it.effect("when a pass has not advanced for a minute, and not while it advances", () =>
    inRegistry(
      Effect.gen(function* () {
        const advanced = yield* Deferred.make<void>()
        const stuck = yield* backgroundTask("stuck", (advance) =>
          Deferred.await(advanced).pipe(Effect.zipRight(advance), Effect.zipRight(Effect.never))
        )
        yield* Effect.fork(stuck.run)
        yield* TestClock.adjust("60 seconds")
        yield* Deferred.succeed(advanced, undefined)
        yield* Effect.yieldNow()
        yield* TestClock.adjust("60 seconds")
        assert.isEmpty(yield* failing)
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* failing, ["stuck"])
      })
    )
  )
})

describe("passes that are repeated", () => {
  it.effect("come again soon after a failure, and after their interval otherwise", () =>
    inRegistry(
      Effect.gen(function* () {
        announce(/background_task\.failed.*"task":"hourly"/, { required: true })
        let passes = 0
        const task = yield* backgroundTask(
          "hourly",
          Effect.suspend(() => (++passes === 1 ? Effect.fail("away") : Effect.void))
        )
        yield* Effect.fork(repeatPasses(task, { interval: Duration.hours(1), pause: Duration.minutes(1) }))
        const passesAfter = (minutes: number) => Effect.map(TestClock.adjust(Duration.minutes(minutes)), () => passes)
        assert.deepStrictEqual([yield* passesAfter(0), yield* passesAfter(1)], [1, 2])
        assert.deepStrictEqual([yield* passesAfter(59), yield* passesAfter(1)], [2, 3])
      })
    )
  )
})
