/**
 * Writes the journals and rows of runs. Each append is one change of one run and commits completely or not at all; appends
 * of many runs share a transaction (group commit).
 */
import { operatorText } from "../../../domain/OperatorText.js"
import { type Effect, Context, Data } from "effect"
import type { AuditEntry } from "../../../domain/audit/Audit.js"
import type { DeliveryKind } from "../../../domain/delivery/Delivery.js"
import type { EventDelivery, EventOrigin } from "../../../domain/event/Event.js"
import type { ExecutionStatus, TriggerType, Waiting } from "../../../domain/run/Execution.js"
import { Unavailable } from "../../../domain/Failure.js"
import type { RunHead, RunOrigin } from "../../../domain/run/ExecutionView.js"
import type {
  BlobId,
  CustomerId,
  DeadLetterId,
  DeliveryId,
  EventId,
  ExecutionId,
  OrganisationId,
  SpaceId,
  WebhookEndpointId
} from "../../../domain/Ids.js"
import type { Json, JsonText } from "../../../domain/Json.js"
import type { ChosenConnection, JournalEntry, JournalIndex, RecordedResult } from "../../../domain/run/RunJournal.js"

/** The facts of a run that are fixed at its acceptance. */
export interface RunRecord extends RunOrigin {
  /** How long it may take, from its acceptance for Instant and from its start for the other tiers. */
  readonly ceilingMillis: number
  /** The first run of a chain of resumed ones; idempotency keys and seeds derive from it. */
  readonly rootId: ExecutionId
  /** The organisation whose plan counts the run, if that is not the run's own. */
  readonly accountId?: OrganisationId
  /** Hash of the code; also for drafts, whose version is `null`. */
  readonly contentHash: string
  readonly callbackUrl: string | null
  readonly callbackEvents: ReadonlyArray<string> | null
  readonly traceparent: string | null
  /** The event that started the run, and the route that it took. */
  readonly event?: EventOrigin
  readonly routeId?: string
  /** The lane of a sequential trigger, which the run occupies until it ends. */
  readonly lane?: string
  /**
   * The request's headers, redacted, of a run that ended without a journal; otherwise the journal has them exactly.
   */
  readonly headers?: { readonly [name: string]: string }
  /** The connections that the request chose, for re-runs after the journal was deleted. */
  readonly connections?: ReadonlyArray<ChosenConnection>
  /** The status of the answer that the flow gives; absent: that of its surface. */
  readonly answerStatus?: number
  /** The recorded input is redacted: only the journal has the exact input. */
  readonly inputRedacted?: boolean
}

/** How long a finished run is kept, in days: the first partition key of its record. */
export type RetentionClass = 7 | 30 | 365

/** The organisation whose plan counts the run. */
export const accountOfRun = ({ organisationId, record }: Pick<OpenRun, "organisationId" | "record">): OrganisationId =>
  record.accountId ?? organisationId

/** The row of a run that has not ended. Times are Unix milliseconds. */
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
  /**
   * How often since its journal last grew its process died, or may yet die, while its guest computed or its journal was
   * read.
   */
  readonly activations: number
  /** Journal rows at the activation that set `activations` to one. */
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

/** New values of a run's row; absent members stay. Suspending a run also resets its activations. */
export type RunPatch = Partial<Pick<OpenRun, "attempt" | "wakeAt" | "deadlineAt" | "waiting">>

/** The end of a run, with its row's members, so that a run without a row is recorded in the same way. */
export interface FinishedRun {
  readonly run: OpenRun
  readonly status: Exclude<ExecutionStatus, "pending" | "running">
  readonly statusReason: string | null
  readonly finishedAt: number
  readonly output: Json
  readonly error: Json
  /** The status of the answer that a flow says. */
  readonly answerStatus?: number
  readonly metrics: Json
}

/** One step of the trace: redacted and capped. */
export interface StepRow {
  readonly index: number
  readonly status: "pending" | "running" | "waiting" | "completed" | "failed" | "skipped"
  /** Of a step with a name: its path with iterations. */
  readonly path?: string
  readonly record: JsonText
}

/** Log lines of one turn of the guest. `seq` orders the chunks and is the same at a replay. */
export interface LogChunk {
  readonly seq: number
  readonly lines: ReadonlyArray<{ readonly at: string; readonly level: string; readonly message: string }>
}

/** A value of a trace that is too large for its step, which refers to it. */
export interface Blob {
  readonly id: BlobId
  readonly content: JsonText
}

/** A unique key that an append takes, such as an Idempotency-Key. The first commit wins. */
export interface Claim {
  readonly scope: "idem" | "nonce" | "event" | "tick"
  readonly key: string
  /** Identifies the request, to tell a repetition from another use of the key. */
  readonly hash: string
  readonly expiresAt: number
  /** A second key of the scope. The append takes both keys, or is refused. */
  readonly signatureKey?: string
}

/** `endpointId`: the endpoint of the organisation to which an event goes; `null` for a callback. */
export interface DeliveryRow {
  readonly id: DeliveryId
  readonly kind: DeliveryKind
  readonly endpointId: WebhookEndpointId | null
  readonly eventType: string
  readonly url: string
  readonly payload: string
}

/**
 * The end of an event's way. Only the holder of its lease `claims` settles it: the place in the start queue is deleted in
 * the same statement, so that nothing happens twice.
 */
export interface EventSettlement {
  readonly eventId: EventId
  readonly organisationId: OrganisationId
  readonly claims: number
  readonly status: "delivered" | "ignored" | "dead"
  readonly deliveries: ReadonlyArray<EventDelivery>
  /** Unix milliseconds. */
  readonly at: number
}

/** A run that no event started and that was given up. */
export interface GivenUpRun {
  readonly type: string
  readonly customerId: CustomerId | null
  readonly priority: number
}

/** Why work was given up. */
export interface DeadLetter {
  readonly id: DeadLetterId
  /** The payload and headers are those of the event. */
  readonly of: EventOrigin | GivenUpRun
  readonly executionId: ExecutionId | null
  readonly error: Json
  readonly context: Json
}

/** A place in a run's journal, and the epoch of the owner that writes there. */
export interface JournalPlace {
  readonly id: ExecutionId
  readonly epoch: number
  readonly seq: number
}

/** Everything that one append writes. */
export interface RunChange {
  readonly id: ExecutionId
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly retention: RetentionClass
  /** The writer's epoch, which fences the append; `null` for a run without a row. */
  readonly epoch: number | null
  readonly claim?: Claim
  /**
   * The seat under which a node began a run that has no row yet. `Fenced` if the node has lost it: another one may have
   * begun the run anew, which no epoch would tell.
   */
  readonly seat?: string
  readonly open?: OpenRun
  readonly patch?: RunPatch
  /** Journal entries with their sequence numbers. */
  readonly journal?: ReadonlyArray<{ readonly seq: number; readonly entry: JournalEntry }>
  readonly steps?: ReadonlyArray<StepRow>
  readonly logs?: ReadonlyArray<LogChunk>
  readonly blobs?: ReadonlyArray<Blob>
  /** Idempotency keys of calls of the run whose open approvals are closed. */
  readonly withdrawn?: ReadonlyArray<string>
  readonly end?: FinishedRun
  /** Puts the opened run in the start queue. */
  readonly enqueue?: { readonly notBefore: number }
  readonly audit?: AuditEntry
  readonly deliveries?: ReadonlyArray<DeliveryRow>
  /** The event that started the run: part of the run's first change. */
  readonly settles?: EventSettlement
  readonly deadLetters?: ReadonlyArray<DeadLetter>
}

/** The run has another owner or has ended: the caller must stop driving it. */
export class Fenced extends Data.TaggedError("Fenced")<{ readonly id: ExecutionId | EventId }> {}
/** The claim belongs to the run `target`. */
export class ClaimTaken extends Data.TaggedError("ClaimTaken")<{
  readonly target: string
  readonly hash: string | null
}> {}
/**
 * Nothing was written: the queue is full, or Postgres cannot be reached or refuses work. `refusal`: why it does, for
 * clients, if its operator must remove the cause.
 */
export class JournalUnavailable extends Data.TaggedError("JournalUnavailable")<{
  readonly reason: string
  readonly refusal?: string | undefined
}> {
  get [operatorText]() {
    return this.reason
  }
}
/** Postgres refused this change; the others of its batch were committed. */
export class ChangeRefused extends Data.TaggedError("ChangeRefused")<{ readonly reason: string }> {}

/** Why a change was not committed. After `JournalUnavailable` it may be tried again; after `Fenced` it must not. */
export type AppendFailure = Fenced | ClaimTaken | JournalUnavailable | ChangeRefused

/** Answers a client whose change was not committed. The reason of the failure is for the operator only. */
export const notStored = ({ refusal }: { readonly _tag: string; readonly refusal?: string | undefined }): Unavailable =>
  new Unavailable({
    reason: refusal ?? "the database cannot be reached, or has too much to write",
    retryAfterSeconds: 1
  })

export class Journal extends Context.Tag("svc/Journal")<
  Journal,
  {
    /** Returns when the change is committed. Changes of one run commit in the order of their appends. */
    readonly append: (change: RunChange) => Effect.Effect<void, AppendFailure>
    /** The same with a callback instead of an effect, for speed: calls `done` once. It cannot be interrupted. */
    readonly commit: (change: RunChange, done: (failure: AppendFailure | undefined) => void) => void
    /** The entries of a run's journal without their results; those of a small journal are in it. */
    readonly index: (organisation: OrganisationId, id: ExecutionId) => Effect.Effect<JournalIndex, JournalUnavailable>
    /** The results at these places, in their order. The caller bounds their bytes, which the index tells. */
    readonly results: (
      organisation: OrganisationId,
      id: ExecutionId,
      places: ReadonlyArray<number>
    ) => Effect.Effect<ReadonlyArray<RecordedResult>, JournalUnavailable>
    /**
     * Copies the entries after the start, up to the place `until`, to the journal of a run that does not exist yet, in
     * pieces. May be repeated; what a run never takes is dropped with the journals of its day.
     */
    readonly copy: (
      organisation: OrganisationId,
      from: ExecutionId,
      to: ExecutionId,
      until: number
    ) => Effect.Effect<void, JournalUnavailable>
    /**
     * Copies the steps of the parent of a resumed run that have ended, from the first rows of its trace but for the `open`
     * ones, and marks them as reused. May be repeated, and replaces none.
     */
    readonly takeOverSteps: (
      run: OpenRun,
      rows: number,
      open: ReadonlyArray<number>
    ) => Effect.Effect<void, JournalUnavailable>
  }
>() {}

/** The number of changes that are not yet committed. */
export class JournalDepth extends Context.Tag("svc/JournalDepth")<JournalDepth, () => number>() {}
