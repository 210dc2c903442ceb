/**
 * Repeats leased work of one kind as a background task: takes what is due, in batches or as places become free, runs each
 * job on its own, and sets aside one that fails (`StoredJobs`). Work that waits for a partner outside is not waited for: work
 * that hangs keeps its place, and no other work from starting.
 */
import { Cause, Clock, Duration, Effect, FiberSet, type Scope } from "effect"
import type { Unavailable } from "../domain/Failure.js"
import { backgroundTask } from "./BackgroundTask.js"
import { PassTimes } from "./PassTimes.js"
import type { Places, ReleasePlace } from "./Places.js"
import type { FailedJobs, StoredJob, StoredJobTask } from "./ports/FailedJobs.js"
import type { DueWork, FindWork } from "./ports/LeasedWork.js"
import { makeStoredJobs, type StoredJobs } from "./StoredJobs.js"
import { ownerOfAccount } from "../domain/share/ShareOwner.js"

/** How a kind of work that waits for partners is run. */
export interface PlacedOptions<J extends StoredJob, E> {
  readonly places: Places
  readonly work: {
    readonly find: FindWork
    readonly lease: (found: ReadonlyArray<DueWork>) => Effect.Effect<ReadonlyArray<J>, Unavailable>
  }
  readonly run: (job: J) => Effect.Effect<unknown, E>
  /** Called with the cause if the failure of a job could not be recorded. The next pass meets the same failure. */
  readonly onUnrecorded?: (job: J, cause: Cause.Cause<unknown>) => Effect.Effect<void>
}

/** When passes are repeated. */
export interface RepeatOptions {
  /** How often work is looked for. */
  readonly interval: Duration.Duration
  /** The work belongs to this node's shards. Default: any node takes it. */
  readonly isOfShards?: boolean
  /** Once an interval, before the pass. */
  readonly reconcile?: Effect.Effect<unknown, Unavailable>
  /** A pass also begins when one of these ends. */
  readonly wakes?: ReadonlyArray<Effect.Effect<unknown>>
  /** A pass that succeeded also begins anew when one of these has a free place; one that failed would be repeated at once. */
  readonly places?: ReadonlyArray<Places>
}

/** One that may take more than a minute is a function, which runs the given effect whenever a part of its work is done. */
type Pass = Effect.Effect<unknown, unknown> | ((advance: Effect.Effect<void>) => Effect.Effect<unknown, unknown>)

/** The sweep of one kind of work. */
export interface LeasedSweep<J extends StoredJob> {
  readonly jobs: StoredJobs<StoredJob>
  /** Makes the effect that starts each job that is due and has a place. Jobs are interrupted when the scope closes. */
  readonly placed: <E>(
    options: PlacedOptions<J, E>
  ) => Effect.Effect<Effect.Effect<void, Unavailable>, never, Scope.Scope>
  /** Makes the background task that repeats passes for ever. */
  readonly repeat: (pass: Pass, options: RepeatOptions) => Effect.Effect<Effect.Effect<never>>
}

/** Takes batches of at most `size` until one is not full. `work`: `false` ends it. */
export const inBatches = <J, E, F>(
  size: number,
  take: (limit: number) => Effect.Effect<ReadonlyArray<J>, E>,
  work: (batch: ReadonlyArray<J>) => Effect.Effect<unknown, F>
): Effect.Effect<void, E | F> =>
  Effect.gen(function* () {
    for (;;) {
      const batch = yield* take(size)
      if (batch.length > 0 && (yield* work(batch)) === false) return
      if (batch.length < size) return
    }
  })

const startPlaced = <J extends StoredJob, E>(
  { onUnrecorded = (_, cause) => Effect.ignore(Effect.failCause(cause)), places, run, work }: PlacedOptions<J, E>,
  jobs: StoredJobs<StoredJob>
) =>
  Effect.map(FiberSet.make<void>(), (fibers) => {
    /** What this node does now; a store without leases may find it again. */
    const running = new Map<string, ReleasePlace>()

    const takePlaces = (found: ReadonlyArray<DueWork>): ReadonlyArray<DueWork> =>
      found.filter((due) => {
        const { id, partner } = due
        if (running.has(id)) return false
        const release = places.tryTake(ownerOfAccount(due), partner)
        if (release !== undefined) running.set(id, release)
        return release !== undefined
      })

    const end = (id: string) =>
      Effect.sync(() => {
        const release = running.get(id)
        running.delete(id)
        release?.()
      })

    const runOne = (job: J) =>
      Effect.catchAllCause(jobs.attempt(job, run(job)), (cause) =>
        Cause.isInterruptedOnly(cause) ? Effect.void : onUnrecorded(job, cause)
      ).pipe(Effect.interruptible, Effect.ensuring(end(job.id)))

    const start = (taken: ReadonlyArray<DueWork>) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const leased = yield* Effect.onError(restore(work.lease(taken)), () =>
            Effect.forEach(taken, ({ id }) => end(id), { discard: true })
          )
          const ids = new Set(leased.map(({ id }) => id))
          for (const { id } of taken) if (!ids.has(id)) yield* end(id)
          for (const job of leased) yield* FiberSet.run(fibers, Effect.asVoid(runOne(job)))
          return leased.length
        })
      )

    return Effect.gen(function* () {
      for (;;) {
        const room = places.room()
        if (room === undefined) return
        const taken = takePlaces(yield* work.find(room))
        if (taken.length === 0 || (yield* start(taken)) === 0) return
      }
    })
  })

/** Runs `effect` if its last success was an interval ago. */
const onceAn = (interval: Duration.Duration, effect: Effect.Effect<unknown, Unavailable>) => {
  let succeededAt = Number.NEGATIVE_INFINITY
  return Effect.flatMap(Clock.currentTimeMillis, (now) =>
    now - succeededAt < Duration.toMillis(interval) ? Effect.void : Effect.map(effect, () => void (succeededAt = now))
  )
}

const repeatSweep = (
  task: StoredJobTask,
  pass: Pass,
  { interval, isOfShards = false, places = [], reconcile = Effect.void, wakes = [] }: RepeatOptions
) => {
  const reconciled = onceAn(interval, reconcile)
  const whole = (advance: Effect.Effect<void>) =>
    Effect.zipRight(reconciled, typeof pass === "function" ? pass(advance) : pass)
  return Effect.gen(function* () {
    const { untilDue } = yield* PassTimes
    const { run } = yield* backgroundTask(task, whole, { isOfShards })
    return Effect.flatMap(run, (succeeded) =>
      Effect.raceAll(
        succeeded
          ? [untilDue(task, interval), ...wakes, ...places.map(({ freed }) => freed)]
          : // A failure is reported until a pass has shown that it is over.
            [Effect.sleep(interval), ...wakes]
      )
    ).pipe(Effect.forever, Effect.interruptible)
  })
}

/** The sweep of a kind of work, by the name that `/readyz`, the metrics and the log know. */
export const makeSweep = <J extends StoredJob = StoredJob>(
  task: StoredJobTask
): Effect.Effect<LeasedSweep<J>, never, FailedJobs> =>
  Effect.map(
    makeStoredJobs(task, (job: StoredJob) => job),
    (jobs) => ({
      jobs,
      placed: (options) => startPlaced(options, jobs),
      repeat: (pass, options) => repeatSweep(task, pass, options)
    })
  )
