/**
 * Endpoints of an organisation that receive its events, each signed with the endpoint's own secret; and the attempts to
 * deliver to them. Contract: outbound events.
 */
import { Duration, Schema } from "effect"
import {
  CustomerId,
  DeliveryAttemptId,
  DeliveryId,
  NotificationId,
  OrganisationId,
  SpaceId,
  WebhookEndpointId
} from "../Ids.js"
import { resendLimits, webhookEndpointLimits } from "../Limits.js"
import { namesEventType } from "./OutboundEvent.js"
import { changeable, generatedValue, hidden, optional, owner, recordOf, required } from "../Record.js"
import { AnsweredTime, Rfc3339 } from "../Time.js"

/** Why an endpoint is disabled: by a user, by its answer 410, or after days of failures. */
export const disabledReasons = ["user", "gone", "failing"] as const

const EventPattern = Schema.String.pipe(
  Schema.maxLength(100),
  Schema.filter((pattern) => namesEventType(pattern) || "names no event: send a type, or the start of one and *")
)

/** An endpoint: its record, bodies and view, which is without its secrets. Times are RFC 3339. */
export const WebhookEndpoint = recordOf("WebhookEndpoint", {
  id: generatedValue(WebhookEndpointId, Schema.String),
  organisationId: owner(OrganisationId),
  /** The workspace of the key that created it. */
  spaceId: owner(SpaceId),
  url: required(Schema.String, Schema.String.pipe(Schema.maxLength(2_048))),
  description: optional(Schema.String, "", Schema.String.pipe(Schema.maxLength(500))),
  /** Types; one that ends in `*` stands for all that begin so. */
  events: required(
    Schema.Array(Schema.String),
    Schema.Array(EventPattern)
      .pipe(Schema.minItems(1), Schema.maxItems(webhookEndpointLimits.events))
      .annotations({ description: 'event types; one that ends in "*" stands for all that begin so' })
  ),
  status: changeable(optional(Schema.Literal("active", "disabled"), "active")),
  disabledReason: generatedValue(
    Schema.NullOr(Schema.Literal(...disabledReasons)).annotations({
      description: "user: through the API; gone: it answered 410; failing: no delivery succeeded for five days"
    })
  ),
  /** Deliveries write it. */
  failingSince: generatedValue(
    Schema.NullOr(Schema.String).annotations({ description: "the first failure since the last success" })
  ),
  /** Sealed. */
  secret: hidden(Schema.Uint8ArrayFromSelf),
  secretBefore: hidden(Schema.NullOr(Schema.Uint8ArrayFromSelf)),
  rotatedAt: generatedValue(Schema.NullOr(AnsweredTime)),
  createdBy: generatedValue(Schema.String),
  createdAt: generatedValue(AnsweredTime),
  updatedAt: generatedValue(AnsweredTime),
  version: generatedValue(Schema.Number)
})
/** The stored endpoint. */
export type WebhookEndpoint = typeof WebhookEndpoint.stored.Type
export type CreateWebhookEndpoint = typeof WebhookEndpoint.Create.Type
export type UpdateWebhookEndpoint = typeof WebhookEndpoint.Update.Type
/** Where an endpoint's secrets are sealed. */
export const endpointSecretPlace = (
  { id, organisationId }: Pick<WebhookEndpoint, "id" | "organisationId">,
  column: "secret" | "secret_before"
) => ({ organisation: organisationId, table: "webhook_endpoints", column, row: id })

/** The body that sends many deliveries again. */
export const ResendDeliveries = Schema.Struct({
  from: Schema.optional(Rfc3339).annotations({ description: "only deliveries since then" }),
  to: Schema.optional(Rfc3339).annotations({ description: "only deliveries before" }),
  outcome: Schema.optional(Schema.Literal("skipped", "failed")).annotations({
    description: "only those that were skipped while the endpoint was disabled, or given up; default: both"
  }),
  limit: Schema.optional(Schema.Int.pipe(Schema.between(1, resendLimits.deliveries))).annotations({
    description: `default ${resendLimits.usual}`
  }),
  ratePerSecond: Schema.optional(Schema.Number.pipe(Schema.between(0.1, resendLimits.perSecond))).annotations({
    description: `default ${resendLimits.usualPerSecond}`
  })
}).annotations({ identifier: "ResendDeliveries" })
export type ResendDeliveries = typeof ResendDeliveries.Type

/** Deliveries that are sent again. */
export interface QueuedDeliveries {
  readonly queued: number
  /** When the last of them is due, RFC 3339; `null`: there are none. */
  readonly lastAt: string | null
}

/** The endpoint after an update. A new URL, or enabling it, forgets its failures. */
export const changedEndpoint = (
  endpoint: WebhookEndpoint,
  changes: UpdateWebhookEndpoint,
  updatedAt: string
): WebhookEndpoint => {
  const changed = WebhookEndpoint.change(endpoint, changes, updatedAt)
  const { status, url } = changed
  const isNew = url !== endpoint.url || (status === "active" && endpoint.status === "disabled")
  return {
    ...changed,
    disabledReason: status === "active" ? null : (endpoint.disabledReason ?? "user"),
    failingSince: isNew ? null : endpoint.failingSince
  }
}

/** An endpoint that has failed for this time, without a success, is disabled. */
export const disableAfterFailing = Duration.days(5)

/** `skipped`: the endpoint was disabled, so nothing was sent. */
export const attemptOutcomes = ["delivered", "failed", "skipped"] as const

/** One attempt to deliver an event to an endpoint. Times are RFC 3339. */
export const DeliveryAttempt = recordOf("DeliveryAttempt", {
  id: generatedValue(DeliveryAttemptId, Schema.String),
  organisationId: owner(OrganisationId),
  endpointId: owner(Schema.NullOr(WebhookEndpointId)),
  deliveryId: generatedValue(
    DeliveryId,
    Schema.String.annotations({ description: "the header webhook-id of the request" })
  ),
  eventType: generatedValue(Schema.NullOr(Schema.String)),
  /** From 1; 0 for one that was skipped before the first. */
  number: generatedValue(Schema.Number),
  outcome: generatedValue(
    Schema.Literal(...attemptOutcomes).annotations({
      description: "skipped: nothing was sent because the endpoint was disabled"
    })
  ),
  /** The HTTP status; `null` without an answer. */
  status: generatedValue(Schema.NullOr(Schema.Number)),
  error: generatedValue(Schema.NullOr(Schema.String)),
  durationMs: generatedValue(Schema.NullOr(Schema.Number)),
  createdAt: generatedValue(AnsweredTime)
})
export type DeliveryAttempt = typeof DeliveryAttempt.stored.Type

/** The delivery of an event, as requests read and repeat it. */
export const StoredDelivery = Schema.Struct({
  id: DeliveryId,
  organisationId: OrganisationId,
  spaceId: Schema.NullOr(SpaceId),
  kind: Schema.String,
  url: Schema.String,
  endpointId: Schema.NullOr(WebhookEndpointId),
  eventType: Schema.NullOr(Schema.String),
  customerId: Schema.NullOr(CustomerId),
  notificationId: Schema.NullOr(NotificationId),
  payload: Schema.String,
  /** `undelivered`: its endpoint was disabled or deleted. `exhausted`: given up after the last attempt. */
  status: Schema.Literal("pending", "delivered", "exhausted", "undelivered"),
  attempts: Schema.Number,
  /** Attempts before the last resend; the schedule counts from there. */
  attemptsBefore: Schema.Number,
  nextAt: AnsweredTime,
  finishedAt: Schema.NullOr(AnsweredTime),
  createdAt: AnsweredTime
})
export type StoredDelivery = typeof StoredDelivery.Type

/** A delivery before its first attempt, which is made at once. `at`: RFC 3339. What is absent is `null`. */
export const newDelivery = (
  known: Pick<StoredDelivery, "id" | "organisationId" | "spaceId" | "kind" | "url" | "payload"> &
    Partial<StoredDelivery>,
  at: string
): StoredDelivery => ({
  endpointId: null,
  eventType: null,
  customerId: null,
  notificationId: null,
  ...known,
  status: "pending",
  attempts: 0,
  attemptsBefore: 0,
  nextAt: at,
  finishedAt: null,
  createdAt: at
})
