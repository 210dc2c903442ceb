/**
 * Starts stored work of which each piece waits for a partner outside, as places become free, and does not wait for its
 * end: work that hangs keeps its place, and no other work from starting.
 */
import { Clock, Duration, Effect, FiberSet } from "effect"
import type { Unavailable } from "../domain/Failure.js"
import type { OrganisationId } from "../domain/Ids.js"
import { backgroundTask } from "./BackgroundTask.js"
import type { Places, ReleasePlace, Room } from "./Places.js"

/** Work that is due. `id`: unique among the work of its use. */
export interface DueWork {
  readonly id: string
  readonly organisationId: OrganisationId
  readonly partner: string
}

export interface PlacedWorkOptions<W extends DueWork, J> {
  readonly places: Places
  /** Finds due work of those who would get a place, organisations in turn. */
  readonly find: (room: Room) => Effect.Effect<ReadonlyArray<W>, Unavailable>
  /** Leases the work; leaves out what another node has. */
  readonly lease: (found: ReadonlyArray<W>) => Effect.Effect<ReadonlyArray<J>, Unavailable>
  readonly idOf: (job: J) => string
  /** Records its failures itself. */
  readonly run: (job: J) => Effect.Effect<unknown, Unavailable>
}

/** Returns the effect that starts each piece of work that is due and has a place. The work is interrupted when the scope closes. */
export const makePlacedWork = <W extends DueWork, J>({ find, idOf, lease, places, run }: PlacedWorkOptions<W, J>) =>
  Effect.map(FiberSet.make<void>(), (fibers) => {
    /** What this node does now; a store without leases may find it again. */
    const running = new Map<string, ReleasePlace>()

    const takePlaces = (found: ReadonlyArray<W>): ReadonlyArray<W> =>
      found.filter(({ id, organisationId, partner }) => {
        if (running.has(id)) return false
        const release = places.tryTake(organisationId, partner)
        if (release !== undefined) running.set(id, release)
        return release !== undefined
      })

    const end = (id: string) =>
      Effect.sync(() => {
        const release = running.get(id)
        running.delete(id)
        release?.()
      })

    const start = (taken: ReadonlyArray<W>) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const jobs = yield* Effect.onError(restore(lease(taken)), () =>
            Effect.forEach(taken, ({ id }) => end(id), { discard: true })
          )
          const leased = new Set(jobs.map(idOf))
          for (const { id } of taken) if (!leased.has(id)) yield* end(id)
          for (const job of jobs)
            yield* FiberSet.run(
              fibers,
              // The next pass meets the same failure of Postgres, and is the task's.
              Effect.ensuring(Effect.interruptible(Effect.ignore(run(job))), end(idOf(job)))
            )
          return jobs.length
        })
      )

    return Effect.gen(function* () {
      for (;;) {
        const room = places.room()
        if (room === undefined) return
        const taken = takePlaces(yield* find(room))
        if (taken.length === 0 || (yield* start(taken)) === 0) return
      }
    })
  })

/**
 * Repeats, as a background task: `reconcile` once an interval, and what is due then and whenever a place becomes free.
 * Forks it into the scope.
 */
export const repeatPlaced = (
  task: string,
  {
    interval,
    places,
    reconcile,
    startDue
  }: {
    readonly interval: Duration.Duration
    readonly places: Places
    readonly reconcile: Effect.Effect<void, Unavailable>
    readonly startDue: Effect.Effect<void, Unavailable>
  }
) => {
  let reconciledAt = Number.NEGATIVE_INFINITY
  const reconcileOnce = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    if (now - reconciledAt < Duration.toMillis(interval)) return Effect.void
    return Effect.map(reconcile, () => void (reconciledAt = now))
  })
  return Effect.flatMap(backgroundTask(task, Effect.zipRight(reconcileOnce, startDue)), ({ run }) =>
    Effect.flatMap(run, (succeeded) =>
      // A failure waits, or places that become free would repeat it at once.
      succeeded ? Effect.raceFirst(Effect.sleep(interval), places.freed) : Effect.sleep(interval)
    ).pipe(Effect.forever, Effect.interruptible, Effect.forkScoped)
  )
}
