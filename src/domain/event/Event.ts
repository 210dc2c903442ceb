/**
 * Events that start runs: their identity, priority and states. Specification: Events; contract: events.
 */
import { Duration, Schema } from "effect"
import { ConnectionId, CustomerId, EventId, type ExecutionId, OrganisationId, SpaceId, TriggerId } from "../Ids.js"
import { canonicalJson, storedDocument, StoredJson } from "../Json.js"
import { type RoundedIntegers, roundedWarnings } from "../LargeIntegers.js"

/** Where an event comes from. */
export const EventSource = Schema.Literal("webhook", "poll", "schedule", "app_event", "manual", "system")
export type EventSource = typeof EventSource.Type

/** What happened to the entity that an event is about. */
export const EventAction = Schema.Literal("created", "updated", "deleted", "other")
export type EventAction = typeof EventAction.Type

/**
 * `received`: accepted, waits to be routed. `held`: waits for a quota, a customer or a connection. All others are final.
 * `delivered`: at least one run was started. `ignored`: no route matched. `dead`: given up, with a dead letter.
 * `duplicate`: repeats an earlier event. `rejected`: not accepted.
 */
export const EventStatus = Schema.Literal("received", "held", "delivered", "ignored", "dead", "duplicate", "rejected")
export type EventStatus = typeof EventStatus.Type

/** Why an event is held. */
export const HoldReason = Schema.Literal("quota", "storage", "customer_suspended", "connection_inactive")
export type HoldReason = typeof HoldReason.Type

/** Why a schedule skips ticks: a run of an earlier one has not ended, or they were missed and are not caught up. */
export type SkipReason = "overlap" | "catch_up"

/** Class of priority, from 1 (users wait for it) to 4 (polls). Specification: Event priority. */
export const EventPriority = Schema.Literal(1, 2, 3, 4)
export type EventPriority = typeof EventPriority.Type

/** Days for which a settled event is kept: the first partition key of its record. */
export const EventRetention = Schema.Literal(3, 14, 90)
export type EventRetention = typeof EventRetention.Type

/** The start of one run for a route, or why there is none. */
export interface EventDelivery {
  readonly route: string
  readonly workflowId: string
  readonly executionId: ExecutionId | null
  readonly status: "started" | "failed"
}

/** The members of an event that are stored in its document `record`. */
export interface EventFacts {
  readonly entity: string | null
  readonly action: EventAction
  /** The provider's time, in Unix milliseconds. */
  readonly occurredAt: number | null
  readonly idempotencyKey: string
  /** The id of the connector's event. */
  readonly connectorEvent?: string
  /** The request's headers, without credentials. */
  readonly headers: { readonly [name: string]: string }
  readonly traceparent: string | null
  /** The event that this one replays. */
  readonly replayOf: string | null
  /** How many replays led to this event; 0 for one that came from outside. */
  readonly replays: number
  /** How much of the day's quota it uses; absent: 1 if it came from outside, else 0. */
  readonly units?: number
  readonly heldBecause?: HoldReason
  /** The event whose repetition this is. */
  readonly duplicateOf?: string
  /** Why the tick of a schedule started no run. */
  readonly ignoredBecause?: SkipReason
  /** Why the request was rejected. */
  readonly rejectedBecause?: string
  /** Integers of its payload that are not those that were sent, by their paths. */
  readonly rounded?: RoundedIntegers
  /** The only triggers that may take it, for one that a narrowed key made; absent: all that match. */
  readonly onlyTriggers?: ReadonlyArray<TriggerId>
  /** The only routes of a replay; absent: all that match. */
  readonly routes?: ReadonlyArray<string>
  /** The versions of workflows that a replay runs, by workflow; absent: those that are deployed. */
  readonly versions?: { readonly [workflow: string]: number }
}

/** An event as its row stores it. Times are Unix milliseconds. */
export const Event = Schema.Struct({
  id: EventId,
  organisationId: OrganisationId,
  spaceId: SpaceId,
  retention: EventRetention,
  source: EventSource,
  triggerId: Schema.NullOr(TriggerId),
  connector: Schema.NullOr(Schema.String),
  connectionId: Schema.NullOr(ConnectionId),
  customerId: Schema.NullOr(CustomerId),
  type: Schema.String,
  priority: EventPriority,
  status: EventStatus,
  receivedAt: Schema.Number,
  record: storedDocument<EventFacts>(),
  /** Exact; only a redacted copy is shown. */
  payload: StoredJson
})
export type Event = typeof Event.Type

/** What a run that an event starts keeps of it, so that a failure can be traced back. */
export type EventOrigin = Pick<
  Event,
  "id" | "retention" | "triggerId" | "connector" | "customerId" | "type" | "priority"
> & { readonly replays: number }

/** The origin that the runs of an event keep. */
export const originOf = ({
  connector,
  customerId,
  id,
  priority,
  record,
  retention,
  triggerId,
  type
}: Event): EventOrigin => ({
  id,
  retention,
  triggerId,
  connector,
  customerId,
  type,
  priority,
  replays: record.replays
})

/** The class of each source. Calls that a person waits for have the class 1. */
export const priorityOf: { readonly [Source in EventSource]: EventPriority } = {
  manual: 1,
  webhook: 2,
  app_event: 2,
  system: 2,
  schedule: 3,
  poll: 4
}

/** A replay keeps its class, but is at most one below what a person waits for. */
export const replayPriority = (priority: EventPriority): EventPriority => (priority === 1 ? 2 : priority)

/** The retention of events by that of executions. */
export const eventRetention: { readonly [Days in 7 | 30 | 365]: EventRetention } = { 7: 3, 30: 14, 365: 90 }

/** What tells an event from all others, besides its content. */
export interface Deduplication {
  /** The value at the trigger's deduplication key. */
  readonly value: string | null
  /** The provider's id of the delivery. */
  readonly deliveryId: string | null
  /** The provider's signature, where anyone can repeat it with another id of the delivery. */
  readonly signature?: string | null
}

interface Identified extends Pick<Event, "id" | "source" | "triggerId" | "connector" | "customerId" | "payload"> {
  readonly occurredAt: number | null
  /** The scope of the narrowed key that made it, whose events repeat none of other scopes. */
  readonly scope?: string | undefined
}

/**
 * The text whose SHA-256 is the idempotency key. Without a deduplication value, a delivery id, a signature and a time the
 * event's own id is the last part: two equal payloads are two events.
 */
export const idempotencyText = (event: Identified, { deliveryId, signature, value }: Deduplication): string => {
  const { connector, customerId, id, occurredAt, payload, scope, source, triggerId } = event
  const last =
    value ??
    deliveryId ??
    signature ??
    (occurredAt === null ? id : `${canonicalJson(payload)}\n${new Date(occurredAt).toISOString()}`)
  return ["svc-event-v1", source, triggerId ?? connector ?? scope ?? "", customerId ?? "", last].join("\n")
}

/** The text whose SHA-256 tells a signature of the same receiver; `undefined` if another part recognises repetitions. */
export const signatureText = (event: Identified, { signature = null, value }: Deduplication): string | undefined => {
  const { connector, customerId, source, triggerId } = event
  return signature === null || value !== null
    ? undefined
    : ["svc-event-v1", source, triggerId ?? connector ?? "", customerId ?? "", "signature", signature].join("\n")
}

/** What of the payload is not as it was sent. */
export const warningsOf = ({ rounded }: Pick<EventFacts, "rounded">) =>
  roundedWarnings(
    rounded,
    "let the workflow's input contract say the type string there, or set bigIntegers of the webhook to text"
  )

/** How long a repetition is recognised; `undefined` if nothing identifies the event but its own id. */
export const deduplicationWindow = (
  { deliveryId, signature = null, value }: Deduplication,
  occurredAt: number | null
): Duration.Duration | undefined => {
  if (value !== null || deliveryId !== null || signature !== null) return Duration.days(7)
  return occurredAt === null ? undefined : Duration.hours(24)
}
