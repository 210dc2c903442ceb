/** Table descriptions of webhook endpoints, deliveries, their attempts, and notifications. */
import { DeliveryAttempt, StoredDelivery, WebhookEndpoint } from "../../../domain/delivery/WebhookEndpoint.js"
import { Notification } from "../../../domain/organisation/Notification.js"
import { tableOf } from "./Table.js"

export const webhookEndpoints = tableOf("webhook_endpoints", WebhookEndpoint.stored)
export const deliveries = tableOf("deliveries", StoredDelivery)
export const notifications = tableOf("notifications", Notification.stored, { json: ["source"] })
export const deliveryAttempts = tableOf("delivery_attempts", DeliveryAttempt.stored)
