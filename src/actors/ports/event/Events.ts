/** Accepts events: every way in ends here. Contract: events. */
import { Context, type Effect } from "effect"
import type { Deduplication, EventAction, EventPriority, EventSource, SkipReason } from "../../../domain/event/Event.js"
import type { InvalidState, NotFound, Unavailable } from "../../../domain/Failure.js"
import type {
  ConnectionId,
  CustomerId,
  DeadLetterId,
  EventId,
  OrganisationId,
  SpaceId,
  TriggerId
} from "../../../domain/Ids.js"
import type { Json } from "../../../domain/Json.js"
import type { RoundedIntegers } from "../../../domain/LargeIntegers.js"
import type { Trigger } from "../../../domain/trigger/Trigger.js"
import type { EventChange } from "./EventJournal.js"
import type { Claim, FinishedRun } from "../run/Journal.js"

/** An event as it arrives. */
export interface Arrival {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly source: EventSource
  /** The trigger that it was sent to; `null` for one that is routed by its connector or type. */
  readonly trigger: Trigger | null
  readonly connector: string | null
  /** The id of the connector's event, if it is not the type. */
  readonly connectorEvent?: string
  readonly connectionId: ConnectionId | null
  readonly customerId: CustomerId | null
  readonly type: string
  readonly entity: string | null
  readonly action: EventAction
  /** The provider's time, in Unix milliseconds. */
  readonly occurredAt: number | null
  readonly payload: Json
  /** Integers of the payload that are not those that were sent. */
  readonly rounded?: RoundedIntegers | undefined
  /** Without credentials. */
  readonly headers: { readonly [name: string]: string }
  readonly deduplication: Deduplication
  readonly traceparent: string | null
  /** A narrowed key made it: the only triggers that may take it, and the key's scope. */
  readonly narrowed?: { readonly triggers: ReadonlyArray<TriggerId>; readonly scope?: string }
  /** A replay is never a repetition. */
  readonly replay?: {
    readonly of: string
    readonly count: number
    readonly priority: EventPriority
    readonly routes?: ReadonlyArray<string>
    readonly versions?: { readonly [workflow: string]: number }
    /** The dead letter that is replayed; it must not be replayed already. */
    readonly letter?: DeadLetterId
    /** A request asked for it; absent: the service replays by itself. */
    readonly isRequested?: boolean
  }
  /** Replaces the claim on the idempotency key: that of a schedule's tick. */
  readonly claim?: Claim
  /** The tick starts no run. */
  readonly ignoredBecause?: SkipReason
  /** Commits with the event. */
  readonly tick?: NonNullable<EventChange["tick"]>
}

/** Waits for the end of a run. */
export interface RunWatch {
  /** The end of the run; `undefined` when it waits, or goes on on another node. */
  readonly ended: Effect.Effect<FinishedRun | undefined>
  readonly forget: () => void
}

/** What became of an arrival. */
export type Reception =
  /** Committed; it will start runs. */
  | { readonly _tag: "Accepted"; readonly eventId: EventId; readonly watch: RunWatch | undefined }
  /** Committed; it waits until the cause is gone. */
  | { readonly _tag: "Held"; readonly eventId: EventId }
  /** Recorded; no route matches. */
  | { readonly _tag: "Ignored"; readonly eventId: EventId }
  /** Repeats the event `first`. */
  | { readonly _tag: "Duplicate"; readonly eventId: EventId; readonly first: string }

export class Events extends Context.Tag("svc/Events")<
  Events,
  {
    /** Returns when the event is committed. `watches`: the caller waits for the end of its run. */
    readonly receive: (
      arrival: Arrival,
      watches?: boolean
    ) => Effect.Effect<Reception, NotFound | InvalidState | Unavailable>
    /**
     * Records that a request to a trigger was refused, without its payload. Beyond some of one trigger in a minute, nothing
     * is recorded.
     */
    readonly reject: (
      trigger: Trigger,
      reason: string,
      headers: { readonly [name: string]: string }
    ) => Effect.Effect<void, NotFound | InvalidState | Unavailable>
  }
>() {}
