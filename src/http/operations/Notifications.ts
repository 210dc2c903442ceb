/** The operations on notifications. Contract: notification record. */
import { Schema } from "effect"
import { MarkRead, Notification } from "../../domain/organisation/Notification.js"
import { operationsOf } from "../operation/Operation.js"
import { closedToNarrowedKeys } from "../ClosedScope.js"
import { strictPayload } from "../PayloadSchema.js"
import { NotificationList, Notifications } from "../../actors/management/organisation/Notifications.js"
import { record, newRecord, page } from "../operation/Output.js"

const ofNotifications = operationsOf({
  parameters: { ntf: "The id of the notification." },
  with: Notifications,
  resource: "notification",
  sharing: "customers",
  scoped: closedToNarrowedKeys
})

/** The operations of the group `notifications`, in the order of the documents. */
export const notificationsOperations = [
  ofNotifications({
    name: "notifications.list",
    summary: "List notifications",
    description: "Lists the notifications that the key reaches, newest first. They are kept for 90 days.",
    answers: { 200: "A page of notifications." },
    parameters: { channel: "Only notifications of this channel.", severity: "Only notifications of this severity." },
    route: "GET /api/v1/notifications",
    query: NotificationList,
    output: page(Notification.View),
    permit: "anyCaller",
    use: (notifications, { context, query }) => notifications.list(context, query)
  }),
  ofNotifications({
    name: "notifications.create",
    summary: "Create a notification",
    description:
      'Creates a notification in the application, or sends it on another channel to the targets of the configuration value `notifications`, as in `{"email": ["ops@example.com"], "teamChat": ["https://chat.example/hooks/1"], "minimum": "error"}`. The service itself creates one an hour for each cause.',
    answers: { 201: "The notification is created." },
    example: { severity: "warning", title: "The import is late", body: "It has not begun by noon." },
    route: "POST /api/v1/notifications",
    body: strictPayload(Notification.Create),
    output: newRecord(Notification.View),
    permit: "events:create",
    use: (notifications, { context, body }) => notifications.create(context, body)
  }),
  ofNotifications({
    name: "notifications.get",
    summary: "Read a notification",
    description: "Reads a notification.",
    answers: { 200: "The notification." },
    route: "GET /api/v1/notifications/:ntf",
    output: record(Notification.View),
    permit: "anyCaller",
    use: (notifications, { context, path }) => notifications.get(context, path.ntf)
  }),
  ofNotifications({
    name: "notifications.markRead",
    summary: "Mark notifications as read",
    description:
      "Marks the given notifications as read, or with `all` those that were created before a time. Of a person who has signed in it is each one's own, without a permission; keys share one state, and need `events:create`.",
    answers: { 200: "How many were marked." },
    example: { all: true, before: "2026-11-21T07:10:41.123Z" },
    route: "POST /api/v1/notifications/mark-read",
    body: strictPayload(MarkRead),
    output: record(Schema.Struct({ updated: Schema.Number })),
    permit: { ofOthers: "events:create" },
    use: (notifications, { context, body }) => notifications.markRead(context, body)
  })
] as const
