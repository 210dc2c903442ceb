/**
 * Repeats leased work of one kind as a background task: takes what is due, in batches or as places become free, runs each
 * job on its own, and sets aside one that fails (`StoredJobs`). Work that waits for a partner outside is not waited for: work
 * that hangs keeps its place, and no other work from starting.
 */
import { Cause, Clock, Duration, Effect, FiberSet, Layer, type Scope } from "effect"
import type { Unavailable } from "../domain/Failure.js"
import { backgroundTask } from "./BackgroundTask.js"
import { PassTimes } from "./PassTimes.js"
import { type OutwardPlaces, type PlaceBounds, type Places, placesFor, type ReleasePlace } from "./Places.js"
import type { StoredJob } from "./ports/FailedJobs.js"
import type { DueWork, FindWork } from "./ports/LeasedWork.js"
import { makeStoredJobs, type StoredJobs } from "./StoredJobs.js"
import { ownerOfAccount } from "../domain/share/ShareOwner.js"

/** How a kind of work that waits for partners is run. */
interface PlacedOptions<J extends StoredJob, E> {
  readonly work: {
    readonly find: FindWork
    readonly lease: (found: ReadonlyArray<DueWork>) => Effect.Effect<ReadonlyArray<J>, Unavailable>
  }
  readonly run: (job: J) => Effect.Effect<unknown, E>
  /** Called with the cause if the failure of a job could not be recorded. The next pass meets the same failure. */
  readonly onUnrecorded?: (job: J, cause: Cause.Cause<unknown>) => Effect.Effect<void>
}

/** One that may take more than a minute is a function, which runs the given effect whenever a part of its work is done. */
type Pass = Effect.Effect<unknown, unknown> | ((advance: Effect.Effect<void>) => Effect.Effect<unknown, unknown>)

/** What a task does on a node. */
interface SweepWork {
  /** Does what is due. */
  readonly pass: Pass
  /** Once an interval, before the pass. */
  readonly reconcile?: Effect.Effect<unknown, Unavailable>
  /** A pass also begins when one of these ends. */
  readonly wakes?: ReadonlyArray<Effect.Effect<unknown>>
}

/** What a leased task is, apart from its work. `U`: the uses of its places. */
interface TaskSettings<N extends string, U extends string> {
  /** By which `/readyz`, the metrics, the log and what is set aside know it. */
  readonly name: N
  /** How often work is looked for. */
  readonly interval: Duration.Duration
  /** The work belongs to this node's shards. Default: any node takes it. */
  readonly isOfShards?: boolean
  /** How many places of its own it has for work that waits for partners outside, by use. */
  readonly places?: { readonly [K in U]: PlaceBounds }
}

/** What the work of a leased task is made of. */
export interface SweepTools<U extends string = never> {
  readonly jobs: StoredJobs<StoredJob>
  /**
   * Makes the effect that starts each job that is due and has a place of this use. Jobs are interrupted when the scope
   * closes. A pass that succeeded also begins anew when a place becomes free.
   */
  readonly placed: <J extends StoredJob, E>(
    use: U,
    options: PlacedOptions<J, E>
  ) => Effect.Effect<Effect.Effect<void, Unavailable>, never, OutwardPlaces | Scope.Scope>
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
  places: Places,
  { onUnrecorded = (_, cause) => Effect.ignore(Effect.failCause(cause)), run, work }: PlacedOptions<J, E>,
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

/** Repeats passes for ever. */
const repeatSweep = Effect.fnUntraced(function* (
  { interval, isOfShards = false, name, places = {} }: TaskSettings<string, string>,
  { pass, reconcile = Effect.void, wakes = [] }: SweepWork
) {
  const reconciled = onceAn(interval, reconcile)
  const whole = (advance: Effect.Effect<void>) =>
    Effect.zipRight(reconciled, typeof pass === "function" ? pass(advance) : pass)
  const { untilDue } = yield* PassTimes
  const { run } = yield* backgroundTask(name, whole, { isOfShards })
  const ofTask = yield* Effect.forEach(Object.keys(places), placesFor)
  return yield* Effect.flatMap(run, (succeeded) =>
    Effect.raceAll(
      succeeded
        ? [untilDue(name, interval), ...wakes, ...ofTask.map(({ freed }) => freed)]
        : // A failure is reported until a pass has shown that it is over. A free place would repeat it at once.
          [Effect.sleep(interval), ...wakes]
    )
  ).pipe(Effect.forever, Effect.interruptible)
})

/**
 * A leased task as one value. `make`: its work, which `repeat` repeats for ever, and `layer` until the scope closes.
 * `src/runtime/program/LeasedTasks.ts` starts the tasks that it lists, each with what is due for it.
 */
export const leasedTask = <const N extends string, W extends SweepWork, E, R, U extends string = never>(
  settings: TaskSettings<N, U>,
  makeWork: (tools: SweepTools<U>) => Effect.Effect<W, E, R>
) => {
  const make = Effect.flatMap(
    makeStoredJobs(settings.name, (job: StoredJob) => job),
    (jobs) =>
      makeWork({
        jobs,
        placed: (use, options) => Effect.flatMap(placesFor(use), (places) => startPlaced(places, options, jobs))
      })
  )
  const repeat = (work: SweepWork) => repeatSweep(settings, work)
  return {
    name: settings.name,
    places: settings.places ?? {},
    make,
    repeat,
    layer: Layer.scopedDiscard(Effect.flatMap(make, (work) => Effect.forkScoped(repeat(work))))
  }
}
