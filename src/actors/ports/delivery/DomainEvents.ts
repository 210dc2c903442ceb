/** The outbox of domain events: committed changes of records that wait to be published to subscribers. */
import { Context, type Effect } from "effect"
import type { DeliveryId, EventId } from "../../../domain/Ids.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { NewNotification } from "../../NotificationDeliveries.js"
import type { DomainEvent } from "../connection/ConnectionStore.js"
import type { SubscribedEndpoint } from "./EndpointSubscriptions.js"

/** An event for one endpoint. */
export interface OutboundDelivery {
  readonly id: DeliveryId
  readonly endpoint: SubscribedEndpoint
  readonly payload: string
}

/** What an event becomes. A notification of the same cause and channel is sent at most once an hour. */
export interface PublishedEvent {
  readonly event: DomainEvent
  readonly deliveries: ReadonlyArray<OutboundDelivery>
  readonly notifications: ReadonlyArray<NewNotification>
}

export class DomainEvents extends Context.Tag("svc/DomainEvents")<
  DomainEvents,
  {
    /** Leases the oldest events that no other node has, at most `limit`. A node that dies leaves them to the others. */
    readonly lease: (limit: number) => Effect.Effect<ReadonlyArray<DomainEvent>, Unavailable>
    /** Gives back events that could not be published. */
    readonly release: (events: ReadonlyArray<Pick<DomainEvent, "id">>) => Effect.Effect<void, Unavailable>
    /**
     * Removes the events and adds what they become, in one statement. An event that another node has removed adds
     * nothing. Returns the ids of those that it removed.
     */
    readonly publish: (events: ReadonlyArray<PublishedEvent>) => Effect.Effect<ReadonlyArray<EventId>, Unavailable>
  }
>() {}
