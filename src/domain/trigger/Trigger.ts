/**
 * Triggers: what starts workflows without a call of the API. The record, its settings for each type, and the bodies that
 * create and change it. Specification: Triggers; contract: trigger record and states.
 */
import { Schema } from "effect"
import { AutoReplay, AutoReplayInput } from "../event/AutoReplay.js"
import { Condition } from "../expression/Condition.js"
import { WebhookVerification } from "../connector/Webhook.js"
import { Retry } from "../run/Execution.js"
import { ConnectionId, CustomerId, OrganisationId, RouteId, SpaceId, TriggerId, WorkflowId } from "../Ids.js"
import { JsonObject, StoredObject } from "../Json.js"
import { scheduleLimits, triggerLimits } from "../Limits.js"
import { derivedValue, generatedValue, hidden, owner, recordOf } from "../Record.js"
import { Counter, NullableText } from "../Scalars.js"
import { AnsweredTime, Rfc3339, NullableTime } from "../Time.js"

/** What fires a trigger. It never changes. */
export const TriggerKind = Schema.Literal("webhook", "schedule", "app_event", "event", "manual")
export type TriggerKind = typeof TriggerKind.Type

/** `auto_disabled`: disabled by the service, after failures or because a provider refuses its subscription for good. */
export const TriggerStatus = Schema.Literal("active", "disabled", "auto_disabled")
export type TriggerStatus = typeof TriggerStatus.Type

/** A workflow that the trigger starts for the events that its filter matches. */
export const TriggerRoute = Schema.Struct({
  id: RouteId,
  workflowId: WorkflowId,
  /** The slug of the environment. */
  environment: Schema.String,
  /** `null`: every event. */
  filter: Schema.NullOr(Condition),
  /** Headers of the run, names in lower case. */
  headers: Schema.Record({ key: Schema.String, value: Schema.String }),
  /** The input of a schedule's runs. */
  payload: Schema.NullOr(StoredObject)
})
export type TriggerRoute = typeof TriggerRoute.Type

/** The settings of a webhook. Paths lead into the payload. */
const WebhookSettings = Schema.Struct({
  auth: Schema.Literal("access_key", "public"),
  /** In hexadecimal; `null` if the webhook is public. */
  accessKeyHash: NullableText,
  accessKeyPrefix: NullableText,
  executionMode: Schema.Literal("parallel", "sequential"),
  /** The value that divides the lane of a sequential webhook. */
  partitionKey: NullableText,
  deduplicationKey: NullableText,
  verify: Schema.NullOr(WebhookVerification),
  /** `result`: the sender waits for the run's result. */
  respond: Schema.Literal("ack", "result"),
  /** How integers beyond 2^53 arrive; absent: as numbers, which rounds them. */
  bigIntegers: Schema.optionalWith(Schema.Literal("number", "text"), { exact: true })
})
export type WebhookSettings = typeof WebhookSettings.Type

export const ScheduleMode = Schema.Literal("interval", "daily", "weekly", "monthly", "cron")
export const ScheduleUnit = Schema.Literal("minutes", "hours", "days", "weeks", "months")

/** The settings of a schedule. */
const ScheduleSettings = Schema.Struct({
  mode: ScheduleMode,
  /** Five fields; `null` in other modes. */
  cron: NullableText,
  /** `null` in the mode cron. */
  every: Schema.NullOr(Schema.Struct({ n: Schema.Number, unit: ScheduleUnit })),
  /** An IANA name. */
  timezone: Schema.String,
  /** The first tick of the other modes, and their time of day; a cron's ticks begin after it. */
  startsAt: NullableText,
  runOnCreate: Schema.Boolean,
  /** Minutes from a tick to its run. */
  delayMinutes: Schema.Number,
  /** What happens to a tick while the run of an earlier one has not ended. */
  overlap: Schema.Literal("skip", "queue", "allow"),
  /** Which of the ticks that were missed fire afterwards. */
  catchUp: Schema.Literal("none", "one", "all"),
  /** The time from which intervals are counted if there is no `startsAt`: when the schedule was last edited. */
  anchorAt: Schema.String
})
export type ScheduleSettings = typeof ScheduleSettings.Type

/** The settings of an app event. */
const AppEventSettings = Schema.Struct({
  /** The slug of the connector, which cannot be changed. */
  connector: Schema.String,
  /** `null`: every active connection of the trigger's customer, or of all customers. */
  connectionId: Schema.NullOr(ConnectionId),
  /** The id of the connector's event. */
  event: Schema.String,
  /** Arguments of the subscription. */
  args: StoredObject,
  /** How the connector delivers the event. */
  delivery: Schema.Literal("webhook", "poll")
})
export type AppEventSettings = typeof AppEventSettings.Type

/** The settings of a trigger that fires on the service's own events. */
const EventSettings = Schema.Struct({
  /** An event's type, such as `connection.expired`; `*` at its end matches any continuation. */
  type: Schema.String
})
export type EventSettings = typeof EventSettings.Type

/** States of an app event's subscription. */
export const subscriptionStates = [
  "none",
  "pending",
  "subscribed",
  "renewing",
  "failed",
  "suspended",
  "unsubscribed"
] as const
export type SubscriptionState = (typeof subscriptionStates)[number]

const { accessKeyHash: _hash, ...shownWebhook } = WebhookSettings.fields
const { anchorAt: _anchor, ...shownSchedule } = ScheduleSettings.fields
const { delivery: _delivery, ...shownAppEvent } = AppEventSettings.fields

/** A schedule as the API shows it. */
const ScheduleView = Schema.Struct({ ...shownSchedule, startsAt: NullableTime }).annotations({
  identifier: "TriggerSchedule"
})

/** A trigger: its record and view. Times are RFC 3339. The settings of types other than its own are `null`. */
export const Trigger = recordOf("Trigger", {
  id: generatedValue(TriggerId, Schema.String),
  organisationId: owner(OrganisationId),
  spaceId: owner(SpaceId),
  type: generatedValue(TriggerKind),
  name: generatedValue(Schema.String),
  description: generatedValue(Schema.String),
  /** `null`: all customers. */
  customerId: generatedValue(Schema.NullOr(CustomerId), NullableText),
  status: generatedValue(TriggerStatus),
  routes: generatedValue(
    Schema.Array(TriggerRoute),
    Schema.Array(
      Schema.Struct({
        ...TriggerRoute.fields,
        id: Schema.String,
        workflowId: Schema.String,
        payload: Schema.NullOr(JsonObject)
      }).annotations({ identifier: "TriggerRoute" })
    )
  ),
  /** The workflows and environments of the routes, for filters. */
  workflowIds: hidden(Schema.Array(WorkflowId)),
  environments: hidden(Schema.Array(Schema.String)),
  /** How many different patterns its filters have. */
  patterns: hidden(Schema.Number),
  /** How handing an event over to its runs is retried. Once a run exists, the workflow's policy applies. */
  delivery: generatedValue(Retry),
  /** Which of its dead letters are replayed without a request; `null`: as the configuration says. */
  autoReplay: generatedValue(
    Schema.NullOr(AutoReplay),
    Schema.NullOr(AutoReplay.annotations({ identifier: "AutoReplay" })).annotations({
      description: "null: the configuration value autoReplay applies"
    })
  ),
  webhook: generatedValue(
    Schema.NullOr(WebhookSettings),
    Schema.NullOr(
      Schema.Struct({
        id: Schema.String,
        url: Schema.String,
        ...shownWebhook,
        verify: Schema.NullOr(Schema.typeSchema(WebhookVerification)),
        bigIntegers: Schema.Literal("number", "text")
      }).annotations({ identifier: "TriggerWebhook" })
    )
  ),
  schedule: generatedValue(Schema.NullOr(ScheduleSettings), Schema.NullOr(ScheduleView)),
  appEvent: generatedValue(
    Schema.NullOr(AppEventSettings),
    Schema.NullOr(
      Schema.Struct({
        ...shownAppEvent,
        connectionId: NullableText,
        args: JsonObject,
        subscription: Schema.Literal(...subscriptionStates)
      }).annotations({ identifier: "TriggerAppEvent" })
    )
  ),
  event: generatedValue(Schema.NullOr(EventSettings)),
  stats: derivedValue(
    Schema.Struct({ lastFiredAt: NullableTime, nextFireAt: NullableTime, consecutiveFailures: Schema.Number })
  ),
  /** The workflow in step form whose document describes it; `null`: it is changed by its own requests. */
  managedBy: generatedValue(
    Schema.NullOr(WorkflowId),
    Schema.NullOr(Schema.Struct({ kind: Schema.Literal("workflow"), id: Schema.String })).annotations({
      description: "The workflow whose steps describe it: it is changed there."
    })
  ),
  /** When the service disabled it; `null` unless it is `auto_disabled`. */
  autoDisabledAt: hidden(NullableTime),
  createdBy: generatedValue(Schema.String),
  createdAt: generatedValue(AnsweredTime),
  updatedAt: generatedValue(AnsweredTime),
  deletedAt: hidden(NullableTime),
  version: generatedValue(Schema.Number)
})
/** The stored trigger. */
export type Trigger = typeof Trigger.stored.Type

/** What firing a trigger writes, apart from its record. Times are RFC 3339. */
export const TriggerState = Schema.Struct({
  triggerId: TriggerId,
  organisationId: OrganisationId,
  /** When its schedule fires next; `null`: it does not. */
  nextFireAt: NullableTime,
  lastFiredAt: NullableTime,
  consecutiveFailures: Schema.Number
})
export type TriggerState = typeof TriggerState.Type

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
