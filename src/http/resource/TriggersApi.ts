/** The endpoints of triggers. Contract: surface C bodies; trigger record and states. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { ReplayCause } from "../../domain/AutoReplay.js"
import { Condition } from "../../domain/connector/Condition.js"
import { WebhookVerification } from "../../domain/connector/Webhook.js"
import { FireTrigger } from "../../domain/EventBodies.js"
import { Retry } from "../../domain/Execution.js"
import { JsonObject } from "../../domain/Json.js"
import {
  CreateTrigger,
  ScheduleMode,
  ScheduleUnit,
  TriggerStatus,
  TriggerKind,
  UpdateTrigger
} from "../../domain/Trigger.js"
import { subscriptionStates } from "../../domain/TriggerView.js"
import { Audited, auditAction, auditRead, NoStore, Permit, Scoped, Shared } from "../Endpoint.js"
import { MadeEvent } from "../EventShapes.js"
import { AcceptedData, Data, listParams, NullableTime, Page, putPayload, strictPayload, Time } from "./Shapes.js"

const text = Schema.optional(Schema.String)
const nullableText = Schema.NullOr(Schema.String)

const Route = Schema.Struct({
  id: Schema.String,
  workflowId: Schema.String,
  environment: Schema.String,
  filter: Schema.NullOr(Condition),
  headers: Schema.Record({ key: Schema.String, value: Schema.String }),
  payload: Schema.NullOr(JsonObject)
}).annotations({ identifier: "TriggerRoute" })

const Webhook = Schema.Struct({
  id: Schema.String,
  url: Schema.String,
  auth: Schema.Literal("access_key", "public"),
  accessKeyPrefix: nullableText,
  executionMode: Schema.Literal("parallel", "sequential"),
  partitionKey: nullableText,
  deduplicationKey: nullableText,
  verify: Schema.NullOr(Schema.typeSchema(WebhookVerification)),
  respond: Schema.Literal("ack", "result"),
  bigIntegers: Schema.Literal("number", "text")
}).annotations({ identifier: "TriggerWebhook" })

const ScheduleView = Schema.Struct({
  mode: ScheduleMode,
  cron: nullableText,
  every: Schema.NullOr(Schema.Struct({ n: Schema.Number, unit: ScheduleUnit })),
  timezone: Schema.String,
  startsAt: NullableTime,
  runOnCreate: Schema.Boolean,
  delayMinutes: Schema.Number,
  overlap: Schema.Literal("skip", "queue", "allow"),
  catchUp: Schema.Literal("none", "one", "all")
}).annotations({ identifier: "TriggerSchedule" })

const AppEvent = Schema.Struct({
  connector: Schema.String,
  connectionId: nullableText,
  event: Schema.String,
  args: JsonObject,
  subscription: Schema.Literal(...subscriptionStates)
}).annotations({ identifier: "TriggerAppEvent" })

const AutoReplayView = Schema.Struct({ on: Schema.Array(ReplayCause), maxReplays: Schema.Number }).annotations({
  identifier: "AutoReplay"
})

const TriggerView = Schema.Struct({
  id: Schema.String,
  type: TriggerKind,
  name: Schema.String,
  description: Schema.String,
  customerId: nullableText,
  status: TriggerStatus,
  routes: Schema.Array(Route),
  delivery: Retry,
  autoReplay: Schema.NullOr(AutoReplayView).annotations({
    description: "null: the configuration value autoReplay applies"
  }),
  webhook: Schema.NullOr(Webhook),
  schedule: Schema.NullOr(ScheduleView),
  appEvent: Schema.NullOr(AppEvent),
  event: Schema.NullOr(Schema.Struct({ type: Schema.String })),
  stats: Schema.Struct({ lastFiredAt: NullableTime, nextFireAt: NullableTime, consecutiveFailures: Schema.Number }),
  createdBy: Schema.String,
  createdAt: Time,
  updatedAt: Time,
  version: Schema.Number
}).annotations({ identifier: "Trigger" })

const TriggerWithKey = Schema.Struct({
  ...TriggerView.fields,
  accessKey: nullableText.annotations({ description: "a new access key, which is shown only here; null: none" })
}).annotations({ identifier: "TriggerWithKey" })

const SavedTrigger = Schema.Struct({
  data: TriggerWithKey,
  warnings: Schema.optional(
    Schema.Array(Schema.Struct({ path: Schema.String, code: Schema.String, message: Schema.String }))
  ).annotations({ description: "What is valid, but does not do what it seems to; absent: nothing." })
})

const path = Schema.Struct({ trg: Schema.String })
/**
 * A key's scope applies to a trigger by all of its workflows and environments. The runs of a trigger reach every connection
 * and secret, so that it is closed to keys that are narrowed to some.
 */
const closed = { connection: "closed", connector: "closed", secret: "closed" } as const
const recordScope = { workflow: "record", environment: "record", ...closed } as const
const basePath = "/api/v1/triggers"

/** Triggers on surface C. */
export const TriggersApi = HttpApiGroup.make("triggers")
  .add(
    HttpApiEndpoint.get("list", basePath)
      .setUrlParams(
        Schema.Struct({
          ...listParams,
          customer_id: text,
          type: Schema.optional(TriggerKind),
          status: Schema.optional(TriggerStatus)
        })
      )
      .addSuccess(Page(TriggerView))
      .annotate(Permit, "workflows:read")
      .annotate(Audited, auditRead("trigger"))
      .annotate(Shared, "read")
      .annotate(Scoped, { workflow: "list", environment: "list", ...closed })
  )
  .add(
    HttpApiEndpoint.post("create", basePath)
      .setPayload(strictPayload(CreateTrigger))
      .addSuccess(SavedTrigger.annotations(HttpApiSchema.annotations({ status: 201 })))
      .annotate(Permit, "workflows:create")
      .annotate(Audited, auditAction("trigger.create"))
      .annotate(Shared, "perRecord")
      .annotate(NoStore, true)
      .annotate(Scoped, recordScope)
  )
  .add(
    HttpApiEndpoint.get("get", `${basePath}/:trg`)
      .setPath(path)
      .addSuccess(Data(TriggerView))
      .annotate(Permit, "workflows:read")
      .annotate(Audited, auditRead("trigger"))
      .annotate(Shared, "read")
      .annotate(Scoped, recordScope)
  )
  .add(
    HttpApiEndpoint.put("update", `${basePath}/:trg`)
      .setPath(path)
      .setPayload(putPayload(UpdateTrigger, TriggerWithKey))
      .addSuccess(SavedTrigger)
      .annotate(Permit, "workflows:update")
      .annotate(Audited, auditAction("trigger.update"))
      .annotate(Shared, "perRecord")
      .annotate(NoStore, true)
      .annotate(Scoped, recordScope)
  )
  .add(
    HttpApiEndpoint.del("delete", `${basePath}/:trg`)
      .setPath(path)
      .addSuccess(HttpApiSchema.NoContent)
      .annotate(Permit, "workflows:delete")
      .annotate(Audited, auditAction("trigger.delete"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, recordScope)
  )
  .add(
    HttpApiEndpoint.post("enable", `${basePath}/:trg/enable`)
      .setPath(path)
      .addSuccess(Data(TriggerView))
      .annotate(Permit, "workflows:update")
      .annotate(Audited, auditAction("trigger.enable"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, recordScope)
  )
  .add(
    HttpApiEndpoint.post("disable", `${basePath}/:trg/disable`)
      .setPath(path)
      .addSuccess(Data(TriggerView))
      .annotate(Permit, "workflows:update")
      .annotate(Audited, auditAction("trigger.disable"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, recordScope)
  )
  .add(
    HttpApiEndpoint.post("fire", `${basePath}/:trg/fire`)
      .setPath(path)
      .setPayload(strictPayload(FireTrigger))
      .addSuccess(AcceptedData(MadeEvent))
      .annotate(Permit, "workflows:execute")
      .annotate(Audited, auditAction("trigger.fire"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, recordScope)
  )
  .add(
    HttpApiEndpoint.post("retrySubscription", `${basePath}/:trg/retry-subscription`)
      .setPath(path)
      .addSuccess(Data(TriggerView))
      .annotate(Permit, "workflows:update")
      .annotate(Audited, auditAction("trigger.retry_subscription"))
      .annotate(Shared, "perRecord")
      .annotate(Scoped, recordScope)
  )
  .add(
    HttpApiEndpoint.post("rotateKey", `${basePath}/:trg/rotate-key`)
      .setPath(path)
      .addSuccess(Data(TriggerWithKey))
      .annotate(Permit, "workflows:update")
      .annotate(Audited, auditAction("trigger.rotate_key"))
      .annotate(Shared, "perRecord")
      .annotate(NoStore, true)
      .annotate(Scoped, recordScope)
  )
