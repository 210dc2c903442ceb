/** The endpoints of webhook endpoints, which receive an organisation's events. Contract: outbound events. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import {
  attemptOutcomes,
  CreateWebhookEndpoint,
  ResendDeliveries,
  disabledReasons,
  UpdateWebhookEndpoint
} from "../../domain/WebhookEndpoint.js"
import { Audited, auditAction, auditRead, NoStore, Permit, Scoped, Shared } from "../Endpoint.js"
import { closedToNarrowedKeys } from "./ClosedScope.js"
import {
  AcceptedData,
  CreatedData,
  Data,
  listParams,
  NullableTime,
  Page,
  putPayload,
  strictPayload,
  Time
} from "./Shapes.js"

const fields = {
  id: Schema.String,
  url: Schema.String,
  description: Schema.String,
  events: Schema.Array(Schema.String),
  status: Schema.Literal("active", "disabled"),
  disabledReason: Schema.NullOr(Schema.Literal(...disabledReasons)).annotations({
    description: "user: through the API; gone: it answered 410; failing: no delivery succeeded for five days"
  }),
  failingSince: Schema.NullOr(Schema.String).annotations({ description: "the first failure since the last success" }),
  rotatedAt: NullableTime,
  createdBy: Schema.String,
  createdAt: Time,
  updatedAt: Time,
  version: Schema.Number
}

const WebhookEndpointView = Schema.Struct(fields).annotations({ identifier: "WebhookEndpoint" })

const WebhookEndpointWithSecret = Schema.Struct({
  ...fields,
  secret: Schema.String.annotations({
    description: "signs the deliveries (Standard Webhooks); shown only in this answer"
  })
}).annotations({ identifier: "WebhookEndpointWithSecret" })

const Attempt = Schema.Struct({
  id: Schema.String,
  deliveryId: Schema.String.annotations({ description: "the header webhook-id of the request" }),
  eventType: Schema.NullOr(Schema.String),
  number: Schema.Number,
  outcome: Schema.Literal(...attemptOutcomes).annotations({
    description: "skipped: nothing was sent because the endpoint was disabled"
  }),
  status: Schema.NullOr(Schema.Number),
  error: Schema.NullOr(Schema.String),
  durationMs: Schema.NullOr(Schema.Number),
  createdAt: Time
}).annotations({ identifier: "DeliveryAttempt" })

const QueuedDelivery = Schema.Struct({ deliveryId: Schema.String, type: Schema.NullOr(Schema.String) }).annotations({
  identifier: "QueuedDelivery"
})

const QueuedDeliveries = Schema.Struct({ queued: Schema.Number, lastAt: NullableTime }).annotations({
  identifier: "QueuedDeliveries"
})

const path = Schema.Struct({ whe: Schema.String })
const basePath = "/api/v1/webhook-endpoints"
const onePath = `${basePath}/:whe` as const

/** Webhook endpoints on surface C. */
export const WebhookEndpointsApi = HttpApiGroup.make("webhookEndpoints")
  .add(
    HttpApiEndpoint.get("list", basePath)
      .setUrlParams(Schema.Struct(listParams))
      .addSuccess(Page(WebhookEndpointView))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditRead("webhook_endpoint"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.post("create", basePath)
      .setPayload(strictPayload(CreateWebhookEndpoint))
      .addSuccess(CreatedData(WebhookEndpointWithSecret))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("webhook_endpoint.create"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
      .annotate(NoStore, true)
  )
  .add(
    HttpApiEndpoint.get("get", onePath)
      .setPath(path)
      .addSuccess(Data(WebhookEndpointView))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditRead("webhook_endpoint"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.put("update", onePath)
      .setPath(path)
      .setPayload(putPayload(UpdateWebhookEndpoint, WebhookEndpointView))
      .addSuccess(Data(WebhookEndpointView))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("webhook_endpoint.update"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.del("delete", onePath)
      .setPath(path)
      .addSuccess(HttpApiSchema.NoContent)
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("webhook_endpoint.delete"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.post("rotateSecret", `${onePath}/rotate-secret`)
      .setPath(path)
      .addSuccess(Data(WebhookEndpointWithSecret))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("webhook_endpoint.rotate_secret"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
      .annotate(NoStore, true)
  )
  .add(
    HttpApiEndpoint.post("test", `${onePath}/test`)
      .setPath(path)
      .addSuccess(AcceptedData(QueuedDelivery))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("webhook_endpoint.test"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.get("attempts", `${onePath}/attempts`)
      .setPath(path)
      .setUrlParams(Schema.Struct({ ...listParams, outcome: Schema.optional(Schema.Literal(...attemptOutcomes)) }))
      .addSuccess(Page(Attempt))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditRead("webhook_endpoint"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.post("resend", `${onePath}/attempts/:att/resend`)
      .setPath(Schema.Struct({ whe: Schema.String, att: Schema.String }))
      .addSuccess(AcceptedData(QueuedDelivery))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("webhook_endpoint.resend"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.post("resendMany", `${onePath}/resend`)
      .setPath(path)
      .setPayload(strictPayload(ResendDeliveries))
      .addSuccess(AcceptedData(QueuedDeliveries))
      .annotate(Permit, "settings:manage")
      .annotate(Audited, auditAction("webhook_endpoint.resend"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
  )
