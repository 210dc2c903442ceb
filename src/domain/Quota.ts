/** What plans bound, by the dimensions of the contract, and the ceilings of one customer. Specification: Plan limits. */
import type { Customer } from "./Customer.js"
import { type Plan, plans } from "./Plan.js"

/** How a plan says each dimension. */
const planCeilings = {
  events_per_day: (plan: Plan) => plan.eventsPerDay,
  active_integrations: (plan: Plan) => plan.activeIntegrations,
  flows_per_tenant: (plan: Plan) => plan.flowsPerTenant,
  api_calls_per_minute: (plan: Plan) => plan.apiCallsPerMinute,
  agent_sessions_per_day: (plan: Plan) => plan.agentSessionsPerDay,
  llm_tokens_per_day: (plan: Plan) => plan.llmTokensPerDay,
  connectors_per_tenant: (plan: Plan) => plan.connectorsPerTenant,
  storage_mb: (plan: Plan) => plan.storageMb,
  api_keys_per_customer: (plan: Plan) => plan.apiKeysPerCustomer
} as const

export type Dimension = keyof typeof planCeilings

/**
 * The ceiling of a customer: its own limit, else that of its own plan; `null`: none. It bounds what is the customer's,
 * within the organisation's plan, which bounds all customers together: a customer's ceiling never raises that.
 */
export const customerCeiling = (
  { limits, plan }: Pick<Customer, "limits" | "plan">,
  dimension: Dimension
): number | null => {
  const own = limits[dimension]
  if (own !== undefined) return own
  return plan === null ? null : planCeilings[dimension](plans[plan])
}
