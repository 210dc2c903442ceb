/** The limits of each plan. Specification: Plan limits. */
import { Record as Records, Schema } from "effect"

/** From the smallest limits to none. */
export const PlanName = Schema.Literal("starter", "growth", "enterprise", "unlimited")
export type PlanName = typeof PlanName.Type

/** By plan, from `starter` to `unlimited`, the default of self-hosted installations; `null`: unlimited. */
const limits = {
  eventsPerDay: [1_000, 50_000, null, null],
  activeIntegrations: [5, 50, null, null],
  flowsPerTenant: [10, 100, null, null],
  apiCallsPerMinute: [60, 600, 6_000, null],
  agentSessionsPerDay: [10, 100, null, null],
  llmTokensPerDay: [100_000, 1_000_000, 10_000_000, null],
  connectorsPerTenant: [3, 20, null, null],
  storageMb: [100, 1_000, 10_000, null],
  apiKeysPerCustomer: [5, 25, 100, null],
  /** Triggers that are not deleted. */
  triggers: [50, 500, 5_000, null],
  /** Messages of notifications that leave the application. */
  messagesPerHour: [50, 500, 5_000, null],
  organisationKeys: [10, 50, null, null],
  /** Runs in flight at once. */
  concurrentRuns: [10, 100, 1_000, null]
} satisfies { readonly [limit: string]: ReadonlyArray<number | null> }

/** The limits of one plan; `null`: unlimited. */
export type Plan = { readonly [Limit in keyof typeof limits]: number | null } & {
  /** Days for which a finished execution is kept. */
  readonly retentionDays: 7 | 30 | 365
}

const planOf = (place: 0 | 1 | 2 | 3, retentionDays: Plan["retentionDays"]): Plan => ({
  ...Records.map(limits, (byPlan) => byPlan[place] ?? null),
  retentionDays
})

/** By the name of the plan. */
export const plans: Record<PlanName, Plan> = {
  starter: planOf(0, 7),
  growth: planOf(1, 30),
  enterprise: planOf(2, 365),
  unlimited: planOf(3, 365)
}

/** The limited quantities of the contract: the limit of each, and the window in which it is counted. */
export const dimensions = {
  events_per_day: { limit: "eventsPerDay", window: "day" },
  active_integrations: { limit: "activeIntegrations", window: "total" },
  flows_per_tenant: { limit: "flowsPerTenant", window: "total" },
  api_calls_per_minute: { limit: "apiCallsPerMinute", window: "minute" },
  agent_sessions_per_day: { limit: "agentSessionsPerDay", window: "day" },
  llm_tokens_per_day: { limit: "llmTokensPerDay", window: "day" },
  connectors_per_tenant: { limit: "connectorsPerTenant", window: "total" },
  storage_mb: { limit: "storageMb", window: "total" },
  api_keys_per_customer: { limit: "apiKeysPerCustomer", window: "total" },
  triggers: { limit: "triggers", window: "total" }
} as const satisfies {
  readonly [name: string]: { readonly limit: keyof typeof limits; readonly window: "minute" | "day" | "total" }
}

/** A limited quantity, by its name in the contract. */
export type Dimension = keyof typeof dimensions

/** The ceiling of a plan; `null`: none. */
export const planCeiling = (plan: Plan, dimension: Dimension): number | null => plan[dimensions[dimension].limit]
