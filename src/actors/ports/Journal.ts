/**
 * Where runs are written. One append carries everything that changes for one run at one moment, and it commits
 * whole or not at all; appends of many runs share a transaction (group commit).
 */
import { operatorText } from "../../domain/OperatorText.js"
import type { Effect } from "effect"
import { Context, Data } from "effect"
import type { AuditEntry } from "../../domain/Audit.js"
import type { ExecutionStatus, TriggerType, Waiting } from "../../domain/Execution.js"
import type { RunHead, RunOrigin } from "../../domain/ExecutionView.js"
import type { BlobId, DeliveryId, ExecutionId, OrganisationId, SpaceId } from "../../domain/Ids.js"
import type { Json } from "../../domain/Json.js"
import type { ChosenConnection, JournalEntry } from "../../domain/RunJournal.js"

/** What is known of a run from its acceptance on and never changes. */
export interface RunRecord extends RunOrigin {
  /** How long it may take, from its acceptance for Instant and from its start for the other tiers. */
  readonly ceilingMillis: number
  /** The first run of a chain of resumed ones: idempotency keys and seeds hang on it. */
  readonly rootId: ExecutionId
  /** Identifies the code; a draft's version is `null`, its content is not. */
  readonly contentHash: string
  readonly callbackUrl: string | null
  readonly callbackEvents: ReadonlyArray<string> | null
  readonly traceparent: string | null
  /**
   * The request's headers, for a run that ended without a journal, which would hold them exactly: as they may be shown,
   * so that none is a secret.
   */
  readonly headers?: { readonly [name: string]: string }
  /** The connections that the request chose, for re-runs that come when the journal is gone. */
  readonly connections?: ReadonlyArray<ChosenConnection>
  /** The recorded input lacks secrets that the run was given: only its journal has the exact input. */
  readonly inputRedacted?: boolean
}

/** How long a finished run is kept, in days: the first partition key of its record. */
export type RetentionClass = 7 | 30 | 365

/** A run that has not ended, as its row says. Times are Unix milliseconds. */
export interface OpenRun extends RunHead {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly shard: number
  readonly epoch: number
  readonly engine: string
  readonly retention: RetentionClass
  readonly status: "pending" | "running"
  readonly priority: 1 | 2 | 3 | 4
  readonly triggerType: TriggerType
  /** How often it was taken up, and not survived, since its journal last grew. */
  readonly activations: number
  /** How many journal rows there were at the activation that set `activations` to one. */
  readonly progress: number
  readonly wakeAt: number | null
  readonly deadlineAt: number
  readonly waiting: Waiting | null
  readonly createdAt: number
  readonly startedAt: number | null
  readonly record: RunRecord
  /** Redacted, as the API shows it. */
  readonly input: Json
}

/** What a run's row changes to; absent members stay. A run that goes to sleep was survived: its activations begin anew. */
export type RunPatch = Partial<Pick<OpenRun, "attempt" | "wakeAt" | "deadlineAt" | "waiting">>

/** How a run ended. The members of its row are repeated so that a run that never had one is recorded alike. */
export interface FinishedRun {
  readonly run: OpenRun
  readonly status: Exclude<ExecutionStatus, "pending" | "running">
  readonly statusReason: string | null
  readonly finishedAt: number
  readonly output: Json
  readonly error: Json
  readonly metrics: Json
}

/** One step of the trace: redacted and capped. */
export interface StepRow {
  readonly index: number
  readonly status: "pending" | "running" | "waiting" | "completed" | "failed" | "skipped"
  readonly record: Json
}

/** Lines that one turn of the guest wrote. `seq` orders the chunks and repeats at a replay. */
export interface LogChunk {
  readonly seq: number
  readonly lines: ReadonlyArray<{ readonly at: string; readonly level: string; readonly message: string }>
}

export interface Blob {
  readonly id: BlobId
  readonly content: Json
}

/** A unique key that an append takes; the first to commit it has it. */
export interface Claim {
  readonly scope: "idem" | "nonce"
  readonly key: string
  /** Identifies the request, to tell a repetition from another use of the key. */
  readonly hash: string
  readonly expiresAt: number
}

export interface DeliveryRow {
  readonly id: DeliveryId
  readonly kind: "callback"
  readonly url: string
  readonly payload: string
}

export interface RunChange {
  readonly id: ExecutionId
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly retention: RetentionClass
  /** The incarnation that writes; `null` for a run that has no row yet. */
  readonly epoch: number | null
  readonly claim?: Claim
  readonly open?: OpenRun
  readonly patch?: RunPatch
  /** Rows of the journal with their place. */
  readonly journal?: ReadonlyArray<{ readonly seq: number; readonly entry: JournalEntry }>
  readonly steps?: ReadonlyArray<StepRow>
  readonly logs?: ReadonlyArray<LogChunk>
  readonly blobs?: ReadonlyArray<Blob>
  readonly end?: FinishedRun
  /** Puts the opened run in the start queue. */
  readonly enqueue?: { readonly notBefore: number }
  readonly audit?: AuditEntry
  readonly deliveries?: ReadonlyArray<DeliveryRow>
}

/** Another incarnation owns the run, or it has ended: whoever gets this must stop at once. */
export class Fenced extends Data.TaggedError("Fenced")<{ readonly id: ExecutionId }> {}
/** The claim belongs to another run. */
export class ClaimTaken extends Data.TaggedError("ClaimTaken")<{
  readonly target: string
  readonly hash: string | null
}> {}
/** Nothing was written: the queue is full or Postgres cannot be reached. */
export class JournalUnavailable extends Data.TaggedError("JournalUnavailable")<{ readonly reason: string }> {
  get [operatorText]() {
    return this.reason
  }
}
/** Postgres refuses this very change; others of its batch were committed. */
export class ChangeRefused extends Data.TaggedError("ChangeRefused")<{ readonly reason: string }> {}

export type AppendFailure = Fenced | ClaimTaken | JournalUnavailable | ChangeRefused

export class Journal extends Context.Tag("svc/Journal")<
  Journal,
  {
    /** Returns once the change is committed. A change of a run is written after the earlier ones of the same run. */
    readonly append: (change: RunChange) => Effect.Effect<void, AppendFailure>
    /** The journal of a run in order, without its first entry, and that entry. */
    readonly read: (
      organisation: OrganisationId,
      id: ExecutionId
    ) => Effect.Effect<ReadonlyArray<JournalEntry>, JournalUnavailable>
  }
>() {}
