/**
 * Runs the stored jobs of a background task, each on its own: a job that fails, by any error, fails no other one and
 * not the task. After three failures in a row it is set aside, counted, and named in `/readyz`; it is tried again after a
 * pause that grows up to a day. A failure that cannot be recorded, since Postgres is away, is the task's and counts for no
 * job.
 */
import { Cause, Clock, Duration, Effect, Either } from "effect"
import type { Unavailable } from "../domain/Failure.js"
import { FailedJobs, type StoredJob } from "./ports/FailedJobs.js"

/** How old the known failures of other nodes, and of this node before its start, may be. */
const maxAge = Duration.seconds(10)

/** Failures at which a job is logged: its first, and that which sets it aside. */
const loggedFailures: ReadonlySet<number> = new Set([1, 3])

export interface StoredJobs<J> {
  /**
   * Runs one job; returns whether it succeeded. `false`: it failed, which is recorded, or is set aside. Fails only if
   * Postgres is away.
   */
  readonly attempt: <E, R>(job: J, work: Effect.Effect<unknown, E, R>) => Effect.Effect<boolean, Unavailable, R>
  /** Runs all jobs, and fails at the end if Postgres was away. `advance`: reports progress. */
  readonly each: <K extends J, E, R>(
    jobs: ReadonlyArray<K>,
    work: (job: K) => Effect.Effect<unknown, E, R>,
    options?: { readonly concurrency?: number; readonly advance?: Effect.Effect<void> }
  ) => Effect.Effect<void, Unavailable, R>
  /** Runs all jobs in one piece, and one at a time if that fails. */
  readonly together: <K extends J, E, R>(
    jobs: ReadonlyArray<K>,
    work: (jobs: ReadonlyArray<K>) => Effect.Effect<unknown, E, R>
  ) => Effect.Effect<void, Unavailable, R>
}

/** `toJob`: the identity of a job in the table of failures. */
export const makeStoredJobs = <J>(task: string, toJob: (job: J) => StoredJob) =>
  Effect.map(FailedJobs, (failedJobs): StoredJobs<J> => {
    /** Jobs whose last attempt failed, and whether they are set aside. */
    let failed = new Map<string, boolean>()
    let readAt = Number.NEGATIVE_INFINITY

    const refresh = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      if (now - readAt < Duration.toMillis(maxAge)) return
      readAt = now
      failed = new Map((yield* failedJobs.of(task)).map(({ id, isSetAside }) => [id, isSetAside]))
    })

    const recordFailure = Effect.fnUntraced(function* (job: StoredJob, cause: Cause.Cause<unknown>) {
      const { failures, isSetAside } = yield* failedJobs.record(task, job, cause)
      failed.set(job.id, isSetAside)
      if (loggedFailures.has(failures))
        yield* Effect.annotateLogs(
          Effect.logWarning(isSetAside ? "background_task.job_set_aside" : "background_task.job_failed", cause),
          { task, job: job.id, organisationId: job.organisationId, failures }
        )
      return false
    })

    const forget = (id: string) =>
      failed.has(id) ? Effect.map(failedJobs.forget(task, id), () => void failed.delete(id)) : Effect.void

    const attempt: StoredJobs<J>["attempt"] = (one, work) => {
      const job = toJob(one)
      return Effect.zipRight(
        refresh,
        Effect.suspend(() =>
          failed.get(job.id) === true
            ? Effect.succeed(false)
            : Effect.matchCauseEffect(work, {
                onSuccess: () => Effect.as(forget(job.id), true),
                onFailure: (cause) => (Cause.isInterruptedOnly(cause) ? Effect.interrupt : recordFailure(job, cause))
              })
        )
      )
    }

    const each: StoredJobs<J>["each"] = (jobs, work, { advance = Effect.void, concurrency = 1 } = {}) =>
      Effect.flatMap(
        Effect.forEach(jobs, (job) => Effect.zipLeft(Effect.either(attempt(job, work(job))), advance), { concurrency }),
        (results) => Effect.asVoid(results.find(Either.isLeft) ?? Effect.void)
      )

    return {
      attempt,
      each,
      together: (jobs, work) => {
        const alone = each(jobs, (job) => work([job]))
        return jobs.length === 0
          ? Effect.void
          : Effect.matchCauseEffect(work(jobs), {
              onSuccess: () => Effect.forEach(jobs, (job) => forget(toJob(job).id), { discard: true }),
              onFailure: (cause) => (Cause.isInterruptedOnly(cause) ? Effect.interrupt : alone)
            })
      }
    }
  })
