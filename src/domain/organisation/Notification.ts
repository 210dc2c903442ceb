/**
 * Notifications for the people of an organisation: in the application, and by the channels that its configuration names.
 * Contract: notification record.
 */
import { Either, Schema } from "effect"
import type { Detail } from "../Failure.js"
import { CustomerId, NotificationId, OrganisationId, SpaceId, UserId } from "../Ids.js"
import type { Json, JsonObject } from "../Json.js"
import { generatedValue, hidden, optional, owner, recordOf, required } from "../Record.js"
import { AnsweredTime, Rfc3339 } from "../Time.js"
import { parseUrl } from "../Url.js"
import { valueDetails } from "../Issues.js"
import { decodeStrict } from "../SchemaIssues.js"

/** `in_app`: shown by the application itself; all others need a target that is configured. */
export const notificationChannels = ["in_app", "email", "team_chat", "webhook"] as const
export type NotificationChannel = (typeof notificationChannels)[number]
export type ExternalChannel = Exclude<NotificationChannel, "in_app">

/** From the least severe. */
export const severities = ["info", "success", "warning", "error", "critical"] as const
export type Severity = (typeof severities)[number]

export const notificationStatuses = ["queued", "sent", "failed", "read"] as const

const notificationMembers = {
  id: generatedValue(NotificationId, Schema.String),
  organisationId: owner(OrganisationId),
  /** The workspace whose records it names; `null`: it is about the organisation as a whole. */
  spaceId: hidden(Schema.NullOr(SpaceId)),
  customerId: optional(Schema.NullOr(CustomerId), null, Schema.NullOr(Schema.String), Schema.NullOr(Schema.String)),
  userId: optional(Schema.NullOr(Schema.String), null, Schema.NullOr(Schema.String.pipe(Schema.maxLength(200)))),
  channel: optional(Schema.Literal(...notificationChannels), "in_app"),
  severity: optional(Schema.Literal(...severities), "info"),
  title: required(
    Schema.String,
    Schema.String.pipe(
      Schema.minLength(1),
      Schema.maxLength(200),
      Schema.filter((title) => !/\p{Cc}/u.test(title) || "must be one line, without control characters")
    )
  ),
  body: optional(Schema.String, "", Schema.String.pipe(Schema.maxLength(4_000))),
  link: optional(Schema.NullOr(Schema.String), null, Schema.NullOr(Schema.String.pipe(Schema.maxLength(2_048)))),
  /** What caused it. */
  source: optional(
    Schema.NullOr(Schema.Struct({ type: Schema.String, id: Schema.String })),
    null,
    Schema.NullOr(
      Schema.Struct({
        type: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100)),
        id: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))
      })
    )
  ),
  status: generatedValue(
    Schema.Literal(...notificationStatuses).annotations({
      description: "failed: no target of the channel could be reached"
    })
  ),
  readAt: generatedValue(Schema.NullOr(AnsweredTime)),
  /** Deliveries that have neither succeeded nor been given up. */
  pending: hidden(Schema.Number),
  /** Its deliveries when it was made. */
  targets: hidden(Schema.Number),
  /** Notifications of one cause are written once an hour and channel; `null`: always. */
  cause: hidden(Schema.NullOr(Schema.String)),
  /** The hour of its creation. */
  hour: hidden(AnsweredTime),
  createdAt: generatedValue(AnsweredTime)
}

/** A notification: its record, body and view, which is without what the service needs to send it. Times are RFC 3339. */
export const Notification = recordOf("Notification", notificationMembers)
/** The stored notification. */
export type Notification = typeof Notification.stored.Type

/** A notification as a person of its organisation sees it, whose own it is whether it is read. */
export const PersonNotification = recordOf("PersonNotification", {
  ...notificationMembers,
  readerId: hidden(UserId)
})
export type PersonNotification = typeof PersonNotification.stored.Type

export type CreateNotification = typeof Notification.Create.Type
/** The hour that an RFC 3339 time is in. */
export const hourOf = (at: string): string => `${at.slice(0, 13)}:00:00.000Z`

/** The body that marks notifications as read: these, or all that were created before a time. */
export const MarkRead = Schema.Struct({
  ids: Schema.optional(Schema.Array(Schema.String).pipe(Schema.maxItems(200))),
  all: Schema.optional(Schema.Literal(true)),
  before: Schema.optional(Rfc3339)
}).annotations({ identifier: "MarkNotificationsRead" })
export type MarkRead = typeof MarkRead.Type

// --- Targets ---

/** The key of the configuration value that names the targets. */
export const notificationTargetsKey = "notifications"

/** An e-mail address. */
export const Address = Schema.String.pipe(
  Schema.maxLength(320),
  Schema.pattern(/^[^\s@<>,;:"]+@[^\s@<>,;:"]+$/, { message: () => "must be an e-mail address" })
)
/** The address of a webhook or a chat. */
export const HookUrl = Schema.String.pipe(
  Schema.maxLength(2_048),
  Schema.filter(
    (text) => /^https?:$/.test(parseUrl(text)?.protocol ?? "") || "must be an address that begins with https://"
  )
)
const upTo20 = <A>(item: Schema.Schema<A, string>) => Schema.optional(Schema.Array(item).pipe(Schema.maxItems(20)))

/** The value of the configuration key `notifications`. */
const NotificationTargets = Schema.Struct({
  email: upTo20(Address),
  /** Incoming webhooks of a chat. */
  teamChat: upTo20(HookUrl),
  webhook: upTo20(HookUrl),
  /** The least severe notifications that leave the application; `warning` if absent. */
  minimum: Schema.optional(Schema.Literal(...severities))
})
export type NotificationTargets = typeof NotificationTargets.Type

const decodeTargets = decodeStrict(NotificationTargets)

/** The targets of a stored value; none for a value that was stored before it was checked. */
export const targetsIn = (value: Json | undefined): NotificationTargets =>
  Either.getOrElse(decodeTargets(value ?? {}), (): NotificationTargets => ({}))

/** What is wrong with a value of the key. */
export const targetProblems = (value: Json): ReadonlyArray<Detail> =>
  Either.match(decodeTargets(value), { onRight: () => [], onLeft: valueDetails })

/** The URLs of a value of the key that have no TLS, with their places in a request that sets it. */
export const plainTargetUrls = (value: Json): ReadonlyArray<{ readonly path: string; readonly url: string }> => {
  const targets = targetsIn(value)
  return (["teamChat", "webhook"] as const).flatMap((member) =>
    (targets[member] ?? [])
      .map((url, at) => ({ path: `value.${member}.${at}`, url }))
      .filter(({ url }) => parseUrl(url)?.protocol === "http:")
  )
}

const targetsByChannel: { readonly [C in ExternalChannel]: (targets: NotificationTargets) => ReadonlyArray<string> } = {
  email: ({ email = [] }) => email.map((address) => `mailto:${address}`),
  team_chat: ({ teamChat = [] }) => teamChat,
  webhook: ({ webhook = [] }) => webhook
}

/** The URLs of a channel's targets; those of e-mail begin with `mailto:`. */
export const targetUrls = (channel: ExternalChannel, targets: NotificationTargets): ReadonlyArray<string> =>
  targetsByChannel[channel](targets)

/** The channels with targets for a notification of this severity. */
export const externalChannels = (severity: Severity, targets: NotificationTargets): ReadonlyArray<ExternalChannel> =>
  severities.indexOf(severity) < severities.indexOf(targets.minimum ?? "warning")
    ? []
    : (["email", "team_chat", "webhook"] as const).filter((channel) => targetUrls(channel, targets).length > 0)

// --- Texts ---

type Told = Pick<Notification, "severity" | "title" | "body" | "link">

const payloads: { readonly [C in ExternalChannel]: (notification: Notification) => Json } = {
  email: ({ body, link, severity, title }) => ({
    subject: `[${severity}] ${title}`,
    text: [body, ...(link === null ? [] : [link])].join("\n\n")
  }),
  team_chat: ({ body, link, severity, title }) => ({
    text: [`[${severity}] ${title}`, body, ...(link === null ? [] : [link])].filter((line) => line !== "").join("\n")
  }),
  webhook: (notification) => ({
    type: "notification.created",
    timestamp: notification.createdAt,
    data: { ...Notification.show(notification) }
  })
}

/** The payload of a notification's deliveries. */
export const notificationPayload = (channel: ExternalChannel, notification: Notification): string =>
  JSON.stringify(payloads[channel](notification))

const textOf = (payload: JsonObject, member: string): string => String(payload[member] ?? "")

/** How much of a quota was used when the event was written: 80 or more. */
const percentOf = ({ limit, used }: JsonObject): number =>
  typeof used === "number" && typeof limit === "number" && limit > 0 ? Math.floor((used / limit) * 100) : 80

/** Why a trigger was disabled, by the reason of the event. */
const disabledBecause: { readonly [reason in string]?: string } = {
  user: "A user disabled it.",
  workflow_archived: "Its workflow was archived.",
  workflow_deleted: "Its workflow was deleted.",
  failures: "Its runs kept failing. Enable it once the cause is gone.",
  subscription_refused: "The provider refuses its subscription. Enable it once the cause is gone."
}

/** The notifications that events cause, by type. Events without an entry cause none. */
const textsByEvent: { readonly [type: string]: (payload: JsonObject) => Omit<Told, "link"> } = {
  "connection.expired": (payload) => ({
    severity: "error",
    title: `A connection to ${textOf(payload, "connector")} has expired`,
    body: "Its credential has lapsed. The customer must connect again; until then its calls fail."
  }),
  "connection.failed": (payload) => ({
    severity: "error",
    title: `A connection to ${textOf(payload, "connector")} has failed`,
    body: `The customer must connect again; until then its calls fail. ${textOf(payload, "reason")}`.trim()
  }),
  "connection.refresh_failed": (payload) => ({
    severity: "warning",
    title: `A connection to ${textOf(payload, "connector")} cannot be refreshed`,
    body: `The refresh of its token is retried. ${textOf(payload, "reason")}`.trim()
  }),
  // Without the workflow's text, since it may be addressed to the approvers alone.
  "approval.requested": () => ({
    severity: "info",
    title: "A run waits for an approval",
    body: "The approvers are asked by mail. It can also be decided by the API."
  }),
  "trigger.disabled": (payload) => ({
    severity: "error",
    title: `The trigger ${textOf(payload, "name")} was disabled`,
    body: disabledBecause[textOf(payload, "reason")] ?? "Enable it once the cause is gone."
  }),
  "trigger.subscription_failed": (payload) => ({
    severity: "error",
    title: `The trigger ${textOf(payload, "name")} is not subscribed`,
    body: `It receives no events: ${textOf(payload, "error")}`
  }),
  "dlq.entry_created": (payload) => ({
    severity: "warning",
    title: "Something was given up and kept as a dead letter",
    body: `${textOf(payload, "type")}: ${textOf(payload, "reason")}`
  }),
  "quota.warning": (payload) => ({
    severity: "warning",
    title: `The quota ${textOf(payload, "dimension")} is used to ${percentOf(payload)} per cent`,
    body: `${textOf(payload, "used")} of ${textOf(payload, "limit")} are used.`
  }),
  "quota.exceeded": (payload) => ({
    severity: "error",
    title: `The quota ${textOf(payload, "dimension")} is used up`,
    body: `The limit is ${textOf(payload, "limit")}.`
  }),
  "key.expiring": (payload) => ({
    severity: "warning",
    title: `The API key ${textOf(payload, "name")} expires soon`,
    body: `It expires at ${textOf(payload, "expiresAt")}. Rotate it before.`
  }),
  "webhook_endpoint.disabled": (payload) => ({
    severity: "error",
    title: "A webhook endpoint was disabled",
    body: `${textOf(payload, "url")} ${textOf(payload, "reason") === "gone" ? "answered that it no longer exists" : "has failed for five days"}. Enable it once it works, and send again what it missed.`
  })
}

/** A record that a notification names, such as the workflow that failed. */
export interface NamedSubject {
  readonly kind: string
  readonly name: string
}

/** The path of the record that an event is about. */
const recordPath = (type: string, subject: string, payload: JsonObject): string => {
  const [kind] = type.split(".")
  if (kind === "approval") return `/api/v1/executions/${textOf(payload, "executionId")}`
  if (kind === "dlq") return `/api/v1/dlq/${textOf(payload, "deadLetterId")}`
  const collection = kind === undefined ? undefined : collections[kind]
  return collection === undefined ? "/api/v1/quota/usage" : `/api/v1/${collection}/${encodeURIComponent(subject)}`
}

const collections: { readonly [kind in string]?: string } = {
  connection: "connections",
  trigger: "triggers",
  key: "api-keys",
  webhook_endpoint: "webhook-endpoints"
}

/**
 * The text of the notification that an event causes, with the records that it names and the address of its own;
 * `undefined`: it causes none.
 */
export const notificationText = (
  { payload, subject, type }: { readonly type: string; readonly subject: string; readonly payload: JsonObject },
  names: ReadonlyArray<NamedSubject>,
  origin: string
): Told | undefined => {
  const told = Object.hasOwn(textsByEvent, type) ? textsByEvent[type]?.(payload) : undefined
  if (told === undefined) return undefined
  const about = names.map(({ kind, name }) => `${kind}: ${name}`).join("\n")
  return {
    ...told,
    body: about === "" ? told.body : `${told.body}\n\n${about}`,
    link: `${origin}${recordPath(type, subject, payload)}`
  }
}

/** Whether the event causes a notification. */
export const isNotified = (type: string): boolean => Object.hasOwn(textsByEvent, type)
