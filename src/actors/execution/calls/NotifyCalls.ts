/**
 * `svc.notify({channel, to, subject, body, severity})`: the notification is queued by the transaction that writes the
 * call's journal row, so that it is sent once however often the run is replayed. Contract: notification record.
 */
import { Clock, Context, Data, DateTime, Effect, Either, Option } from "effect"
import type { Json } from "../../../domain/Json.js"
import { runNotifications } from "../../../domain/Limits.js"
import { type Notification, notificationTargetsKey, targetUrls } from "../../../domain/organisation/Notification.js"
import { plans } from "../../../domain/organisation/Plan.js"
import { namedTargets, type RunMessage, runMessage } from "../../../domain/organisation/RunMessage.js"
import { makeNotification, readTargets, type NewNotification } from "../../NotificationDeliveries.js"
import { Identifiers } from "../../ports/Identifiers.js"
import { OrganisationReads } from "../../ports/organisation/OrganisationReads.js"
import { PlatformConfiguration } from "../../ports/organisation/PlatformConfiguration.js"
import { Records } from "../../ports/Records.js"
import { JournalUnavailable, type Fenced, type JournalPlace } from "../../ports/run/Journal.js"
import { Wakeups } from "../../ports/run/Wakeups.js"
import type { RunSpec } from "../RunSpec.js"
import { failure, type HostCall, type HostRequest, refusedCall, WriteRefused } from "./HostCall.js"
import type { OrganisationId, SpaceId } from "../../../domain/Ids.js"
import type { JournalEntry } from "../../../domain/run/RunJournal.js"

/** The organisation has sent as many in this hour as it may. */
export class NotificationsExceeded extends Data.TaggedError("NotificationsExceeded")<{
  readonly what: "messages" | "notifications"
  readonly limit: number
}> {}

/** How many an organisation may send in an hour; `null`: any number. */
export interface HourlyLimits {
  /** Messages that leave the application. */
  readonly messages: number | null
  /** Notifications in the application. */
  readonly inApp: number
}

/** Queues the notifications of runs, each with the journal row of its call, so that it is sent once. */
export class RunNotifications extends Context.Tag("svc/RunNotifications")<
  RunNotifications,
  {
    /** Writes the notification, its deliveries and the entry in one transaction, as the owner of the run. */
    readonly queue: (
      owner: { readonly organisationId: OrganisationId; readonly spaceId: SpaceId },
      made: NewNotification,
      limits: HourlyLimits,
      place: JournalPlace,
      entry: JournalEntry
    ) => Effect.Effect<void, NotificationsExceeded | Fenced | JournalUnavailable>
  }
>() {}

const misuse = (message: string) => failure("TypeError", `svc.notify: ${message}`)

const noTarget = (channel: string) =>
  failure(
    "NoTarget",
    `svc.notify: there is no target for ${channel} that may be written to: name it in "to" or in the configuration ` +
      `${notificationTargetsKey}; the owner of an e-mail address confirms it by the link of a mail`,
    "code",
    { code: "NO_TARGET" }
  )

const exceeded = ({ limit, what }: NotificationsExceeded) =>
  failure(
    "QuotaExceeded",
    `svc.notify: this organisation has sent ${limit} ${what} in this hour, which is its limit`,
    "quota",
    { code: "QUOTA_EXCEEDED" }
  )

const refuse = (why: ReturnType<typeof failure>) => new WriteRefused({ failure: why })

/** Without a subject the workflow's name; one line in any case. */
const titleOf = ({ subject }: RunMessage, { run }: RunSpec): string =>
  (subject ?? "").replaceAll(/\p{Cc}+/gu, " ").trim() || run.record.workflowName

export const makeNotifyCalls = Effect.gen(function* () {
  const queue = yield* RunNotifications
  const records = yield* Records
  const organisations = yield* OrganisationReads
  const platform = yield* PlatformConfiguration
  const identifiers = yield* Identifiers
  const wakeups = yield* Wakeups

  /** The targets that the message names, or else those of the configuration: confirmed addresses only. */
  const targetsOf = (message: RunMessage, { run }: RunSpec) => {
    const { channel } = message
    if (channel === "in_app") return Effect.succeed({})
    return Effect.flatMap(
      Either.mapLeft(namedTargets(channel, message), (why) => refuse(misuse(why))),
      (named) =>
        records.transact(run.organisationId, (tx) => {
          if (named === undefined) return readTargets(tx, platform, run.customerId)
          const { email = [] } = named
          return email.length === 0
            ? Effect.succeed(named)
            : Effect.map(tx.usableAddresses(email), (usable) =>
                usable.length === email.length ? named : { ...named, email: [] }
              )
        })
    )
  }

  /** The notification as it is queued. */
  const made = Effect.fnUntraced(function* (message: RunMessage, spec: RunSpec) {
    const { channel, severity, to } = message
    const targets = yield* targetsOf(message, spec)
    if (channel !== "in_app" && targetUrls(channel, targets).length === 0) return yield* refuse(noTarget(channel))
    const { run } = spec
    const content: Parameters<typeof makeNotification>[3] = {
      organisationId: run.organisationId,
      spaceId: run.spaceId,
      customerId: run.customerId,
      userId: channel === "in_app" && typeof to === "string" ? to : null,
      severity: severity ?? "info",
      title: titleOf(message, spec).slice(0, 200),
      body: message.body,
      link: null,
      source: { type: "execution", id: run.id },
      cause: null,
      createdAt: DateTime.formatIso(DateTime.unsafeMake(yield* Clock.currentTimeMillis))
    }
    return makeNotification(identifiers, channel, targets, content)
  })

  const shown = ({ channel, id, status, targets }: Notification): Json => ({ id, channel, status, targets })

  const plan = ({ args, notes, nth, size, spec }: HostRequest): HostCall => {
    const message = runMessage(args[0], size)
    if (Either.isLeft(message)) return refusedCall(misuse(message.left))
    if (nth >= runNotifications.perRun)
      return refusedCall(
        failure("RangeError", `svc.notify: a run sends at most ${runNotifications.perRun} notifications`, "code", {
          code: "TOO_MANY_NOTIFICATIONS"
        })
      )
    if (spec.start.mocking?.mode === "full") {
      notes.isMocked = true
      const value = { id: null, channel: message.right.channel, status: "mocked", targets: 0 }
      return { _tag: "Read", run: Effect.succeed({ value }) }
    }
    return {
      _tag: "Write",
      commit: (place, entry) =>
        Effect.gen(function* () {
          const { organisationId, spaceId } = spec.run
          const organisation = Option.getOrUndefined(yield* organisations.find(organisationId))
          const limits = {
            messages: plans[organisation?.plan ?? "starter"].messagesPerHour,
            inApp: runNotifications.inAppPerHour
          }
          const queued = yield* made(message.right, spec)
          const value = shown(queued.notification)
          yield* queue.queue({ organisationId, spaceId }, queued, limits, place, entry(value))
          if (queued.deliveries.length > 0) wakeups.signalDelivery()
          return value
        }).pipe(
          Effect.catchTags({
            NotificationsExceeded: (error) => refuse(exceeded(error)),
            Unavailable: ({ reason }) => new JournalUnavailable({ reason })
          })
        )
    }
  }

  return { "notify.send": plan }
})
