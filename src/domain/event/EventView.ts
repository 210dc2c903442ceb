/** Events and dead letters as the API shows them. Contract: events. */
import { Schema } from "effect"
import { NullableText } from "../Scalars.js"
import { ReplayCause } from "./AutoReplay.js"
import { EventAction, EventSource, EventStatus } from "./Event.js"
import { Json } from "../Json.js"
import { AnsweredTime, NullableTime } from "../Time.js"

/** An event in a list. AnsweredTimes are RFC 3339. */
export const EventSummary = Schema.Struct({
  id: Schema.String,
  source: EventSource,
  triggerId: NullableText,
  connector: NullableText,
  connectionId: NullableText,
  customerId: NullableText,
  type: Schema.String,
  entity: NullableText,
  action: EventAction,
  occurredAt: NullableTime,
  receivedAt: AnsweredTime,
  priority: Schema.Number,
  idempotencyKey: Schema.String,
  status: EventStatus,
  /** Why it is held or was rejected. */
  reason: NullableText,
  /** How often a node took it up. */
  attempts: Schema.Number,
  deliveries: Schema.Array(
    Schema.Struct({
      route: Schema.String,
      workflowId: Schema.String,
      executionId: NullableText,
      status: Schema.Literal("started", "failed")
    })
  ),
  traceparent: NullableText,
  replayOf: NullableText,
  duplicateOf: NullableText,
  settledAt: NullableTime
}).annotations({ identifier: "EventSummary" })
export type EventSummary = typeof EventSummary.Type

/** One event, with its payload and headers. */
export const EventDetail = Schema.Struct({
  ...EventSummary.fields,
  payload: Json,
  warnings: Schema.Array(
    Schema.Struct({ path: Schema.String, code: Schema.String, message: Schema.String })
  ).annotations({ description: "What of the payload is not as it was sent." }),
  headers: Schema.Record({ key: Schema.String, value: Schema.String })
}).annotations({ identifier: "Event" })
export type EventDetail = typeof EventDetail.Type

/** The answer about an event that a request makes. */
export const MadeEvent = Schema.Struct({
  eventId: Schema.String,
  status: Schema.Literal("accepted", "held", "ignored", "duplicate")
}).annotations({ identifier: "MadeEvent" })

/** `replaying`: a replay of many has taken it. */
export const DeadLetterStatus = Schema.Literal("pending", "replaying", "replayed", "expired", "discarded")
export type DeadLetterStatus = typeof DeadLetterStatus.Type

/** A dead letter in a list. */
export const DeadLetterSummary = Schema.Struct({
  id: Schema.String,
  eventId: NullableText,
  executionId: NullableText,
  deliveryId: NullableText,
  triggerId: NullableText,
  customerId: NullableText,
  connector: NullableText,
  type: Schema.String,
  error: Json,
  context: Json,
  retryCount: Schema.Number,
  status: DeadLetterStatus,
  replayCause: Schema.NullOr(Schema.Literal("request", ...ReplayCause.literals)).annotations({
    description: "why it was replayed: on request, or by the service itself; null: it was not"
  }),
  replayId: NullableText.annotations({ description: "the replay of many that took it" }),
  createdAt: AnsweredTime,
  expiresAt: AnsweredTime
}).annotations({ identifier: "DeadLetterSummary" })
export type DeadLetterSummary = typeof DeadLetterSummary.Type

/** One dead letter, with the payload of its event. */
export const DeadLetterDetail = Schema.Struct({ ...DeadLetterSummary.fields, payload: Json }).annotations({
  identifier: "DeadLetter"
})
export type DeadLetterDetail = typeof DeadLetterDetail.Type

/** A replay of many dead letters. */
export const ReplayView = Schema.Struct({
  id: Schema.String,
  status: Schema.Literal("running", "finished"),
  cause: Schema.Literal("request", ...ReplayCause.literals),
  limit: Schema.Number,
  ratePerSecond: Schema.Number,
  replayed: Schema.Number,
  failed: Schema.Number,
  createdAt: AnsweredTime,
  finishedAt: NullableTime
}).annotations({ identifier: "Replay" })
export type ReplayView = typeof ReplayView.Type

/**
 * What became of the events that were accepted in a period. `accepted` is the sum of all others but `unaccounted`, or
 * something was lost. If `complete` is false, the answer ends at `to`, which is earlier than asked.
 */
export const Reconciliation = Schema.Struct({
  from: AnsweredTime,
  to: AnsweredTime,
  complete: Schema.Boolean,
  accepted: Schema.Number,
  executed: Schema.Number,
  ignored: Schema.Number,
  held: Schema.Number,
  waiting: Schema.Number,
  dead: Schema.Number,
  duplicate: Schema.Number,
  unaccounted: Schema.Array(Schema.String),
  missing: Schema.Array(
    Schema.Struct({ triggerId: Schema.NullOr(Schema.String), minute: AnsweredTime, events: Schema.Number })
  )
}).annotations({ identifier: "Reconciliation" })
export type Reconciliation = typeof Reconciliation.Type
