/** The failures of stored jobs of leased tasks, by the name of the task. See `StoredJobs`. */
import { type Cause, Context, type Effect } from "effect"
import type { Unavailable } from "../../domain/Failure.js"

/** Stored work that a task does. `id`: unique among the jobs of the task. */
export interface StoredJob {
  readonly id: string
  readonly organisationId: string
}

/** A job that failed. */
export interface FailedJob {
  readonly id: string
  readonly failures: number
  readonly isSetAside: boolean
}

/** The jobs of a task that are set aside. Ids: the oldest few. */
export interface SetAside {
  readonly task: string
  readonly jobs: number
  readonly since: string
  readonly ids: ReadonlyArray<string>
  /** Kinds of errors, without values. */
  readonly reasons: ReadonlyArray<string>
}

export class FailedJobs extends Context.Tag("svc/FailedJobs")<
  FailedJobs,
  {
    /** Counts a failure; the third in a row sets the job aside, and each further one for longer. */
    readonly record: (
      task: string,
      job: StoredJob,
      cause: Cause.Cause<unknown>
    ) => Effect.Effect<FailedJob, Unavailable>
    /** A job succeeded after it had failed. */
    readonly forget: (task: string, id: string) => Effect.Effect<void, Unavailable>
    /** The jobs of a task whose last attempt failed. */
    readonly of: (task: string) => Effect.Effect<ReadonlyArray<FailedJob>, Unavailable>
    /** All jobs that are set aside, by task. */
    readonly setAside: Effect.Effect<ReadonlyArray<SetAside>, Unavailable>
  }
>() {}
