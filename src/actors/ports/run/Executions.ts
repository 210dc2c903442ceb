/** Starts and cancels runs, for the API surfaces. */
import { type Effect, Context } from "effect"
import type { AuditEntry } from "../../../domain/audit/Audit.js"
import type { Mocking } from "../../../domain/connector/Mocking.js"
import type { Event } from "../../../domain/event/Event.js"
import type { TriggerType } from "../../../domain/run/Execution.js"
import type { InvalidState, NotFound, TooManyRuns, Unavailable } from "../../../domain/Failure.js"
import type { ApiKeyId, CustomerId, ExecutionId, OrganisationId, TriggerId, UserId } from "../../../domain/Ids.js"
import type { Json } from "../../../domain/Json.js"
import type { AttemptEntry, ChosenConnection, RunReach, StartEntry } from "../../../domain/run/RunJournal.js"
import type { FinishedRun, OpenRun, RetentionClass } from "./Journal.js"
import type { Runnable } from "./Runnables.js"

/** A run to be started, with everything that is fixed for its life. */
export interface StartRequest {
  readonly runnable: Runnable
  readonly environment: string
  readonly retention: RetentionClass
  /** The organisation whose plan counts the run. */
  readonly accountId: OrganisationId
  /** Concurrent runs that the plan allows; `null`: any number. Applies to Instant runs here. */
  readonly concurrentRuns: number | null
  readonly priority: 1 | 2 | 3 | 4
  readonly input: Json
  /** Values that are redacted in all that is recorded of the run; absent: none. */
  readonly hidden?: ReadonlyArray<string>
  /** The request's headers, without credentials. */
  readonly headers: { readonly [name: string]: string }
  readonly customer: { readonly id: CustomerId; readonly ref: string | null } | null
  readonly installation: StartEntry["installation"]
  readonly connections: ReadonlyArray<ChosenConnection> | null
  /** The resources that the caller's key is narrowed to; absent: all. */
  readonly reach?: RunReach | undefined
  /** Absent: connectors are called for real. */
  readonly mocking?: Mocking | undefined
  readonly userId: string | null
  readonly trigger: {
    readonly type: TriggerType
    readonly keyId: ApiKeyId | null
    readonly keyName: string | null
    readonly id?: TriggerId
    /** The person who starts the run. */
    readonly personId?: UserId
  }
  /** The event that starts the run. */
  readonly event?: Event
  readonly routeId?: string
  /** The lane that the run occupies. */
  readonly lane?: string
  /** How long the caller of an Instant run waits, where that is not the tier's ceiling. Milliseconds. */
  readonly synchronousMillis?: number
  readonly metadata: Json
  readonly callback: { readonly url: string; readonly events: ReadonlyArray<string> | null } | null
  readonly traceparent: string | null
  /** Makes the audit entry of the start from the run's id. */
  readonly audit?: (id: ExecutionId) => AuditEntry
  readonly idempotency?: { readonly key: string; readonly hash: string }
  readonly parent?: {
    readonly id: ExecutionId
    /** What a run takes over from the run that it resumes; absent: a fresh run, which is its own root. */
    readonly resumes?: {
      readonly rootId: ExecutionId
      /** The number of the parent's journal entries after its start. */
      readonly entries: number
      readonly attempt: AttemptEntry
      /** For a flow: the paths of the steps that run anew. Absent: code, which is replayed. */
      readonly anew?: ReadonlyArray<string>
    }
  }
}

/** The result of starting a run. */
export type StartResult =
  /** The run was driven at once and has ended. */
  | { readonly _tag: "Ended"; readonly end: FinishedRun }
  /** The run moved to another node, where it is finished by now: its record says how it ended. */
  | { readonly _tag: "Moved"; readonly run: OpenRun }
  /** The run is committed: queued, or suspended. */
  | { readonly _tag: "Accepted"; readonly run: OpenRun }
  /** The Idempotency-Key was used before, by the run `target` for a request with this hash. */
  | { readonly _tag: "Repeated"; readonly target: ExecutionId; readonly hash: string | null }

export class Executions extends Context.Tag("svc/Executions")<
  Executions,
  {
    /** Fails with `TooManyRuns` for Instant runs only; others wait in the queue. */
    readonly start: (request: StartRequest) => Effect.Effect<StartResult, Unavailable | TooManyRuns>
    /** Commits the cancellation; a call in flight is aborted, and later appends of the run are fenced. */
    readonly cancel: (
      organisation: OrganisationId,
      id: ExecutionId,
      audit: AuditEntry
    ) => Effect.Effect<FinishedRun, NotFound | InvalidState | Unavailable>
    /**
     * Commits what has happened of a run that this node drives and that has no row yet, so that it is seen and can be cancelled.
     * `false`: there is no such run here, or it does not commit in time.
     */
    readonly commitStart: (id: ExecutionId) => Effect.Effect<boolean>
    /** Runs that this node drives at the moment. */
    readonly liveCount: Effect.Effect<number>
  }
>() {}
