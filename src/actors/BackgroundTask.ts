/** A background task: reports its passes to the registry, and logs failures without flooding the log. */
import { Clock, type Duration, Effect, Schedule } from "effect"
import { BackgroundTasks, type TaskOptions } from "./ports/BackgroundTasks.js"

/** Failures in a row at which a failing task is logged; also every thousandth. */
const loggedFailures: ReadonlySet<number> = new Set([1, 3, 10, 30, 100, 300])
const isLogged = (failures: number) => loggedFailures.has(failures) || failures % 1_000 === 0

export interface BackgroundTask {
  /**
   * Runs one pass; returns whether it succeeded. Never fails: a failure is counted and logged, so that the caller can
   * repeat passes.
   */
  readonly run: Effect.Effect<boolean>
  /** Reports whether work waits for the next pass. Call it before and after a pass, so that a hanging task is noticed. */
  readonly reportWaiting: (isWaiting: boolean) => Effect.Effect<void>
}

/**
 * Registers a task under `name`, by which `/readyz`, the metrics and the log know it. A `pass` that may take more than a
 * few seconds is a function: it must run the given effect whenever it has done a part of its work.
 */
export const backgroundTask = Effect.fnUntraced(function* <E, R>(
  name: string,
  pass: Effect.Effect<unknown, E, R> | ((advance: Effect.Effect<void>) => Effect.Effect<unknown, E, R>),
  options: TaskOptions = {}
) {
  const context = yield* Effect.context<R>()
  const report = (yield* BackgroundTasks).register(name, options)
  const now = Clock.currentTimeMillis
  const advance = Effect.map(now, report.recordStart)
  const run = advance.pipe(
    Effect.zipRight(typeof pass === "function" ? pass(advance) : pass),
    Effect.provide(context),
    Effect.sandbox,
    Effect.matchEffect({
      onSuccess: () => Effect.as(Effect.map(now, report.recordSuccess), true),
      onFailure: (cause) =>
        Effect.flatMap(now, (at) => {
          const failuresInARow = report.recordFailure(at)
          const warning = Effect.logWarning("background_task.failed", cause).pipe(
            Effect.annotateLogs({ task: name, failuresInARow })
          )
          return Effect.as(isLogged(failuresInARow) ? warning : Effect.void, false)
        })
    })
  )
  const waiting = (isWaiting: boolean) => Effect.map(now, (at) => report.recordWaiting(isWaiting, at))
  return { run, reportWaiting: waiting } satisfies BackgroundTask
})

/** Runs passes in the background until the scope closes, `interval` apart; the first one at once, or that much later. */
export const repeatEvery = (
  interval: Duration.DurationInput,
  pass: Effect.Effect<unknown>,
  first: "now" | "later" = "now"
) => {
  const passes = Effect.repeat(pass, Schedule.spaced(interval))
  return Effect.forkScoped(Effect.interruptible(first === "now" ? passes : Effect.delay(passes, interval)))
}

/** Repeats a task's passes for ever: the next one `interval` after a success, `pause` after a failure. */
export const repeatPasses = (
  { run }: Pick<BackgroundTask, "run">,
  { interval, pause }: { readonly interval: Duration.Duration; readonly pause: Duration.Duration }
): Effect.Effect<never> =>
  Effect.forever(Effect.flatMap(run, (succeeded) => Effect.sleep(succeeded ? interval : pause)))
