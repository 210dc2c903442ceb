/**
 * When the passes of sweeps begin: one question a second tells which tasks have work, and wakes their sweeps. A pass without
 * work would cost a statement or more of its own.
 */
import { Context, Duration, Effect, Layer } from "effect"
import { backgroundTask, repeatEvery } from "./BackgroundTask.js"
import type { Unavailable } from "../domain/Failure.js"

/**
 * Tells which tasks have stored work that is due: one question for all of them, so that an idle node asks once a
 * second, and not once for each task.
 */
export class DueTasks extends Context.Tag("svc/DueTasks")<
  DueTasks,
  {
    /** Those of the tasks that have work to look for: of shards of this node, or of no shard. */
    readonly among: (tasks: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>, Unavailable>
  }
>() {}

const tickInterval = Duration.seconds(1)

interface Waiting {
  /** In ticks: no clock that somebody sets delays a pass. */
  readonly interval: number
  readonly latch: Effect.Latch
  /** The tick at which it was asked for last. */
  askedAt: number
  /** It had work then. A last pass without work notes that there is none left. */
  hadWork: boolean
}

/** Without a layer, as in tests of single sweeps: the interval. */
export class PassTimes extends Context.Reference<PassTimes>()("svc/PassTimes", {
  defaultValue: (): {
    /** Ends when the task has work, which is looked for at each interval. */
    readonly untilDue: (task: string, interval: Duration.Duration) => Effect.Effect<void>
  } => ({ untilDue: (_, interval) => Effect.sleep(interval) })
}) {}

const make = Effect.gen(function* () {
  const { among } = yield* DueTasks
  const sweeps = new Map<string, Waiting>()
  const waiting = new Set<string>()
  let tick = 0

  const wake = (sweep: Waiting, isDue: boolean): void => {
    if (isDue || sweep.hadWork) sweep.latch.unsafeOpen()
    sweep.hadWork = isDue
  }

  const ask = Effect.gen(function* () {
    tick += 1
    const asked = [...sweeps].filter(([task, { askedAt, interval }]) => waiting.has(task) && tick - askedAt >= interval)
    if (asked.length === 0) return
    // Their passes find out, and report, what is wrong.
    const unknown = () => Effect.sync(() => asked.forEach(([, sweep]) => sweep.latch.unsafeOpen()))
    const due = yield* Effect.tapErrorCause(among(asked.map(([task]) => task)), unknown)
    for (const [task, sweep] of asked) {
      sweep.askedAt = tick
      wake(sweep, due.includes(task))
    }
  })
  const task = yield* backgroundTask("work.find", ask)
  yield* repeatEvery(tickInterval, task.run)

  return PassTimes.of({
    untilDue: (task, interval) =>
      Effect.suspend(() => {
        const sweep = sweeps.get(task) ?? {
          interval: Math.ceil(Duration.toSeconds(interval) / Duration.toSeconds(tickInterval)),
          latch: Effect.unsafeMakeLatch(false),
          askedAt: Number.NEGATIVE_INFINITY,
          hadWork: false
        }
        sweeps.set(task, sweep)
        waiting.add(task)
        sweep.latch.unsafeClose()
        return sweep.latch.await
      }).pipe(Effect.ensuring(Effect.sync(() => waiting.delete(task))))
  })
})

export const layer = Layer.scoped(PassTimes, make)
