/** Events that are received or held: reads leased ones, and puts them back. */
import { Context, type Effect } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { Event, HoldReason } from "../../../domain/event/Event.js"
import type { EventId } from "../../../domain/Ids.js"

/** A lease of an event: its number must still be that of the event's place in the start queue. */
export interface EventLease {
  readonly id: EventId
  readonly claims: number
}

/** What became of the earlier leases of an event. Those that a node gave back for want of a slot or a database are no part. */
export interface PastLeases {
  /** Leases after which no route of the event could be started. */
  readonly attempts: number
  /** Leases that ended with their node, or that it could not renew. */
  readonly lost: number
}

export const noPastLeases: PastLeases = { attempts: 0, lost: 0 }

/** An event that is not settled. */
export interface OpenEvent {
  readonly event: Event
  readonly past: PastLeases
}

export class OpenEvents extends Context.Tag("svc/OpenEvents")<
  OpenEvents,
  {
    /** The events with these ids that are not settled, with their exact payloads. */
    readonly load: (ids: ReadonlyArray<EventId>) => Effect.Effect<ReadonlyArray<OpenEvent>, Unavailable>
    /** Gives a lease up; the event is taken again after `afterMillis`. Without effect if the lease is lost. */
    readonly postpone: (lease: EventLease, afterMillis: number) => Effect.Effect<void, Unavailable>
    /** The same after no route of the event could be started: the lease was an attempt. */
    readonly retry: (lease: EventLease, afterMillis: number) => Effect.Effect<void, Unavailable>
    /** Gives a lease up and holds the event until its cause is gone. Without effect if the lease is lost. */
    readonly hold: (lease: EventLease, reason: HoldReason) => Effect.Effect<void, Unavailable>
  }
>() {}
