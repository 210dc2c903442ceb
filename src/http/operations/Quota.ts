/** The operations on quotas. Contract: quota. */
import { Schema } from "effect"
import { DailyDimension, QuotaUse, UsageDay } from "../../domain/organisation/Usage.js"
import { operationsOf } from "../operation/Operation.js"
import { closedToNarrowedKeys } from "../ClosedScope.js"
import { listParams } from "../../actors/management/Pages.js"
import { Quotas, QuotaSummary } from "../../actors/management/organisation/Quotas.js"
import { record } from "../operation/Output.js"

const { from, to } = listParams

const ofQuotas = operationsOf({
  with: Quotas,
  resource: "quota",
  sharing: "hidden",
  scoped: closedToNarrowedKeys,
  permit: "settings:read"
})

/** The operations of the group `quota`, in the order of the documents. */
export const quotaOperations = [
  ofQuotas({
    name: "quota.usage",
    summary: "Read the use of quotas",
    description: "Lists what the organisation, or one customer, uses of each limit.",
    answers: { 200: "The use of each quota." },
    route: "GET /api/v1/quota/usage",
    query: Schema.Struct({ customer_id: Schema.optional(Schema.String) }),
    output: record(Schema.Array(QuotaUse)),
    sharing: "customers",
    use: (quotas, { context, query }) => quotas.usage(context, query)
  }),
  ofQuotas({
    name: "quota.summary",
    summary: "Read a summary of quotas",
    description: "Tells how close the organisation is to its limits.",
    answers: { 200: "The summary." },
    route: "GET /api/v1/quota/summary",
    output: record(QuotaSummary),
    use: (quotas, { context }) => quotas.summary(context)
  }),
  ofQuotas({
    name: "quota.daily",
    summary: "List the use of days",
    description:
      "Lists the totals of UTC days, of at most 92 days; without a range of the last 30. Events and executions are counted every hour. With a dimension, lists the days on which it was used.",
    answers: { 200: "Days with any use, the earliest first." },
    parameters: { dimension: "Only the days on which this was used." },
    route: "GET /api/v1/quota/daily",
    query: Schema.Struct({ from, to, dimension: Schema.optional(DailyDimension) }),
    output: record(Schema.Array(UsageDay)),
    use: (quotas, { context, query }) => quotas.daily(context, query)
  })
] as const
