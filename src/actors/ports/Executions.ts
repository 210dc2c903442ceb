/** Starting, ending and repeating runs: what surfaces ask of the execution actor's side. */
import type { Effect } from "effect"
import { Context } from "effect"
import type { AuditEntry } from "../../domain/Audit.js"
import type { Mocking } from "../../domain/connector/Mocking.js"
import type { TriggerType } from "../../domain/Execution.js"
import type { InvalidState, NotFound, TooManyRuns, Unavailable } from "../../domain/Failure.js"
import type { ApiKeyId, CustomerId, ExecutionId, OrganisationId } from "../../domain/Ids.js"
import type { Json } from "../../domain/Json.js"
import type { ChosenConnection, JournalEntry, RunReach, StartEntry } from "../../domain/RunJournal.js"
import type { FinishedRun, OpenRun, RetentionClass, StepRow } from "./Journal.js"
import type { Runnable } from "./Runnables.js"

export interface StartRequest {
  readonly runnable: Runnable
  readonly environment: string
  readonly retention: RetentionClass
  /** Runs that the organisation's plan allows at once; `null`: any number. Limits those whose caller waits. */
  readonly concurrentRuns: number | null
  readonly priority: 1 | 2 | 3 | 4
  readonly input: Json
  /** Without credentials. */
  readonly headers: { readonly [name: string]: string }
  readonly customer: { readonly id: CustomerId; readonly ref: string | null } | null
  readonly installation: StartEntry["installation"]
  readonly connections: ReadonlyArray<ChosenConnection> | null
  /** What the caller's key is narrowed to; absent: to nothing. */
  readonly reach?: RunReach | undefined
  /** Absent: connectors are really called. */
  readonly mocking?: Mocking | undefined
  readonly userId: string | null
  readonly trigger: { readonly type: TriggerType; readonly keyId: ApiKeyId | null; readonly keyName: string | null }
  readonly metadata: Json
  readonly callback: { readonly url: string; readonly events: ReadonlyArray<string> | null } | null
  readonly traceparent: string | null
  /** Makes the audit entry of the start; the run's id is known only then. */
  readonly audit?: (id: ExecutionId) => AuditEntry
  readonly idempotency?: { readonly key: string; readonly hash: string }
  readonly parent?: {
    readonly id: ExecutionId
    /** The root that a resumed run goes on under; a fresh one is its own. */
    readonly rootId?: ExecutionId
    /** What the parent remembers, for a run that resumes it. */
    readonly journal: ReadonlyArray<JournalEntry>
    /** The steps of the results that are used again, as the parent shows them. */
    readonly steps: ReadonlyArray<StepRow>
  }
}

export type StartResult =
  /** It ran inline to its end. */
  | { readonly _tag: "Ended"; readonly end: FinishedRun }
  /** It is durable and will start when a slot is free. */
  | { readonly _tag: "Accepted"; readonly run: OpenRun }
  /** The Idempotency-Key was used before: by this run, for a request with this hash. */
  | { readonly _tag: "Repeated"; readonly target: ExecutionId; readonly hash: string | null }

export class Executions extends Context.Tag("svc/Executions")<
  Executions,
  {
    /** `TooManyRuns`: of an Instant run only; others wait in the queue. */
    readonly start: (request: StartRequest) => Effect.Effect<StartResult, Unavailable | TooManyRuns>
    /** Durable at once; a call in flight is aborted, and whatever comes later from the run is ignored. */
    readonly cancel: (
      organisation: OrganisationId,
      id: ExecutionId,
      audit: AuditEntry
    ) => Effect.Effect<FinishedRun, NotFound | InvalidState | Unavailable>
    /** Runs that this node drives at the moment. */
    readonly liveCount: Effect.Effect<number>
  }
>() {}
