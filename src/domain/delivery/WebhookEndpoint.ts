/**
 * Endpoints of an organisation that receive its events, each signed with the endpoint's own secret; and the attempts to
 * deliver to them. Contract: outbound events.
 */
import { Duration, Schema } from "effect"
import type {
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
import { Counter } from "../Scalars.js"
import { Rfc3339 } from "../Time.js"

/** Why an endpoint is disabled: by a user, by its answer 410, or after days of failures. */
export const disabledReasons = ["user", "gone", "failing"] as const
export type DisabledReason = (typeof disabledReasons)[number]

/** The stored endpoint. Times are RFC 3339. */
export interface WebhookEndpoint {
  readonly id: WebhookEndpointId
  readonly organisationId: OrganisationId
  /** The workspace of the key that created it. */
  readonly spaceId: SpaceId
  readonly url: string
  readonly description: string
  /** Types; one that ends in `*` stands for all that begin so. */
  readonly events: ReadonlyArray<string>
  readonly status: "active" | "disabled"
  readonly disabledReason: DisabledReason | null
  /** The first failure since the last success; deliveries write it. */
  readonly failingSince: string | null
  /** Sealed. */
  readonly secret: Uint8Array
  readonly secretBefore: Uint8Array | null
  readonly rotatedAt: string | null
  readonly createdBy: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly version: number
}

/** The endpoint as the API shows it: without its secrets. */
export interface WebhookEndpointView extends Omit<
  WebhookEndpoint,
  "organisationId" | "spaceId" | "secret" | "secretBefore"
> {}

/** An endpoint with the secret that was just created; it is shown once. */
export interface WebhookEndpointWithSecret extends WebhookEndpointView {
  readonly secret: string
}

/** The endpoint as the API shows it: without its secrets. */
export const webhookEndpointView = ({
  organisationId: _organisation,
  secret: _secret,
  secretBefore: _before,
  spaceId: _space,
  ...view
}: WebhookEndpoint): WebhookEndpointView => view

/** Where an endpoint's secrets are sealed. */
export const endpointSecretPlace = (
  { id, organisationId }: Pick<WebhookEndpoint, "id" | "organisationId">,
  column: "secret" | "secret_before"
) => ({ organisation: organisationId, table: "webhook_endpoints", column, row: id })

const EventPattern = Schema.String.pipe(
  Schema.maxLength(100),
  Schema.filter((pattern) => namesEventType(pattern) || "names no event: send a type, or the start of one and *")
)

const fields = {
  url: Schema.String.pipe(Schema.maxLength(2_048)),
  description: Schema.optional(Schema.String.pipe(Schema.maxLength(500))),
  events: Schema.Array(EventPattern)
    .pipe(Schema.minItems(1), Schema.maxItems(webhookEndpointLimits.events))
    .annotations({ description: 'event types; one that ends in "*" stands for all that begin so' })
}

/** The body that creates an endpoint. */
export const CreateWebhookEndpoint = Schema.Struct(fields).annotations({ identifier: "CreateWebhookEndpoint" })
export type CreateWebhookEndpoint = typeof CreateWebhookEndpoint.Type

/** The body that changes an endpoint. */
export const UpdateWebhookEndpoint = Schema.Struct({
  url: Schema.optional(fields.url),
  description: fields.description,
  events: Schema.optional(fields.events),
  status: Schema.optional(Schema.Literal("active", "disabled")),
  version: Schema.optional(Counter)
}).annotations({ identifier: "UpdateWebhookEndpoint" })
export type UpdateWebhookEndpoint = typeof UpdateWebhookEndpoint.Type

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
  { description, events, status = endpoint.status, url = endpoint.url }: UpdateWebhookEndpoint,
  updatedAt: string
): WebhookEndpoint => {
  const isNew = url !== endpoint.url || (status === "active" && endpoint.status === "disabled")
  return {
    ...endpoint,
    url,
    description: description ?? endpoint.description,
    events: events ?? endpoint.events,
    status,
    disabledReason: status === "active" ? null : (endpoint.disabledReason ?? "user"),
    failingSince: isNew ? null : endpoint.failingSince,
    updatedAt,
    version: endpoint.version + 1
  }
}

/** An endpoint that has failed for this time, without a success, is disabled. */
export const disableAfterFailing = Duration.days(5)

/** `skipped`: the endpoint was disabled, so nothing was sent. */
export const attemptOutcomes = ["delivered", "failed", "skipped"] as const

/** One attempt to deliver an event to an endpoint. Times are RFC 3339. */
export interface DeliveryAttempt {
  readonly id: DeliveryAttemptId
  readonly organisationId: OrganisationId
  readonly endpointId: WebhookEndpointId | null
  readonly deliveryId: DeliveryId
  readonly eventType: string | null
  /** From 1; 0 for one that was skipped before the first. */
  readonly number: number
  readonly outcome: (typeof attemptOutcomes)[number]
  /** The HTTP status; `null` without an answer. */
  readonly status: number | null
  readonly error: string | null
  readonly durationMs: number | null
  readonly createdAt: string
}

/** The delivery of an event, as requests read and repeat it. */
export interface StoredDelivery {
  readonly id: DeliveryId
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId | null
  readonly kind: string
  readonly url: string
  readonly endpointId: WebhookEndpointId | null
  readonly eventType: string | null
  readonly customerId: CustomerId | null
  readonly notificationId: NotificationId | null
  readonly payload: string
  /** `undelivered`: its endpoint was disabled or deleted. `exhausted`: given up after the last attempt. */
  readonly status: "pending" | "delivered" | "exhausted" | "undelivered"
  readonly attempts: number
  /** Attempts before the last resend; the schedule counts from there. */
  readonly attemptsBefore: number
  readonly nextAt: string
  readonly finishedAt: string | null
  readonly createdAt: string
}
