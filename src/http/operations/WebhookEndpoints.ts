/** The operations on webhook endpoints, which receive an organisation's events. Contract: outbound events. */
import { Schema } from "effect"
import { DeliveryAttempt, ResendDeliveries, WebhookEndpoint } from "../../domain/delivery/WebhookEndpoint.js"
import { auditAction } from "../operation/Contract.js"
import { operationsOf } from "../operation/Operation.js"
import { closedToNarrowedKeys } from "../ClosedScope.js"
import { NullableTime } from "../Shapes.js"
import { listParams } from "../../actors/management/Pages.js"
import { putPayload, strictPayload } from "../PayloadSchema.js"
import { AttemptList, WebhookEndpoints } from "../../actors/management/organisation/WebhookEndpoints.js"
import { record, newRecord, acceptedRecord, page, empty } from "../operation/Output.js"

const WebhookEndpointWithSecret = Schema.Struct({
  ...WebhookEndpoint.View.fields,
  secret: Schema.String.annotations({
    description: "signs the deliveries (Standard Webhooks); shown only in this answer"
  })
}).annotations({ identifier: "WebhookEndpointWithSecret" })

const QueuedDelivery = Schema.Struct({ deliveryId: Schema.String, type: Schema.NullOr(Schema.String) }).annotations({
  identifier: "QueuedDelivery"
})

const QueuedDeliveries = Schema.Struct({ queued: Schema.Number, lastAt: NullableTime }).annotations({
  identifier: "QueuedDeliveries"
})

const ofWebhookEndpoints = operationsOf({
  parameters: { whe: "The id of the webhook endpoint." },
  with: WebhookEndpoints,
  resource: "webhook_endpoint",
  sharing: "hidden",
  scoped: closedToNarrowedKeys,
  permit: "settings:manage"
})

/** The operations of the group `webhookEndpoints`, in the order of the documents. */
export const webhookEndpointsOperations = [
  ofWebhookEndpoints({
    name: "webhookEndpoints.list",
    summary: "List webhook endpoints",
    description: "Lists the endpoints that receive the organisation's events, newest first.",
    answers: { 200: "A page of webhook endpoints." },
    route: "GET /api/v1/webhook-endpoints",
    query: Schema.Struct(listParams),
    output: page(WebhookEndpoint.View),
    use: (endpoints, { context, query }) => endpoints.list(context, query)
  }),
  ofWebhookEndpoints({
    name: "webhookEndpoints.create",
    summary: "Create a webhook endpoint",
    description:
      "Creates an endpoint that receives events of the given types. Deliveries follow Standard Webhooks; `secret` signs them and is shown only here. `webhooks` of this document lists the types.",
    answers: { 201: "The endpoint with its secret." },
    example: {
      url: "https://receiver.example/svc-events",
      description: "Our operations",
      events: ["execution.failed", "connection.*"]
    },
    route: "POST /api/v1/webhook-endpoints",
    body: strictPayload(WebhookEndpoint.Create),
    output: newRecord(WebhookEndpointWithSecret),
    noStore: true,
    use: (endpoints, { context, body }) => endpoints.create(context, body)
  }),
  ofWebhookEndpoints({
    name: "webhookEndpoints.get",
    summary: "Read a webhook endpoint",
    description: "Reads an endpoint without its secret.",
    answers: { 200: "The webhook endpoint." },
    route: "GET /api/v1/webhook-endpoints/:whe",
    output: record(WebhookEndpoint.View),
    use: (endpoints, { context, path }) => endpoints.get(context, path.whe)
  }),
  ofWebhookEndpoints({
    name: "webhookEndpoints.update",
    summary: "Change a webhook endpoint",
    description:
      "Changes the members that are sent. Deliveries that wait for their next attempt follow a new URL. A disabled endpoint becomes active with the status `active`; what it missed is listed among its attempts and can be sent again.",
    answers: { 200: "The webhook endpoint after the change." },
    example: { events: ["execution.*", "connection.*"] },
    route: "PUT /api/v1/webhook-endpoints/:whe",
    body: putPayload(WebhookEndpoint.Update, WebhookEndpoint.View),
    output: record(WebhookEndpoint.View),
    use: (endpoints, { context, path, body }) => endpoints.update(context, path.whe, body)
  }),
  ofWebhookEndpoints({
    name: "webhookEndpoints.delete",
    summary: "Delete a webhook endpoint",
    description: "Deletes an endpoint. What it has not received yet is not delivered.",
    answers: { 204: "The webhook endpoint is deleted." },
    route: "DELETE /api/v1/webhook-endpoints/:whe",
    output: empty,
    use: (endpoints, { context, path }) => endpoints.remove(context, path.whe)
  }),
  ofWebhookEndpoints({
    name: "webhookEndpoints.rotateSecret",
    summary: "Rotate the secret of a webhook endpoint",
    description: "Creates a new secret. For 24 hours deliveries are also signed with the previous one.",
    answers: { 200: "The endpoint with its new secret." },
    route: "POST /api/v1/webhook-endpoints/:whe/rotate-secret",
    output: record(WebhookEndpointWithSecret),
    noStore: true,
    use: (endpoints, { context, path }) => endpoints.rotateSecret(context, path.whe)
  }),
  ofWebhookEndpoints({
    name: "webhookEndpoints.test",
    summary: "Test a webhook endpoint",
    description: "Sends an event of the type `webhook_endpoint.test` to the endpoint. Its attempts show the result.",
    answers: { 202: "The event is queued." },
    route: "POST /api/v1/webhook-endpoints/:whe/test",
    output: acceptedRecord(QueuedDelivery),
    use: (endpoints, { context, path }) => endpoints.test(context, path.whe)
  }),
  ofWebhookEndpoints({
    name: "webhookEndpoints.attempts",
    summary: "List attempts of a webhook endpoint",
    description: "Lists the attempts of the last 30 days to deliver to the endpoint, newest first.",
    answers: { 200: "A page of attempts." },
    parameters: { outcome: "Only attempts that ended like this." },
    route: "GET /api/v1/webhook-endpoints/:whe/attempts",
    query: AttemptList,
    output: page(DeliveryAttempt.View),
    use: (endpoints, { context, path, query }) => endpoints.attempts(context, path.whe, query)
  }),
  ofWebhookEndpoints({
    name: "webhookEndpoints.resend",
    summary: "Send a delivery again",
    description:
      "Sends the delivery of an attempt again, under the same `webhook-id`, with a new schedule of attempts.",
    answers: { 202: "The delivery is queued." },
    parameters: { att: "The id of the attempt." },
    route: "POST /api/v1/webhook-endpoints/:whe/attempts/:att/resend",
    output: acceptedRecord(QueuedDelivery),
    use: (endpoints, { context, path }) => endpoints.resend(context, path.whe, path.att)
  }),
  ofWebhookEndpoints({
    name: "webhookEndpoints.resendMany",
    summary: "Send again what an endpoint missed",
    description:
      "Sends deliveries that were skipped while the endpoint was disabled, and those that were given up, again at a rate, the oldest first, each with a new schedule of attempts. The rate survives a restart.",
    answers: { 202: "The deliveries are queued." },
    example: { from: "2026-11-01T00:00:00Z", outcome: "skipped", ratePerSecond: 20 },
    route: "POST /api/v1/webhook-endpoints/:whe/resend",
    body: strictPayload(ResendDeliveries),
    output: acceptedRecord(QueuedDeliveries),
    audit: auditAction("webhook_endpoint.resend"),
    use: (endpoints, { context, path, body }) => endpoints.resendMany(context, path.whe, body)
  })
] as const
