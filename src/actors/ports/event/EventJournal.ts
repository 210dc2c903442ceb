/** Writes events: their acceptance, their end, and the runs that they start. Shares its transactions with `Journal`. */
import { Context, type Effect } from "effect"
import type { Event } from "../../../domain/event/Event.js"
import type { CustomerId, DeadLetterId, OrganisationId, SpaceId, TriggerId } from "../../../domain/Ids.js"
import type { AppendFailure, Claim, DeadLetter, RunChange, EventSettlement } from "../run/Journal.js"

/** The place of an event that waits to be dispatched. */
export interface QueuedEvent {
  readonly shard: number
  /** Events of one lane start runs one after the other, in the order of their arrival. */
  readonly lane: string | null
  readonly held: boolean
  /** The node that dispatches it at once: no other takes it before the lease expires. `null`: any node. */
  readonly leasedBy: string | null
}

/** The limits of a day that an event counts against. At least one is set. */
export interface EventAllowance {
  /** When the day began, Unix milliseconds. */
  readonly day: number
  /** The organisation whose starts its plan counts. */
  readonly accountId: OrganisationId
  readonly accountLimit: number | null
  readonly customerId: CustomerId | null
  /** The limit of its customer; `null`: none of its own. */
  readonly customerLimit: number | null
  /** How much of them it uses: 1, or the routes of a tick. */
  readonly units: number
}

/** An event that is accepted: it commits with its place in the start queue. */
export interface ReceivedEvent {
  readonly event: Event
  readonly claim?: Claim
  readonly queue: QueuedEvent
  /** The limits that the event counts against; beyond one it is held. Absent: no limit applies. */
  readonly allowance?: EventAllowance
}

/**
 * Moves a schedule on with the event of its tick, unless the schedule was edited meanwhile. Times are Unix milliseconds.
 */
export interface TickChange {
  readonly triggerId: TriggerId
  /** When the schedule was to fire, as its state has it. */
  readonly dueAt: number
  readonly nextAt: number | null
  /** Whether the event starts runs. */
  readonly isFired: boolean
  /** The node handles further ticks and keeps its lease on the schedule. */
  readonly keepsLease: boolean
}

/** A change of an event without a run of its own, or with several, which all commit or none. */
export interface EventChange {
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly receives?: ReceivedEvent
  /** An event with a final status: ignored, duplicate or rejected. */
  readonly records?: { readonly event: Event; readonly claim?: Claim }
  readonly settles?: EventSettlement
  /** The dead letter that the received event replays: refused as `Fenced` unless it is still to be replayed. */
  readonly replays?: DeadLetterId
  readonly tick?: TickChange
  readonly deadLetters?: ReadonlyArray<DeadLetter>
  /** Runs that the settled event starts: each opens, and waits in the start queue. */
  readonly runs?: ReadonlyArray<RunChange>
}

/** The outcome of a commit. `isHeld`: the received event is beyond its allowance and waits. */
export interface Appended {
  readonly isHeld: boolean
}

export class EventJournal extends Context.Tag("svc/EventJournal")<
  EventJournal,
  {
    /**
     * Returns when the change is committed, and whether it holds the received event because of its allowance.
     * `Fenced`: the event's lease was lost. `ClaimTaken`: it repeats another.
     */
    readonly append: (change: EventChange) => Effect.Effect<Appended, AppendFailure>
  }
>() {}
