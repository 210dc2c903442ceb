/** Table descriptions of webhook endpoints, deliveries, their attempts, and notifications. */
import type { DeliveryAttempt, StoredDelivery, WebhookEndpoint } from "../../../domain/delivery/WebhookEndpoint.js"
import type { Notification } from "../../../domain/organisation/Notification.js"
import type { Table } from "./Table.js"

export const webhookEndpoints: Table<WebhookEndpoint> = {
  name: "webhook_endpoints",
  members: [
    "id",
    "organisationId",
    "spaceId",
    "url",
    "description",
    "events",
    "status",
    "disabledReason",
    "failingSince",
    "secret",
    "secretBefore",
    "rotatedAt",
    "createdBy",
    "createdAt",
    "updatedAt",
    "version"
  ],
  key: ["id"],
  createdMember: "createdAt",
  isVersioned: true
}

export const deliveries: Table<StoredDelivery> = {
  name: "deliveries",
  members: [
    "id",
    "organisationId",
    "spaceId",
    "kind",
    "url",
    "endpointId",
    "eventType",
    "customerId",
    "notificationId",
    "payload",
    "status",
    "attempts",
    "attemptsBefore",
    "nextAt",
    "finishedAt",
    "createdAt"
  ],
  key: ["id"],
  createdMember: "createdAt",
  isVersioned: false
}

export const notifications: Table<Notification> = {
  name: "notifications",
  members: [
    "id",
    "organisationId",
    "customerId",
    "userId",
    "channel",
    "severity",
    "title",
    "body",
    "link",
    "source",
    "status",
    "readAt",
    "pending",
    "targets",
    "cause",
    "hour",
    "createdAt"
  ],
  json: ["source"],
  key: ["id"],
  createdMember: "createdAt",
  isVersioned: false
}

export const deliveryAttempts: Table<DeliveryAttempt> = {
  name: "delivery_attempts",
  members: [
    "id",
    "organisationId",
    "endpointId",
    "deliveryId",
    "eventType",
    "number",
    "outcome",
    "status",
    "error",
    "durationMs",
    "createdAt"
  ],
  key: ["id"],
  createdMember: "createdAt",
  isVersioned: false
}
