/**
 * Triggers: what starts workflows without a call of the API. The record, its settings for each type, and the bodies that
 * create and change it. Specification: Triggers; contract: trigger record and states.
 */
import { Schema } from "effect"
import { type AutoReplay, AutoReplayInput } from "../event/AutoReplay.js"
import { Condition } from "../connector/expression/Condition.js"
import { WebhookVerification } from "../connector/Webhook.js"
import { Retry } from "../run/Execution.js"
import type { ConnectionId, CustomerId, OrganisationId, RouteId, SpaceId, TriggerId, WorkflowId } from "../Ids.js"
import { JsonObject } from "../Json.js"
import { scheduleLimits, triggerLimits } from "../Limits.js"
import { Counter } from "../Scalars.js"
import { Rfc3339 } from "../Time.js"

/** What fires a trigger. It never changes. */
export const TriggerKind = Schema.Literal("webhook", "schedule", "app_event", "event", "manual")
export type TriggerKind = typeof TriggerKind.Type

/** `auto_disabled`: disabled by the service, after failures or because a provider refuses its subscription for good. */
export const TriggerStatus = Schema.Literal("active", "disabled", "auto_disabled")
export type TriggerStatus = typeof TriggerStatus.Type

/** The stored trigger. Times are RFC 3339. The settings of types other than its own are `null`. */
export interface Trigger {
  readonly id: TriggerId
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  /** `null`: all customers. */
  readonly customerId: CustomerId | null
  readonly type: TriggerKind
  readonly name: string
  readonly description: string
  readonly status: TriggerStatus
  readonly routes: ReadonlyArray<TriggerRoute>
  /** The workflows and environments of the routes, for filters. */
  readonly workflowIds: ReadonlyArray<WorkflowId>
  readonly environments: ReadonlyArray<string>
  /** How many different patterns its filters have. */
  readonly patterns: number
  /** How handing an event over to its runs is retried. Once a run exists, the workflow's policy applies. */
  readonly delivery: Retry
  /** Which of its dead letters are replayed without a request; `null`: as the configuration says. */
  readonly autoReplay: AutoReplay | null
  readonly webhook: WebhookSettings | null
  readonly schedule: ScheduleSettings | null
  readonly appEvent: AppEventSettings | null
  readonly event: EventSettings | null
  /** When the service disabled it; `null` unless it is `auto_disabled`. */
  readonly autoDisabledAt: string | null
  readonly createdBy: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly deletedAt: string | null
  readonly version: number
}

/** A workflow that the trigger starts for the events that its filter matches. */
export interface TriggerRoute {
  readonly id: RouteId
  readonly workflowId: WorkflowId
  /** The slug of the environment. */
  readonly environment: string
  /** `null`: every event. */
  readonly filter: Condition | null
  /** Headers of the run, names in lower case. */
  readonly headers: { readonly [name: string]: string }
  /** The input of a schedule's runs. */
  readonly payload: JsonObject | null
}

/** What firing a trigger writes, apart from its record. Times are RFC 3339. */
export interface TriggerState {
  readonly triggerId: TriggerId
  readonly organisationId: OrganisationId
  /** When its schedule fires next; `null`: it does not. */
  readonly nextFireAt: string | null
  readonly lastFiredAt: string | null
  readonly consecutiveFailures: number
}

/** The settings of a webhook. Paths lead into the payload. */
export interface WebhookSettings {
  readonly auth: "access_key" | "public"
  /** In hexadecimal; `null` if the webhook is public. */
  readonly accessKeyHash: string | null
  readonly accessKeyPrefix: string | null
  readonly executionMode: "parallel" | "sequential"
  /** The value that divides the lane of a sequential webhook. */
  readonly partitionKey: string | null
  readonly deduplicationKey: string | null
  readonly verify: WebhookVerification | null
  /** `result`: the sender waits for the run's result. */
  readonly respond: "ack" | "result"
  /** How integers beyond 2^53 arrive; absent: as numbers, which rounds them. */
  readonly bigIntegers?: "number" | "text"
}

export const ScheduleMode = Schema.Literal("interval", "daily", "weekly", "monthly", "cron")
export const ScheduleUnit = Schema.Literal("minutes", "hours", "days", "weeks", "months")

/** The settings of a schedule. */
export interface ScheduleSettings {
  readonly mode: typeof ScheduleMode.Type
  /** Five fields; `null` in other modes. */
  readonly cron: string | null
  /** `null` in the mode cron. */
  readonly every: { readonly n: number; readonly unit: typeof ScheduleUnit.Type } | null
  /** An IANA name. */
  readonly timezone: string
  /** The first tick of the other modes, and their time of day; a cron's ticks begin after it. */
  readonly startsAt: string | null
  readonly runOnCreate: boolean
  /** Minutes from a tick to its run. */
  readonly delayMinutes: number
  /** What happens to a tick while the run of an earlier one has not ended. */
  readonly overlap: "skip" | "queue" | "allow"
  /** Which of the ticks that were missed fire afterwards. */
  readonly catchUp: "none" | "one" | "all"
  /** The time from which intervals are counted if there is no `startsAt`: when the schedule was last edited. */
  readonly anchorAt: string
}

/** The settings of an app event. */
export interface AppEventSettings {
  /** The slug of the connector, which cannot be changed. */
  readonly connector: string
  /** `null`: every active connection of the trigger's customer, or of all customers. */
  readonly connectionId: ConnectionId | null
  /** The id of the connector's event. */
  readonly event: string
  /** Arguments of the subscription. */
  readonly args: JsonObject
  /** How the connector delivers the event. */
  readonly delivery: "webhook" | "poll"
}

/** The settings of a trigger that fires on the service's own events. */
export interface EventSettings {
  /** An event's type, such as `connection.expired`; `*` at its end matches any continuation. */
  readonly type: string
}

// --- Bodies ---

const text = (maxLength: number) => Schema.String.pipe(Schema.maxLength(maxLength))
const sizedObject = (bytes: number) =>
  JsonObject.pipe(
    Schema.filter((value) => JSON.stringify(value).length <= bytes || `must have at most ${bytes} bytes of JSON`)
  )
const nullable = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))
const { headerValueLength, headers, pathLength } = triggerLimits

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
const Headers = Schema.Record({ key: Schema.String, value: text(headerValueLength) }).pipe(
  Schema.filter((all) =>
    Object.keys(all).length > headers
      ? `must have at most ${headers} headers`
      : Object.entries(all).flatMap(([name, value]) =>
          headerName.test(name) && !/[\r\n]/.test(value)
            ? []
            : [{ path: [name], message: "must be a header's name and a value without line breaks" }]
        )
  )
)

/** A route as a request sends it, or as it was read. */
const RouteInput = Schema.Struct({
  id: Schema.optional(Schema.String).annotations({ description: "the id of the route as it was read; absent: new" }),
  workflowId: Schema.String,
  environment: Schema.optional(text(63)),
  filter: nullable(Condition),
  headers: Schema.optional(Headers),
  payload: nullable(sizedObject(triggerLimits.payloadBytes))
}).annotations({ identifier: "TriggerRouteInput" })
export type RouteInput = typeof RouteInput.Type

const webhookFields = {
  auth: Schema.optional(Schema.Literal("access_key", "public")),
  executionMode: Schema.optional(Schema.Literal("parallel", "sequential")),
  partitionKey: nullable(text(pathLength)),
  deduplicationKey: nullable(text(pathLength)),
  verify: nullable(WebhookVerification),
  respond: Schema.optional(Schema.Literal("ack", "result")),
  bigIntegers: Schema.optional(Schema.Literal("number", "text")).annotations({
    description:
      "How integers beyond 2^53 arrive: as the text that was sent, or as numbers, which rounds them; where a route's input contract says the type string they are texts in any case."
  })
}
const WebhookInput = Schema.Struct(webhookFields).annotations({ identifier: "TriggerWebhookInput" })
/** As it was read: with its read-only members. */
const WebhookChange = Schema.Struct({
  ...webhookFields,
  id: Schema.optional(Schema.String),
  url: Schema.optional(Schema.String),
  accessKeyPrefix: nullable(Schema.String)
}).annotations({ identifier: "TriggerWebhookChange" })
export type WebhookChange = typeof WebhookChange.Type

const ScheduleInput = Schema.Struct({
  mode: ScheduleMode,
  cron: nullable(text(triggerLimits.cronLength)),
  every: nullable(
    Schema.Struct({
      n: Schema.optional(Schema.Int.pipe(Schema.between(1, scheduleLimits.every))),
      unit: Schema.optional(ScheduleUnit)
    })
  ),
  timezone: Schema.optional(text(triggerLimits.timeZoneLength)),
  startsAt: nullable(Rfc3339),
  runOnCreate: Schema.optional(Schema.Boolean),
  delayMinutes: Schema.optional(Schema.Int.pipe(Schema.between(0, scheduleLimits.delayMinutes))),
  overlap: Schema.optional(Schema.Literal("skip", "queue", "allow")),
  catchUp: Schema.optional(Schema.Literal("none", "one", "all"))
}).annotations({ identifier: "TriggerScheduleInput" })
export type ScheduleInput = typeof ScheduleInput.Type

const appEventFields = {
  connector: text(63),
  connectionId: nullable(Schema.String),
  event: text(triggerLimits.eventTypeLength),
  args: Schema.optional(sizedObject(triggerLimits.argumentBytes))
}
const AppEventInput = Schema.Struct(appEventFields).annotations({ identifier: "TriggerAppEventInput" })
/** As it was read: with its read-only member. */
const AppEventChange = Schema.Struct({ ...appEventFields, subscription: nullable(Schema.String) }).annotations({
  identifier: "TriggerAppEventChange"
})
export type AppEventChange = typeof AppEventChange.Type

const EventInput = Schema.Struct({ type: text(triggerLimits.eventTypeLength) }).annotations({
  identifier: "TriggerEventInput"
})

const Name = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(triggerLimits.nameLength))
const Routes = Schema.Array(RouteInput).pipe(Schema.minItems(1), Schema.maxItems(triggerLimits.routes))

const shared = {
  description: Schema.optional(text(triggerLimits.descriptionLength)),
  delivery: Schema.optional(Schema.partialWith(Retry, { exact: true })),
  autoReplay: nullable(AutoReplayInput),
  schedule: nullable(ScheduleInput),
  event: nullable(EventInput)
}

/** The body that creates a trigger. */
export const CreateTrigger = Schema.Struct({
  type: TriggerKind,
  name: Name,
  customerId: nullable(Schema.String),
  status: Schema.optional(Schema.Literal("active", "disabled")),
  routes: Routes,
  ...shared,
  webhook: nullable(WebhookInput),
  appEvent: nullable(AppEventInput)
}).annotations({ identifier: "CreateTrigger" })
export type CreateTrigger = typeof CreateTrigger.Type

/** The body that changes a trigger. The status is changed by enabling and disabling. */
export const UpdateTrigger = Schema.Struct({
  name: Schema.optional(Name),
  routes: Schema.optional(Routes),
  ...shared,
  webhook: nullable(WebhookChange),
  appEvent: nullable(AppEventChange),
  version: Schema.optional(Counter)
}).annotations({ identifier: "UpdateTrigger" })
export type UpdateTrigger = typeof UpdateTrigger.Type
