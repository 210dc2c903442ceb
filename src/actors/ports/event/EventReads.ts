/** Reads events and dead letters from Postgres with the request role. */
import { Context, type Effect, type Option, Schema } from "effect"
import type { Event, EventSource, EventStatus } from "../../../domain/event/Event.js"
import type {
  DeadLetterDetail,
  DeadLetterStatus,
  DeadLetterSummary,
  EventDetail,
  EventSummary,
  Reconciliation
} from "../../../domain/event/EventView.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { CustomerId, OrganisationId, SpaceId } from "../../../domain/Ids.js"

/** The workspace whose events are read. */
export interface EventHome {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
}

/** What a key is narrowed to; absent: not narrowed. */
export const RecordScope = Schema.Struct({
  workflows: Schema.optionalWith(Schema.Array(Schema.String), { exact: true }),
  environments: Schema.optionalWith(Schema.Array(Schema.String), { exact: true })
})
export type RecordScope = typeof RecordScope.Type

/** A record that is in a key's scope by its trigger or its runs. */
export type ScopedRecord = "event" | "dead letter"

/** Of whom and what a reconciliation is; absent: of all. */
export interface ReconciledRecords {
  readonly customers?: ReadonlyArray<CustomerId> | undefined
  readonly scope?: RecordScope
}

interface Period {
  /** Bounds on the time of creation, Unix milliseconds. */
  readonly from?: number
  readonly to?: number
  /** Only records before this id: newest first. */
  readonly before?: string
  readonly limit: number
  /** Only records of triggers, or of runs, all of whose workflows and environments are among these. */
  readonly scope?: RecordScope
}

/** The events that reach a trigger by what they are, without naming it. */
export interface AddressedEvents {
  /** The event of a connector, or the type of other events, which may end with `*`. */
  readonly of: { readonly connector: string; readonly event: string } | { readonly type: string }
  /** `null`: of any. */
  readonly connectionId: string | null
  readonly customerId: string | null
  /** When the trigger was created, RFC 3339. */
  readonly since: string
}

/** Which events of a workspace are listed. All conditions must hold. */
export interface EventQuery extends Period {
  readonly status?: EventStatus
  readonly source?: EventSource
  readonly triggerId?: string
  /** Beside the events that name `triggerId`. */
  readonly addressed?: AddressedEvents
  readonly connector?: string
  readonly type?: string
  /** Only these customers' events; a key that reaches some customers sees no others. */
  readonly customerIds?: ReadonlyArray<CustomerId>
}

/** Which dead letters of a workspace are listed. All conditions must hold. `code`: of the error. */
export interface DeadLetterQuery extends Period {
  readonly status?: DeadLetterStatus
  readonly triggerId?: string
  readonly connector?: string
  readonly type?: string
  readonly code?: string
  readonly customerIds?: ReadonlyArray<CustomerId>
}

/** `lookedTo`: no row older than this id was looked at, so that more may follow a short page. */
export interface ListedRows<Row> {
  readonly rows: ReadonlyArray<Row>
  readonly lookedTo?: string
}

/** What a replay repeats: the exact payload, unless it is not stored any more. */
export interface ReplaySource extends Pick<
  Event,
  "source" | "triggerId" | "connector" | "connectionId" | "customerId" | "type" | "priority" | "payload" | "record"
> {
  readonly id: string
  readonly customerId: CustomerId | null
}

export class EventReads extends Context.Tag("svc/EventReads")<
  EventReads,
  {
    readonly list: (home: EventHome, query: EventQuery) => Effect.Effect<ListedRows<EventSummary>, Unavailable>
    readonly get: (home: EventHome, id: string) => Effect.Effect<Option.Option<EventDetail>, Unavailable>
    /** The event with its exact payload. */
    readonly replaySource: (home: EventHome, id: string) => Effect.Effect<Option.Option<ReplaySource>, Unavailable>
    readonly deadLetters: (
      home: EventHome,
      query: DeadLetterQuery
    ) => Effect.Effect<ListedRows<DeadLetterSummary>, Unavailable>
    readonly deadLetter: (home: EventHome, id: string) => Effect.Effect<Option.Option<DeadLetterDetail>, Unavailable>
    /** Whether a record of the workspace is in the scope. */
    readonly isInScope: (
      home: EventHome,
      kind: ScopedRecord,
      id: string,
      scope: RecordScope
    ) => Effect.Effect<boolean, Unavailable>
    /** What became of the events of a period. */
    readonly reconcile: (
      home: EventHome,
      from: number,
      to: number,
      records: ReconciledRecords
    ) => Effect.Effect<Reconciliation, Unavailable>
  }
>() {}
