/** The endpoints of notifications. Contract: notification record. */
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import {
  CreateNotification,
  MarkRead,
  notificationChannels,
  notificationStatuses,
  severities
} from "../../domain/Notification.js"
import { Audited, auditAction, auditRead, Permit, Scoped, Shared } from "../Endpoint.js"
import { closedToNarrowedKeys } from "./ClosedScope.js"
import { CreatedData, Data, listParams, NullableTime, Page, strictPayload, Time } from "./Shapes.js"

const Channel = Schema.Literal(...notificationChannels)
const Severity = Schema.Literal(...severities)
const Status = Schema.Literal(...notificationStatuses)

const NotificationView = Schema.Struct({
  id: Schema.String,
  customerId: Schema.NullOr(Schema.String),
  userId: Schema.NullOr(Schema.String),
  channel: Channel,
  severity: Severity,
  title: Schema.String,
  body: Schema.String,
  link: Schema.NullOr(Schema.String),
  source: Schema.NullOr(Schema.Struct({ type: Schema.String, id: Schema.String })),
  status: Status.annotations({ description: "failed: no target of the channel could be reached" }),
  readAt: NullableTime,
  createdAt: Time
}).annotations({ identifier: "Notification" })

const text = Schema.optional(Schema.String)
const basePath = "/api/v1/notifications"

/** Notifications on surface C. */
export const NotificationsApi = HttpApiGroup.make("notifications")
  .add(
    HttpApiEndpoint.get("list", basePath)
      .setUrlParams(
        Schema.Struct({
          ...listParams,
          customer_id: text,
          channel: Schema.optional(Channel),
          severity: Schema.optional(Severity),
          status: Schema.optional(Status)
        })
      )
      .addSuccess(Page(NotificationView))
      .annotate(Permit, "anyKey")
      .annotate(Audited, auditRead("notification"))
      .annotate(Shared, "customers")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.post("create", basePath)
      .setPayload(strictPayload(CreateNotification))
      .addSuccess(CreatedData(NotificationView))
      .annotate(Permit, "events:create")
      .annotate(Audited, auditAction("notification.create"))
      .annotate(Shared, "customers")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.get("get", `${basePath}/:ntf`)
      .setPath(Schema.Struct({ ntf: Schema.String }))
      .addSuccess(Data(NotificationView))
      .annotate(Permit, "anyKey")
      .annotate(Audited, auditRead("notification"))
      .annotate(Shared, "customers")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.post("markRead", `${basePath}/mark-read`)
      .setPayload(strictPayload(MarkRead))
      .addSuccess(Data(Schema.Struct({ updated: Schema.Number })))
      .annotate(Permit, "events:create")
      .annotate(Audited, auditAction("notification.mark_read"))
      .annotate(Shared, "customers")
      .annotate(Scoped, closedToNarrowedKeys)
  )
