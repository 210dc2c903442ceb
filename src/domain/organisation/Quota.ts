/** The ceiling of a customer in each dimension of the contract. Specification: Plan limits. */
import type { Customer } from "./Customer.js"
import { type Plan, plans } from "./Plan.js"

/** The member of a plan for each dimension. */
const planCeilings = {
  events_per_day: (plan: Plan) => plan.eventsPerDay,
  active_integrations: (plan: Plan) => plan.activeIntegrations,
  flows_per_tenant: (plan: Plan) => plan.flowsPerTenant,
  api_calls_per_minute: (plan: Plan) => plan.apiCallsPerMinute,
  agent_sessions_per_day: (plan: Plan) => plan.agentSessionsPerDay,
  llm_tokens_per_day: (plan: Plan) => plan.llmTokensPerDay,
  connectors_per_tenant: (plan: Plan) => plan.connectorsPerTenant,
  storage_mb: (plan: Plan) => plan.storageMb,
  api_keys_per_customer: (plan: Plan) => plan.apiKeysPerCustomer,
  triggers: (plan: Plan) => plan.triggers
} as const

/** A limited quantity, by its name in the contract. */
export type Dimension = keyof typeof planCeilings

/** The ceiling of a plan; `null`: none. */
export const planCeiling = (plan: Plan, dimension: Dimension): number | null => planCeilings[dimension](plan)

/**
 * The customer's ceiling: its own limit, or else that of its plan; `null`: none. The organisation's plan limits all
 * customers together and applies in addition.
 */
export const customerCeiling = (
  { limits, plan }: Pick<Customer, "limits" | "plan">,
  dimension: Dimension
): number | null => {
  const own = limits[dimension]
  if (own !== undefined) return own
  return plan === null ? null : planCeilings[dimension](plans[plan])
}
