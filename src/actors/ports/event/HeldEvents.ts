/** Accepted events that wait until the reason of their hold is gone. */
import { Context, type Effect } from "effect"
import type { EventAllowance } from "./EventJournal.js"
import type { Event, HoldReason } from "../../../domain/event/Event.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { CustomerId, EventId, OrganisationId } from "../../../domain/Ids.js"

/** Reasons that a quota of the organisation or of its customer decides. */
export type QuotaReason = Extract<HoldReason, "quota" | "storage">

/** An event that waits for its quota. */
export interface HeldEvent extends Pick<Event, "id" | "customerId"> {
  /** How much of the quota it uses. */
  readonly units: number
}

/** Why a hold is over without a decision of a quota: the customer or the connection is active again, or it lasted too long. */
export const overReasons = ["customer_active", "connection_active", "expired"] as const
export type OverReason = (typeof overReasons)[number]

/** A held event that is settled. */
export type DueEvent = Pick<Event, "id" | "organisationId">

/** A held event that is to run. `allowance`: absent if nothing limits it. */
export interface ReleasedEvent {
  readonly id: EventId
  readonly allowance?: EventAllowance
}

export interface Released {
  readonly count: number
  readonly beyond: ReadonlySet<EventId>
}

export class HeldEvents extends Context.Tag("svc/HeldEvents")<
  HeldEvents,
  {
    /** The organisations with events that are held for the reason. */
    readonly organisations: (reason: QuotaReason) => Effect.Effect<ReadonlyArray<OrganisationId>, Unavailable>
    /** The oldest events of an organisation that are held for the reason, without those of some customers. */
    readonly oldest: (
      organisation: OrganisationId,
      reason: QuotaReason,
      exceptOf: ReadonlyArray<CustomerId>,
      limit: number
    ) => Effect.Effect<ReadonlyArray<HeldEvent>, Unavailable>
    /**
     * Puts events of an organisation back into the start queue, at their old places, in this order: as many as their
     * allowances permit. Returns those that have no place within theirs.
     */
    readonly release: (
      organisation: OrganisationId,
      events: ReadonlyArray<ReleasedEvent>
    ) => Effect.Effect<Released, Unavailable>
    /** Events whose hold is over, the oldest first, at most `limit`. */
    readonly due: (over: OverReason, limit: number) => Effect.Effect<ReadonlyArray<DueEvent>, Unavailable>
    /** Releases such events, or turns those that were held for too long into dead letters. */
    readonly settle: (over: OverReason, events: ReadonlyArray<EventId>) => Effect.Effect<void, Unavailable>
  }
>() {}
