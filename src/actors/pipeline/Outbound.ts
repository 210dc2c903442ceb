/**
 * Tells subscribers of committed changes: turns domain events into deliveries for the subscribed endpoints, into
 * notifications, and into events for triggers. One node at a time has an event, and it leaves the outbox in the statement
 * that adds these, so that none is lost or published twice, on any number of nodes.
 */
import { Context, Duration, Effect, Option } from "effect"
import type { CustomerId, TriggerId, WorkflowId, DeliveryId, EventId } from "../../domain/Ids.js"
import {
  externalChannels,
  isNotified,
  notificationText,
  targetUrls,
  type NamedSubject
} from "../../domain/organisation/Notification.js"
import { outboundBody, startsTriggers } from "../../domain/delivery/OutboundEvent.js"
import { inBatches, leasedTask, type SweepTools } from "../LeasedWork.js"
import { hasRoomFor, makeNotification, readTargets, type NewNotification } from "../NotificationDeliveries.js"
import type { DomainEvent } from "../ports/connection/ConnectionStore.js"
import { EndpointSubscriptions, type SubscribedEndpoint } from "../ports/delivery/EndpointSubscriptions.js"
import { Identifiers } from "../ports/Identifiers.js"
import { OrganisationReads } from "../ports/organisation/OrganisationReads.js"
import { Origin } from "../ports/Origin.js"
import { PlatformConfiguration } from "../ports/organisation/PlatformConfiguration.js"
import { Records, type Tx } from "../ports/Records.js"
import { TriggerReads } from "../ports/event/Triggers.js"
import { Wakeups } from "../ports/run/Wakeups.js"
import { triggersOf } from "../EventTriggers.js"
import { Events } from "../ports/event/Events.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { JsonObject } from "../../domain/Json.js"

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

/** The outbox of domain events: committed changes of records that wait to be published to subscribers. */
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

const nameOf = (found: Option.Option<{ readonly name: string }>): string | null =>
  Option.match(found, { onNone: () => null, onSome: ({ name }) => name })

const text = (payload: JsonObject, member: string): string | undefined => {
  const value = payload[member]
  return typeof value === "string" && value !== "" ? value : undefined
}

/** The names of records that still exist. The ids are those that the service wrote. */
export const namesOf = (
  tx: Pick<Tx, "customers" | "triggers" | "workflows">,
  payload: JsonObject,
  customerId: CustomerId | null
): Effect.Effect<ReadonlyArray<NamedSubject>, Unavailable> =>
  Effect.gen(function* () {
    const workflow = text(payload, "workflowId")
    const trigger = text(payload, "triggerId")
    const found = {
      Workflow: workflow === undefined ? null : nameOf(yield* tx.workflows.find({ id: workflow as WorkflowId })),
      Trigger: trigger === undefined ? null : nameOf(yield* tx.triggers.find({ id: trigger as TriggerId })),
      Customer: customerId === null ? null : nameOf(yield* tx.customers.find({ id: customerId }))
    }
    return Object.entries(found).flatMap(([kind, name]) => (name === null ? [] : [{ kind, name }]))
  })

const pollInterval = Duration.seconds(1)
/** Events of one statement. */
const batchSize = 200

const make = Effect.fnUntraced(function* ({ jobs }: SweepTools) {
  const events = yield* DomainEvents
  const { subscribed } = yield* EndpointSubscriptions
  const identifiers = yield* Identifiers
  const wakeups = yield* Wakeups
  const records = yield* Records
  const origin = yield* Origin
  const organisations = yield* OrganisationReads
  const triggers = yield* TriggerReads
  const incoming = yield* Events
  const platform = yield* PlatformConfiguration

  const notificationsOf = Effect.fnUntraced(function* (event: DomainEvent) {
    const { at, customerId, organisationId, payload, subject, type } = event
    if (!isNotified(type)) return []
    const customer = customerId as CustomerId | null // written by the service
    const organisation = Option.getOrUndefined(yield* organisations.find(organisationId))
    const read = yield* records.transact(organisationId, (tx) =>
      Effect.gen(function* () {
        const text = notificationText(event, yield* namesOf(tx, payload, customer), origin)
        if (text === undefined) return undefined
        const targets = yield* readTargets(tx, platform, customer)
        const messages = externalChannels(text.severity, targets).flatMap((channel) => targetUrls(channel, targets))
        return { text, targets, hasRoom: yield* hasRoomFor(tx, organisation?.plan ?? "starter", messages.length) }
      })
    )
    if (read === undefined) return []
    const { hasRoom, targets, text } = read
    const content = {
      ...text,
      organisationId,
      // Found by the store.
      spaceId: null,
      customerId: customer,
      userId: null,
      source: { type: type.slice(0, type.indexOf(".")), id: subject },
      cause: `${type}|${subject}`,
      createdAt: at
    }
    return (["in_app", ...(hasRoom ? externalChannels(text.severity, targets) : [])] as const).map((channel) =>
      makeNotification(identifiers, channel, targets, content)
    )
  })

  /** Accepts the event for the triggers of its type. Its id makes a repetition of this a duplicate. */
  const startTriggers = Effect.fnUntraced(function* (event: DomainEvent) {
    const { at, customerId, id, organisationId, payload, type } = event
    if (!startsTriggers(type)) return
    const customer = customerId as CustomerId | null // written by the service
    const addressed = {
      organisationId,
      triggerId: null,
      connector: null,
      connectionId: null,
      customerId: customer,
      type
    }
    const [trigger] = yield* triggersOf(triggers, { ...addressed, record: {} })
    if (trigger === undefined) return
    yield* incoming
      .receive({
        organisationId,
        spaceId: trigger.spaceId,
        source: "system",
        trigger: null,
        connector: null,
        connectionId: null,
        customerId: customer,
        type,
        entity: null,
        action: "other",
        occurredAt: Date.parse(at),
        payload,
        headers: {},
        deduplication: { value: null, deliveryId: id },
        traceparent: null
      })
      // The organisation or its trigger is gone.
      .pipe(Effect.catchTags({ NotFound: () => Effect.void, InvalidState: () => Effect.void }))
  })

  const published = Effect.fnUntraced(function* (event: DomainEvent) {
    const endpoints = yield* subscribed(event.organisationId, event.type)
    const payload = endpoints.length === 0 ? "" : outboundBody(event.type, event.at, event.payload)
    return {
      event,
      deliveries: endpoints.map((endpoint) => ({ id: identifiers.next("dlv"), endpoint, payload })),
      notifications: yield* notificationsOf(event)
    } satisfies PublishedEvent
  })

  /** Repeated for each event alone if it fails: starting the triggers again makes duplicates only. */
  const publish = (pending: ReadonlyArray<DomainEvent>) =>
    Effect.tapErrorCause(publishLeased(pending), () => Effect.ignore(events.release(pending)))

  const publishLeased = Effect.fnUntraced(function* (pending: ReadonlyArray<DomainEvent>) {
    yield* Effect.forEach(pending, startTriggers, { discard: true })
    const batch = yield* Effect.forEach(pending, published)
    yield* events.publish(batch)
    if (batch.some(({ deliveries, notifications }) => deliveries.length + notifications.length > 0))
      wakeups.signalDelivery()
  })

  return { pass: inBatches(batchSize, events.lease, (pending) => jobs.together(pending, publish)) }
})

export const task = leasedTask({ name: "events.publish", interval: pollInterval }, make)
