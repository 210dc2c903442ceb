/** One question a second for the work of all tasks wakes the sweeps that have some, each as often as its interval says. */
import { assert, it } from "@effect/vitest"
import { Duration, Effect, Layer, type Scope, TestClock } from "effect"
import { layer as passTimes, PassTimes } from "../../src/actors/PassTimes.js"
import { BackgroundTasks, isFailing, makeRegistry } from "../../src/actors/ports/BackgroundTasks.js"
import { DueTasks } from "../../src/actors/PassTimes.js"
import { Unavailable } from "../../src/domain/Failure.js"
import { announce } from "../support/LogExpectations.js"

interface Database {
  due: ReadonlyArray<string>
  isAway: boolean
  readonly questions: Array<ReadonlyArray<string>>
}

const passes: Array<string> = []
const sweep = (task: string, seconds: number) =>
  Effect.flatMap(PassTimes, ({ untilDue }) =>
    Effect.zipRight(
      untilDue(task, Duration.seconds(seconds)),
      Effect.sync(() => passes.push(task))
    ).pipe(Effect.forever, Effect.forkScoped)
  )

const withDatabase = <A, E>(
  test: (database: Database) => Effect.Effect<A, E, PassTimes | BackgroundTasks | Scope.Scope>
) => {
  passes.length = 0
  const database: Database = { due: [], isAway: false, questions: [] }
  const dueTasks = DueTasks.of({
    among: (tasks) =>
      Effect.suspend(() => {
        database.questions.push(tasks)
        return database.isAway
          ? Effect.fail(new Unavailable({ reason: "away", retryAfterSeconds: 1 }))
          : Effect.succeed(tasks.filter((task) => database.due.includes(task)))
      })
  })
  return test(database).pipe(
    Effect.scoped,
    Effect.provide(Layer.provide(passTimes, Layer.succeed(DueTasks, dueTasks))),
    Effect.provideService(BackgroundTasks, makeRegistry())
  )
}

it.effect("sweeps without work run no pass, and are asked for in one question as often as each looks for work", () =>
  withDatabase(({ questions }) =>
    Effect.gen(function* () {
      yield* sweep("schedules.fire", 1)
      yield* sweep("events.poll", 2)
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual(passes, [])
      const both = ["schedules.fire", "events.poll"]
      assert.deepStrictEqual(questions, [both, ["schedules.fire"], both, ["schedules.fire"]])
    })
  )
)

it.effect("a sweep with work runs at the next second, and once more when none is left", () =>
  withDatabase((database) =>
    Effect.gen(function* () {
      yield* sweep("schedules.fire", 1)
      yield* sweep("events.poll", 2)
      yield* TestClock.adjust("1 second")
      database.due = ["events.poll", "state.seal"]
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(passes, [], "its interval is two seconds")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(passes, ["events.poll"])
      database.due = []
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(passes, ["events.poll", "events.poll"])
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(passes.length, 2)
    })
  )
)

it.effect("while the question fails, every sweep runs, and the task is reported as failing", () =>
  withDatabase((database) =>
    Effect.gen(function* () {
      announce(/"background_task\.failed".*work\.find/, { required: true })
      database.isAway = true
      yield* sweep("schedules.fire", 1)
      yield* sweep("events.publish", 1)
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(passes.slice(0, 4).toSorted(), [
        "events.publish",
        "events.publish",
        "schedules.fire",
        "schedules.fire"
      ])
      const found = (yield* BackgroundTasks).statuses().find(({ name }) => name === "work.find")
      assert.isTrue(found !== undefined && isFailing(found, 3_000))
    })
  )
)
