/** Makes notifications and their deliveries, for the channels and targets that the configuration names. */
import { Effect } from "effect"
import { type PlatformValues, resolveValues } from "../domain/Configuration.js"
import type { Unavailable } from "../domain/Failure.js"
import type { CustomerId, DeliveryId } from "../domain/Ids.js"
import {
  hourOf,
  type Notification,
  type NotificationChannel,
  notificationPayload,
  type NotificationTargets,
  notificationTargetsKey,
  targetsIn,
  targetUrls
} from "../domain/Notification.js"
import type { Identifiers } from "./ports/Identifiers.js"
import type { Tx } from "./ports/Records.js"

/** A notification's message to one target. `url` begins with `mailto:` for an e-mail. */
export interface NotificationDelivery {
  readonly id: DeliveryId
  readonly url: string
  readonly payload: string
}

/** A notification with its deliveries; none in the application. */
export interface NewNotification {
  readonly notification: Notification
  readonly deliveries: ReadonlyArray<NotificationDelivery>
}

/** The targets for notifications about a customer: its own, else the organisation's, else the platform's. */
export const readTargets = (
  tx: Pick<Tx, "configuration">,
  platform: PlatformValues,
  customerId: CustomerId | null
): Effect.Effect<NotificationTargets, Unavailable> =>
  Effect.map(
    tx.configuration.list({
      where: {
        level: ["tenant", "saas"],
        scopeId: ["", customerId ?? ""],
        key: notificationTargetsKey,
        environment: ""
      },
      limit: 2
    }),
    (stored) => targetsIn(resolveValues(stored, platform).find(({ key }) => key === notificationTargetsKey)?.value)
  )

type Content = Omit<Notification, "id" | "status" | "readAt" | "pending" | "hour" | "channel">

/** The notification on one channel. */
export const makeNotification = (
  identifiers: Identifiers["Type"],
  channel: NotificationChannel,
  targets: NotificationTargets,
  content: Content
): NewNotification => {
  const urls = channel === "in_app" ? [] : targetUrls(channel, targets)
  const notification: Notification = {
    ...content,
    id: identifiers.next("ntf"),
    channel,
    status: channel === "in_app" ? "sent" : "queued",
    readAt: null,
    pending: urls.length,
    hour: hourOf(content.createdAt)
  }
  const payload = channel === "in_app" ? "" : notificationPayload(channel, notification)
  return { notification, deliveries: urls.map((url) => ({ id: identifiers.next("dlv"), url, payload })) }
}
