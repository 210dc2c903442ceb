/** Makes notifications and their deliveries, for the channels and targets that the configuration names. */
import { Effect } from "effect"
import { type PlatformValues, resolveValues } from "../domain/organisation/Configuration.js"
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
} from "../domain/organisation/Notification.js"
import { type PlanName, plans } from "../domain/organisation/Plan.js"
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

/**
 * The targets for notifications about a customer: its own, else the organisation's, else the platform's. Of the tenant's
 * addresses only those whose owner has confirmed them: free text goes nowhere else.
 */
export const readTargets = (
  tx: Pick<Tx, "configuration" | "usableAddresses">,
  platform: PlatformValues,
  customerId: CustomerId | null
): Effect.Effect<NotificationTargets, Unavailable> =>
  Effect.flatMap(
    tx.configuration.list({
      where: {
        level: ["tenant", "saas"],
        scopeId: ["", customerId ?? ""],
        key: notificationTargetsKey,
        environment: ""
      },
      limit: 2
    }),
    (stored) => {
      const found = resolveValues(stored, platform).find(({ key }) => key === notificationTargetsKey)
      const targets = targetsIn(found?.value)
      const { email } = targets
      if (email === undefined || found?.source.level === "platform") return Effect.succeed(targets)
      return Effect.map(tx.usableAddresses(email), (usable) => ({ ...targets, email: usable }))
    }
  )

/** Whether the plan of the account has room for so many more messages outside of the application in this hour. */
export const hasRoomFor = (tx: Pick<Tx, "countOfAccount">, plan: PlanName, messages: number) => {
  const limit = plans[plan].messagesPerHour
  return limit === null || messages === 0
    ? Effect.succeed(true)
    : Effect.map(tx.countOfAccount("messages"), (sent) => sent + messages <= limit)
}

type Content = Omit<Notification, "id" | "status" | "readAt" | "pending" | "targets" | "hour" | "channel">

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
    targets: urls.length,
    hour: hourOf(content.createdAt)
  }
  const payload = channel === "in_app" ? "" : notificationPayload(channel, notification)
  return { notification, deliveries: urls.map((url) => ({ id: identifiers.next("dlv"), url, payload })) }
}
