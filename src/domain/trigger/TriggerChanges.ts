/** Creates, changes, enables and disables the record of a trigger; pure. Contract: trigger record and states. */
import { Duration, Either } from "effect"
import { autoReplayOf } from "../event/AutoReplay.js"
import { patternsOf } from "../expression/Condition.js"
import { defaultRetryPolicy, type Retry } from "../run/Execution.js"
import { InvalidState } from "../Failure.js"
import type { ConnectionId, CustomerId, EventId, OrganisationId, SpaceId, TriggerId, WorkflowId } from "../Ids.js"
import { canonicalJson } from "../Json.js"
import { triggerLimits } from "../Limits.js"
import { nextVersion } from "../Record.js"
import { nextAfter } from "./Schedule.js"
import {
  type AppEventChange,
  type AppEventSettings,
  type CreateTrigger,
  type RouteInput,
  type ScheduleInput,
  type ScheduleSettings,
  type TriggerRoute,
  type TriggerKind,
  type UpdateTrigger,
  type WebhookChange,
  type WebhookSettings,
  Trigger
} from "./Trigger.js"

/** The retries of handing an event over, unless the trigger sets others. */
const { enabled: _enabled, ...workflowRetry } = defaultRetryPolicy
export const defaultDelivery: Retry = { ...workflowRetry, initialMs: 1_000 }

/** An access key as it is stored. */
export interface StoredAccessKey {
  /** In hexadecimal. */
  readonly hash: string
  /** The first characters, by which a person recognises it. */
  readonly prefix: string
}

/** What of a new trigger does not come from the body alone. */
export interface NewTrigger {
  readonly id: TriggerId
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly customerId: CustomerId | null
  readonly routes: ReadonlyArray<TriggerRoute>
  readonly appEvent: AppEventSettings | null
  readonly accessKey: StoredAccessKey | null
  readonly managedBy: WorkflowId | null
  readonly createdBy: string
  /** RFC 3339. */
  readonly now: string
}

/** The record of a new trigger. */
export const newTrigger = (input: CreateTrigger, { accessKey, now, routes, ...fixed }: NewTrigger): Trigger =>
  Trigger.create(
    {},
    {
      ...fixed,
      type: input.type,
      name: input.name,
      description: input.description ?? "",
      status: input.status ?? "active",
      ...routeMembers(routes),
      delivery: { ...defaultDelivery, ...input.delivery },
      autoReplay: autoReplayOf(input.autoReplay ?? null),
      webhook: input.type === "webhook" ? webhookSettings(input.webhook ?? {}, accessKey) : null,
      schedule: input.schedule === null || input.schedule === undefined ? null : scheduleSettings(input.schedule, now),
      event: input.event ?? null
    },
    now
  )

/** The parts of an update that were checked against other records. */
export interface CheckedChanges {
  readonly routes: ReadonlyArray<TriggerRoute>
  readonly appEvent: AppEventSettings | null
  /** The access key to store; absent: the stored one stays. */
  readonly accessKey?: StoredAccessKey | null
}

/** The record after an update. An edited schedule counts from `now` on. */
export const changedTrigger = (
  before: Trigger,
  input: UpdateTrigger,
  checked: CheckedChanges,
  now: string
): Trigger => {
  const { schedule, webhook } = before
  return {
    ...before,
    name: input.name ?? before.name,
    description: input.description ?? before.description,
    ...routeMembers(checked.routes),
    delivery: { ...before.delivery, ...input.delivery },
    autoReplay: input.autoReplay === undefined ? before.autoReplay : autoReplayOf(input.autoReplay),
    webhook:
      webhook === null
        ? null
        : withAccessKey(
            input.webhook === null || input.webhook === undefined
              ? webhook
              : { ...webhookSettings(input.webhook, null), ...storedKey(webhook) },
            checked.accessKey
          ),
    schedule: schedule === null ? null : changedSchedule(schedule, input.schedule, now),
    appEvent: checked.appEvent,
    event: before.event === null ? null : (input.event ?? before.event),
    ...nextVersion(before, now)
  }
}

/** When a new or changed trigger fires next, RFC 3339; `null` unless it is an active schedule. */
export const firstFireAt = ({ schedule, status }: Trigger, isNew: boolean, now: string): string | null => {
  if (schedule === null || status !== "active") return null
  const at = Date.parse(now)
  const tick = isNew && schedule.runOnCreate ? at : nextAfter(schedule, at)
  return tick === null ? null : new Date(tick + schedule.delayMinutes * 60_000).toISOString()
}

const shownFires = 10

/** When a schedule fires next, were it active: at most ten times, RFC 3339. `now`: Unix milliseconds. */
export const nextFires = (schedule: ScheduleSettings, now: number): ReadonlyArray<string> => {
  const delay = schedule.delayMinutes * 60_000
  const fires: Array<string> = []
  // A tick from before the schedule was made, enabled or edited never fires, even if its delay ends later.
  const from = Math.max(now - delay, Date.parse(schedule.anchorAt))
  for (let tick = nextAfter(schedule, from); tick !== null; tick = nextAfter(schedule, tick)) {
    fires.push(new Date(tick + delay).toISOString())
    if (fires.length === shownFires) break
  }
  return fires
}

/** Whether two records fire at the same times. */
export const hasSameTimes = (a: Trigger, b: Trigger): boolean =>
  a.status === b.status && canonicalJson(a.schedule) === canonicalJson(b.schedule)

/** The record with another access key. */
export const rotatedTrigger = (
  before: Trigger,
  accessKey: StoredAccessKey,
  now: string
): Either.Either<Trigger, InvalidState> =>
  before.webhook === null || before.webhook.auth === "public"
    ? Either.left(
        new InvalidState({
          state: "public",
          message: "the trigger has no access key: only webhooks with auth access_key do"
        })
      )
    : Either.right({
        ...before,
        webhook: withAccessKey(before.webhook, accessKey),
        ...nextVersion(before, now)
      })

/** The enabled record; its schedule counts from `now` on. A trigger that the service disabled stays so for ten minutes. */
export const enabledTrigger = (before: Trigger, now: string): Either.Either<Trigger, InvalidState> => {
  const until =
    before.status === "auto_disabled" && before.autoDisabledAt !== null
      ? Date.parse(before.autoDisabledAt) + Duration.toMillis(triggerLimits.coolDown)
      : 0
  if (Date.parse(now) < until)
    return Either.left(
      new InvalidState({
        state: "auto_disabled",
        message: `the service disabled the trigger: it can be enabled from ${new Date(until).toISOString()}`
      })
    )
  return Either.right(before.status === "active" ? before : withStatus(before, "active", null, now))
}

/** The disabled record. */
export const disabledTrigger = (before: Trigger, now: string): Trigger =>
  before.status === "disabled" ? before : withStatus(before, "disabled", null, now)

/** The record that the service disables. */
export const autoDisabledTrigger = (before: Trigger, now: string): Trigger =>
  before.status === "active" ? withStatus(before, "auto_disabled", now, now) : before

/** Who or what disabled a trigger. */
export type DisableReason = "user" | "workflow_archived" | "workflow_deleted" | "failures" | "subscription_refused"

/** The event that tells subscribers of a disabled trigger. `at`: RFC 3339. */
export const disabledEvent = (
  eventId: EventId,
  { customerId, id, name, organisationId, status, type }: Trigger,
  reason: DisableReason,
  at: string
) => ({
  id: eventId,
  organisationId,
  type: "trigger.disabled",
  subject: id,
  customerId,
  payload: { triggerId: id, name, type, customerId, status, reason },
  at
})

/** What failed of a subscription. */
export interface SubscriptionFailure {
  readonly connectionId: ConnectionId
  /** The provider's answer, or why there was none. */
  readonly error: string
  /** The service tries again by itself. */
  readonly isRetried: boolean
}

/** The event that tells subscribers of a failed subscription. `at`: RFC 3339. */
export const subscriptionFailedEvent = (
  eventId: EventId,
  { appEvent, customerId, id, name, organisationId }: Trigger,
  { connectionId, error, isRetried }: SubscriptionFailure,
  at: string
) => ({
  id: eventId,
  organisationId,
  type: "trigger.subscription_failed",
  subject: id,
  customerId,
  payload: {
    triggerId: id,
    name,
    customerId,
    connector: appEvent?.connector ?? null,
    event: appEvent?.event ?? null,
    connectionId,
    error,
    isRetried
  },
  at
})

/** The record of a deleted trigger. */
export const deletedTrigger = (before: Trigger, now: string): Trigger => ({
  ...before,
  deletedAt: now,
  ...nextVersion(before, now)
})

/** The member with the settings of each type; a manual trigger has none. */
export const settingsMember: { readonly [type in TriggerKind]: "webhook" | "schedule" | "appEvent" | "event" | null } =
  {
    webhook: "webhook",
    schedule: "schedule",
    app_event: "appEvent",
    event: "event",
    manual: null
  }

/** The settings of an app event, without what a client may not set. */
export const appEventSettings = (
  { args, connector, event }: AppEventChange,
  connectionId: AppEventSettings["connectionId"],
  delivery: AppEventSettings["delivery"]
): AppEventSettings => ({ connector, connectionId, event, args: args ?? {}, delivery })

/** The different patterns in the filters of routes. */
export const patternsOfRoutes = (routes: ReadonlyArray<Pick<RouteInput, "filter">>): ReadonlySet<string> => {
  const found = new Set<string>()
  for (const { filter } of routes) if (filter !== null && filter !== undefined) patternsOf(filter, found)
  return found
}

const routeMembers = (
  routes: ReadonlyArray<TriggerRoute>
): Pick<Trigger, "routes" | "workflowIds" | "environments" | "patterns"> => ({
  routes,
  workflowIds: [...new Set(routes.map(({ workflowId }) => workflowId))],
  environments: [...new Set(routes.map(({ environment }) => environment))],
  patterns: patternsOfRoutes(routes).size
})

const withStatus = (
  before: Trigger,
  status: Trigger["status"],
  autoDisabledAt: string | null,
  now: string
): Trigger => ({
  ...before,
  status,
  autoDisabledAt,
  schedule: before.schedule === null || status !== "active" ? before.schedule : { ...before.schedule, anchorAt: now },
  ...nextVersion(before, now)
})

const webhookSettings = (input: WebhookChange, accessKey: StoredAccessKey | null): WebhookSettings => ({
  auth: input.auth ?? "access_key",
  accessKeyHash: accessKey?.hash ?? null,
  accessKeyPrefix: accessKey?.prefix ?? null,
  executionMode: input.executionMode ?? "parallel",
  partitionKey: input.partitionKey ?? null,
  deduplicationKey: input.deduplicationKey ?? null,
  verify: input.verify ?? null,
  respond: input.respond ?? "ack",
  bigIntegers: input.bigIntegers ?? "number"
})

const storedKey = ({ accessKeyHash, accessKeyPrefix }: WebhookSettings) => ({ accessKeyHash, accessKeyPrefix })

const withAccessKey = (webhook: WebhookSettings, accessKey: StoredAccessKey | null | undefined): WebhookSettings =>
  accessKey === undefined
    ? webhook
    : { ...webhook, accessKeyHash: accessKey?.hash ?? null, accessKeyPrefix: accessKey?.prefix ?? null }

const scheduleSettings = (input: ScheduleInput, anchorAt: string): ScheduleSettings => ({
  mode: input.mode,
  cron: input.mode === "cron" ? (input.cron ?? null) : null,
  every: input.mode === "cron" ? null : { n: input.every?.n ?? 1, unit: input.every?.unit ?? defaultUnits[input.mode] },
  timezone: input.timezone ?? "UTC",
  startsAt: input.startsAt ?? null,
  runOnCreate: input.runOnCreate ?? false,
  delayMinutes: input.delayMinutes ?? 0,
  overlap: input.overlap ?? "skip",
  catchUp: input.catchUp ?? "one",
  anchorAt
})

const defaultUnits = { interval: "minutes", daily: "days", weekly: "weeks", monthly: "months" } as const

/** A schedule that was sent as it was read keeps its anchor. */
const changedSchedule = (before: ScheduleSettings, input: ScheduleInput | null | undefined, now: string) => {
  if (input === null || input === undefined) return before
  const kept = scheduleSettings(input, before.anchorAt)
  return canonicalJson(scheduleTimes(kept)) === canonicalJson(scheduleTimes(before))
    ? before
    : { ...kept, anchorAt: now }
}

/** With `startsAt` as a number, since an earlier release stored it as it was sent. */
const scheduleTimes = (schedule: ScheduleSettings) => ({
  ...schedule,
  startsAt: schedule.startsAt === null ? null : Date.parse(schedule.startsAt)
})
