/** Texts of surface C's operations on webhook endpoints, notifications and quotas. */
import type { NotificationsApi } from "../resource/NotificationsApi.js"
import type { QuotaApi } from "../resource/QuotaApi.js"
import type { WebhookEndpointsApi } from "../resource/WebhookEndpointsApi.js"
import type { NamesOf, OperationText } from "./OperationText.js"

/** Texts by operation id. */
export const outwardTexts: {
  readonly [
    Id in NamesOf<typeof WebhookEndpointsApi> | NamesOf<typeof NotificationsApi> | NamesOf<typeof QuotaApi>
  ]: OperationText
} = {
  "quota.usage": {
    summary: "Read the use of quotas",
    description: "Lists what the organisation, or one customer, uses of each limit.",
    answers: { 200: "The use of each quota." }
  },
  "quota.summary": {
    summary: "Read a summary of quotas",
    description: "Tells how close the organisation is to its limits.",
    answers: { 200: "The summary." }
  },
  "quota.daily": {
    summary: "List the use of days",
    description:
      "Lists the totals of UTC days, of at most 92 days; without a range of the last 30. Events and executions are counted every hour. With a dimension, lists the days on which it was used.",
    answers: { 200: "Days with any use, the earliest first." }
  },
  "notifications.list": {
    summary: "List notifications",
    description: "Lists the notifications that the key reaches, newest first. They are kept for 90 days.",
    answers: { 200: "A page of notifications." }
  },
  "notifications.create": {
    summary: "Create a notification",
    description:
      'Creates a notification in the application, or sends it on another channel to the targets of the configuration value `notifications`, as in `{"email": ["ops@example.com"], "teamChat": ["https://chat.example/hooks/1"], "minimum": "error"}`. The service itself creates one an hour for each cause.',
    answers: { 201: "The notification is created." },
    example: { severity: "warning", title: "The import is late", body: "It has not begun by noon." }
  },
  "notifications.get": {
    summary: "Read a notification",
    description: "Reads a notification.",
    answers: { 200: "The notification." }
  },
  "notifications.markRead": {
    summary: "Mark notifications as read",
    description: "Marks the given notifications as read, or with `all` those that were created before a time.",
    answers: { 200: "How many were marked." },
    example: { all: true, before: "2026-11-21T07:10:41.123Z" }
  },
  "webhookEndpoints.list": {
    summary: "List webhook endpoints",
    description: "Lists the endpoints that receive the organisation's events, newest first.",
    answers: { 200: "A page of webhook endpoints." }
  },
  "webhookEndpoints.create": {
    summary: "Create a webhook endpoint",
    description:
      "Creates an endpoint that receives events of the given types. Deliveries follow Standard Webhooks; `secret` signs them and is shown only here. `webhooks` of this document lists the types.",
    answers: { 201: "The endpoint with its secret." },
    example: {
      url: "https://receiver.example/svc-events",
      description: "Our operations",
      events: ["execution.failed", "connection.*"]
    }
  },
  "webhookEndpoints.get": {
    summary: "Read a webhook endpoint",
    description: "Reads an endpoint without its secret.",
    answers: { 200: "The webhook endpoint." }
  },
  "webhookEndpoints.update": {
    summary: "Change a webhook endpoint",
    description:
      "Changes the members that are sent. Deliveries that wait for their next attempt follow a new URL. A disabled endpoint becomes active with the status `active`; what it missed is listed among its attempts and can be sent again.",
    answers: { 200: "The webhook endpoint after the change." },
    example: { events: ["execution.*", "connection.*"] }
  },
  "webhookEndpoints.delete": {
    summary: "Delete a webhook endpoint",
    description: "Deletes an endpoint. What it has not received yet is not delivered.",
    answers: { 204: "The webhook endpoint is deleted." }
  },
  "webhookEndpoints.rotateSecret": {
    summary: "Rotate the secret of a webhook endpoint",
    description: "Creates a new secret. For 24 hours deliveries are also signed with the previous one.",
    answers: { 200: "The endpoint with its new secret." }
  },
  "webhookEndpoints.test": {
    summary: "Test a webhook endpoint",
    description: "Sends an event of the type `webhook_endpoint.test` to the endpoint. Its attempts show the result.",
    answers: { 202: "The event is queued." }
  },
  "webhookEndpoints.attempts": {
    summary: "List attempts of a webhook endpoint",
    description: "Lists the attempts of the last 30 days to deliver to the endpoint, newest first.",
    answers: { 200: "A page of attempts." }
  },
  "webhookEndpoints.resend": {
    summary: "Send a delivery again",
    description:
      "Sends the delivery of an attempt again, under the same `webhook-id`, with a new schedule of attempts.",
    answers: { 202: "The delivery is queued." }
  },
  "webhookEndpoints.resendMany": {
    summary: "Send again what an endpoint missed",
    description:
      "Sends deliveries that were skipped while the endpoint was disabled, and those that were given up, again at a rate, the oldest first, each with a new schedule of attempts. The rate survives a restart.",
    answers: { 202: "The deliveries are queued." },
    example: { from: "2026-11-01T00:00:00Z", outcome: "skipped", ratePerSecond: 20 }
  }
}
