/** The failures of stored jobs of background tasks. See `StoredJobs`. */
import { type Cause, Context, type Effect } from "effect"
import type { Unavailable } from "../../domain/Failure.js"

/** Tasks that work on stored jobs; the names by which `/readyz`, the metrics and the log know them. */
export type StoredJobTask =
  | "connections.renew"
  | "deliveries.send"
  | "events.poll"
  | "events.publish"
  | "events.release_held"
  | "events.replay"
  | "events.subscribe"
  | "schedules.fire"
  | "state.seal"

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
      task: StoredJobTask,
      job: StoredJob,
      cause: Cause.Cause<unknown>
    ) => Effect.Effect<FailedJob, Unavailable>
    /** A job succeeded after it had failed. */
    readonly forget: (task: StoredJobTask, id: string) => Effect.Effect<void, Unavailable>
    /** The jobs of a task whose last attempt failed. */
    readonly of: (task: StoredJobTask) => Effect.Effect<ReadonlyArray<FailedJob>, Unavailable>
    /** All jobs that are set aside, by task. */
    readonly setAside: Effect.Effect<ReadonlyArray<SetAside>, Unavailable>
  }
>() {}
