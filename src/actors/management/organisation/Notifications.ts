/** Use cases of notifications: list, create, mark as read. Contract: notification record. */
import { nounOf } from "../../../domain/access/CallerKind.js"
import { Clock, Effect, Option, Schema } from "effect"
import { type Failure, invalid, NotFound, QuotaExceeded } from "../../../domain/Failure.js"
import {
  type CreateNotification,
  type MarkRead,
  Notification,
  PersonNotification,
  notificationTargetsKey,
  targetUrls,
  notificationChannels,
  severities,
  notificationStatuses
} from "../../../domain/organisation/Notification.js"
import { newDelivery } from "../../../domain/delivery/WebhookEndpoint.js"
import { hasRoomFor, makeNotification, readTargets } from "../../NotificationDeliveries.js"
import { type PlanName, plans } from "../../../domain/organisation/Plan.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { PlatformConfiguration } from "../../ports/organisation/PlatformConfiguration.js"
import type { Tx } from "../../ports/Records.js"
import { Wakeups } from "../../ports/run/Wakeups.js"
import type { CallContext } from "../CallContext.js"
import type { Principal } from "../Caller.js"
import { Changes } from "../Changes.js"
import { customerListFilter, customerOfBody } from "./CustomerRecords.js"
import { listQuery, optionalText, Pages } from "../Pages.js"
import { currentTimestamp } from "../Timestamp.js"

export const NotificationList = listQuery({
  customer_id: optionalText,
  channel: Schema.optional(Schema.Literal(...notificationChannels)),
  severity: Schema.optional(Schema.Literal(...severities)),
  status: Schema.optional(Schema.Literal(...notificationStatuses))
})
type NotificationList = typeof NotificationList.Type

/** The notifications that the caller reads: those of its workspace and of none, about customers that it reaches. */
const reached = (tx: Tx, caller: Principal, customerId?: string) =>
  Effect.map(customerListFilter(tx, caller, customerId), (ofCustomers) => ({
    ...ofCustomers,
    spaceId: [null, caller.spaceId]
  }))

/** The customer that the body names. A key of some customers must name one of them. */
const customerFor = (tx: Tx, caller: Principal, named: string | null | undefined) => {
  if (named !== undefined && named !== null) return customerOfBody(tx, caller, named)
  return caller.customers === "all"
    ? Effect.succeed(null)
    : invalid("customerId", "REQUIRED", `names a customer that this ${nounOf(caller)} reaches`)
}

const noTarget = (channel: Notification["channel"]) =>
  channel === "email"
    ? `has no confirmed address: name some in the configuration ${notificationTargetsKey}; the owner of each gets a mail with a link that confirms it`
    : `has no target: set the configuration ${notificationTargetsKey}`

const hourMillis = 3_600_000

const tooManyMessages = Effect.fnUntraced(function* (tx: Tx, plan: PlanName): Effect.fn.Return<never, Failure> {
  const used = yield* tx.countOfAccount("messages")
  const now = yield* Clock.currentTimeMillis
  const resetAt = (Math.floor(now / hourMillis) + 1) * (hourMillis / 1_000)
  return yield* new QuotaExceeded({
    dimension: "messages_per_hour",
    limit: plans[plan].messagesPerHour ?? used,
    used,
    resetAt
  })
})

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers
  const platform = yield* PlatformConfiguration
  const wakeups = yield* Wakeups

  /** Newest first: those of the caller's workspace and of none. A key of some customers sees only theirs. Whether one is read is each person's own; keys share a state. */
  const list = (context: CallContext, params: NotificationList) =>
    read(context, function* (tx) {
      const { channel, customer_id, severity, status } = params
      const { person } = context.caller
      const where = yield* reached(tx, context.caller, customer_id)
      const query = { filters: { channel, severity, status }, searchIn: ["title"] as const }
      return person === null
        ? yield* pages.views(tx.notifications, params, { ...query, where }, (one) => Notification.show(one))
        : yield* pages.views(
            tx.personNotifications,
            params,
            { ...query, where: { ...where, readerId: person.userId } },
            (one) => PersonNotification.show(one)
          )
    })

  const get = (context: CallContext, id: string) =>
    read(context, function* (tx) {
      const { person } = context.caller
      const where = {
        id: id as Notification["id"], // unchecked text from the request
        ...(yield* reached(tx, context.caller))
      }
      const found =
        person === null
          ? Option.map(yield* tx.notifications.find(where), (one) => Notification.show(one))
          : Option.map(yield* tx.personNotifications.find({ ...where, readerId: person.userId }), (one) =>
              PersonNotification.show(one)
            )
      return yield* Option.match(found, {
        onNone: () => new NotFound({ what: "notification" }),
        onSome: Effect.succeed
      })
    })

  const create = (context: CallContext, input: CreateNotification) =>
    change(context, function* (tx) {
      const {
        body = "",
        channel = "in_app",
        link = null,
        severity = "info",
        source = null,
        title,
        userId = null
      } = input
      const { organisationId, spaceId } = context.caller
      const customerId = yield* customerFor(tx, context.caller, input.customerId)
      const targets = yield* readTargets(tx, platform, customerId)
      if (channel !== "in_app" && targetUrls(channel, targets).length === 0)
        return yield* invalid("channel", "NO_TARGET", noTarget(channel))
      // Serial, so that requests at the same time do not exceed the limit together.
      yield* tx.lockKeyOfAccount("messages of notifications")
      const messages = channel === "in_app" ? 0 : targetUrls(channel, targets).length
      if (!(yield* hasRoomFor(tx, context.caller.organisation.plan, messages)))
        return yield* tooManyMessages(tx, context.caller.organisation.plan)
      const createdAt = yield* currentTimestamp
      const content = {
        organisationId,
        spaceId,
        customerId,
        userId,
        severity,
        title,
        body,
        link,
        source,
        cause: null,
        createdAt
      }
      const { deliveries, notification } = makeNotification(identifiers, channel, targets, content)
      yield* tx.notifications.insert(notification)
      for (const { id, payload, url } of deliveries)
        yield* tx.deliveries.insert(
          newDelivery(
            {
              id,
              organisationId,
              spaceId,
              kind: "notification",
              url,
              customerId,
              notificationId: notification.id,
              payload
            },
            createdAt
          )
        )
      const after = Notification.show(notification)
      return { value: after, resource: { id: notification.id, name: title, customerId }, after }
    })

  /** Marks for the person who calls, or in the state that keys share. Returns how many notifications it marked. */
  const markRead = (context: CallContext, { all, before, ids }: MarkRead) => {
    if ((ids === undefined) === (all === undefined))
      return invalid("ids", "INVALID", "is sent, or all: true, but not both")
    if (before !== undefined && all === undefined) return invalid("before", "INVALID", "is sent with all: true only")
    return change(context, function* (tx) {
      const { customerId } = yield* reached(tx, context.caller)
      const updated = yield* tx.markNotificationsRead({
        ...(context.caller.person === null ? {} : { readerId: context.caller.person.userId }),
        ...(ids === undefined ? {} : { ids }),
        ...(before === undefined ? {} : { before }),
        spaceId: context.caller.spaceId,
        ...(customerId === undefined ? {} : { customerIds: customerId }),
        at: yield* currentTimestamp
      })
      return { value: { updated }, resource: { id: ids?.[0] ?? "all" }, after: { updated } }
    })
  }

  return {
    list,
    get,
    create: (context: CallContext, input: CreateNotification) =>
      Effect.zipLeft(
        create(context, input),
        Effect.sync(() => wakeups.signalDelivery())
      ),
    markRead
  }
})

export class Notifications extends Effect.Service<Notifications>()("svc/Notifications", { effect: make }) {}
