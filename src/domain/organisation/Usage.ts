/** How much of its quotas an organisation or a customer uses. Contract: quota. */
import { Schema } from "effect"
import { AnsweredTime } from "../Time.js"
import { type Dimension, dimensions } from "./Plan.js"

/** Totals of one UTC day, such as `2026-11-21`. */
export const UsageDay = Schema.Struct({
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
export type UsageDay = typeof UsageDay.Type

/** The dimensions of which days have totals, and the totals. */
const dailyTotals = {
  events_per_day: ({ events }: UsageDay) => events,
  api_calls_per_minute: ({ apiCalls }: UsageDay) => apiCalls,
  agent_sessions_per_day: ({ agentSessions }: UsageDay) => agentSessions,
  llm_tokens_per_day: ({ llmTokens }: UsageDay) => llmTokens
} as const

/** The dimensions of which there is a total for each day. */
export const DailyDimension = Schema.Literal(
  "events_per_day",
  "api_calls_per_minute",
  "agent_sessions_per_day",
  "llm_tokens_per_day"
)
export type DailyDimension = typeof DailyDimension.Type

/** Whether anything of the dimension was used on the day. */
export const isUsedOn = (day: UsageDay, dimension: DailyDimension): boolean => dailyTotals[dimension](day) > 0

const windowMillis = { minute: 60_000, day: 86_400_000, total: null } as const

/** The use of one quota. `resetAt`: null for a window that does not end. */
export const QuotaUse = Schema.Struct({
  dimension: Schema.String,
  scope: Schema.Literal("organisation", "customer"),
  used: Schema.Number,
  limit: Schema.NullOr(Schema.Number).annotations({ description: "null: unlimited" }),
  remaining: Schema.NullOr(Schema.Number),
  window: Schema.Literal("minute", "day", "total"),
  resetAt: Schema.NullOr(AnsweredTime)
}).annotations({ identifier: "QuotaUse" })
export type QuotaUse = typeof QuotaUse.Type

/** The start of the current window in Unix milliseconds. */
export const windowStart = (window: "minute" | "day", now: number): number => now - (now % windowMillis[window])

/** The use of a quota, from what is used and the limit. `now`: Unix milliseconds. */
export const quotaUse = (
  dimension: Dimension,
  scope: QuotaUse["scope"],
  used: number,
  limit: number | null,
  now: number
): QuotaUse => {
  const { window } = dimensions[dimension]
  const millis = windowMillis[window]
  return {
    dimension,
    scope,
    used,
    limit,
    remaining: limit === null ? null : Math.max(0, limit - used),
    window,
    resetAt: millis === null ? null : new Date(now - (now % millis) + millis).toISOString()
  }
}

/** Used parts of limits, in per cent. */
const percentOf = ({ limit, used }: QuotaUse): number =>
  limit === null ? 0 : limit === 0 ? 100 : Math.floor((used / limit) * 100)

/** The quota that is closest to its limit; `null` if none is limited. */
export const highestUse = (uses: ReadonlyArray<QuotaUse>) =>
  uses
    .filter(({ limit }) => limit !== null)
    .map((use) => ({ dimension: use.dimension, percent: percentOf(use) }))
    .reduce<{ readonly dimension: string; readonly percent: number } | null>(
      (most, one) => (most === null || one.percent > most.percent ? one : most),
      null
    )

/** The state of all quotas, from the highest part in per cent. */
export const statusOf = (percent: number): "ok" | "warning" | "exceeded" =>
  percent >= 100 ? "exceeded" : percent >= 80 ? "warning" : "ok"
