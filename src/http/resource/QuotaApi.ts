/** The endpoints of quotas. Contract: quota. */
import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { PlanName } from "../../domain/Plan.js"
import { DailyDimension } from "../../domain/Usage.js"
import { Audited, auditRead, Permit, Scoped, Shared } from "../Endpoint.js"
import { closedToNarrowedKeys } from "./ClosedScope.js"
import { Data, listParams, NullableTime, Time } from "./Shapes.js"

const QuotaUse = Schema.Struct({
  dimension: Schema.String,
  scope: Schema.Literal("organisation", "customer"),
  used: Schema.Number,
  limit: Schema.NullOr(Schema.Number).annotations({ description: "null: unlimited" }),
  remaining: Schema.NullOr(Schema.Number),
  window: Schema.Literal("minute", "day", "total"),
  resetAt: NullableTime
}).annotations({ identifier: "QuotaUse" })

const QuotaSummary = Schema.Struct({
  plan: PlanName,
  status: Schema.Literal("ok", "warning", "exceeded"),
  highest: Schema.NullOr(Schema.Struct({ dimension: Schema.String, percent: Schema.Number })).annotations({
    description: "the quota that is closest to its limit; null: none is limited"
  }),
  period: Schema.Struct({ from: Time, to: Time }),
  byCustomer: Schema.Array(Schema.Struct({ customerId: Schema.String, used: Schema.Number })).annotations({
    description: "the 20 customers with a limit of their own that have used the most events of the day"
  })
}).annotations({ identifier: "QuotaSummary" })

const UsageDay = Schema.Struct({
  date: Schema.String,
  events: Schema.Number.annotations({
    description:
      "what counts against events_per_day: accepted events from outside, ticks by their routes, replays that a request asks for, and starts through the API"
  }),
  apiCalls: Schema.Number,
  executions: Schema.Number,
  agentSessions: Schema.Number,
  llmTokens: Schema.Number
}).annotations({ identifier: "UsageDay" })

const { from, to } = listParams

/** Quotas on surface C. */
export const QuotaApi = HttpApiGroup.make("quota")
  .add(
    HttpApiEndpoint.get("usage", "/api/v1/quota/usage")
      .setUrlParams(Schema.Struct({ customer_id: Schema.optional(Schema.String) }))
      .addSuccess(Data(Schema.Array(QuotaUse)))
      .annotate(Permit, "settings:read")
      .annotate(Audited, auditRead("quota"))
      .annotate(Shared, "customers")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.get("summary", "/api/v1/quota/summary")
      .addSuccess(Data(QuotaSummary))
      .annotate(Permit, "settings:read")
      .annotate(Audited, auditRead("quota"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
  )
  .add(
    HttpApiEndpoint.get("daily", "/api/v1/quota/daily")
      .setUrlParams(Schema.Struct({ from, to, dimension: Schema.optional(DailyDimension) }))
      .addSuccess(Data(Schema.Array(UsageDay)))
      .annotate(Permit, "settings:read")
      .annotate(Audited, auditRead("quota"))
      .annotate(Shared, "hidden")
      .annotate(Scoped, closedToNarrowedKeys)
  )
