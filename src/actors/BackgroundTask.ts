/** A background task: its passes are reported, and a failing one is logged without flooding the log, then repeated. */
import { Clock, Effect } from "effect"
import { BackgroundTasks } from "./ports/BackgroundTasks.js"

/** A task that keeps failing is logged at these failures in a row, and at every thousandth. */
const logged: ReadonlySet<number> = new Set([1, 3, 10, 30, 100, 300])
const isLogged = (failures: number) => logged.has(failures) || failures % 1_000 === 0

export interface BackgroundTask {
  /** One pass. Never fails: a failure is counted and logged, and whoever repeats passes goes on. */
  readonly run: Effect.Effect<void>
  /** Tells whether work is waiting for the next pass. Said before and after it, so that a task that hangs is seen. */
  readonly waiting: (isWaiting: boolean) => Effect.Effect<void>
}

/**
 * `pass` does what there is to do. One that may take more than a minute is a function: it gets an effect, and runs it
 * whenever it has done a part. `name` is what `/readyz`, the metrics and the log call the task.
 */
export const backgroundTask = <E, R>(
  name: string,
  pass: Effect.Effect<unknown, E, R> | ((advance: Effect.Effect<void>) => Effect.Effect<unknown, E, R>)
) =>
  Effect.gen(function* () {
    const context = yield* Effect.context<R>()
    const report = (yield* BackgroundTasks).register(name)
    const now = Clock.currentTimeMillis
    const advance = Effect.map(now, report.started)
    const run = advance.pipe(
      Effect.zipRight(typeof pass === "function" ? pass(advance) : pass),
      Effect.provide(context),
      Effect.sandbox,
      Effect.matchEffect({
        onSuccess: () => Effect.map(now, report.succeeded),
        onFailure: (cause) =>
          Effect.flatMap(now, (at) => {
            const failuresInARow = report.failed(at)
            return isLogged(failuresInARow)
              ? Effect.logWarning("background_task.failed", cause).pipe(
                  Effect.annotateLogs({ task: name, failuresInARow })
                )
              : Effect.void
          })
      })
    )
    const waiting = (isWaiting: boolean) => Effect.map(now, (at) => report.waiting(isWaiting, at))
    return { run, waiting } satisfies BackgroundTask
  })
