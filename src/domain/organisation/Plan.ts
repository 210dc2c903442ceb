/** The limits of each plan. Specification: Plan limits. */
import { Schema } from "effect"

/** From the smallest limits to none. */
export const PlanName = Schema.Literal("starter", "growth", "enterprise", "unlimited")
export type PlanName = typeof PlanName.Type

/** The limits of one plan; `null`: unlimited. */
export interface Plan {
  readonly eventsPerDay: number | null
  readonly activeIntegrations: number | null
  readonly flowsPerTenant: number | null
  readonly apiCallsPerMinute: number | null
  readonly agentSessionsPerDay: number | null
  readonly llmTokensPerDay: number | null
  readonly connectorsPerTenant: number | null
  readonly storageMb: number | null
  readonly apiKeysPerCustomer: number | null
  /** Triggers that are not deleted. */
  readonly triggers: number | null
  /** Messages of notifications that leave the application. */
  readonly messagesPerHour: number | null
  readonly organisationKeys: number | null
  /** Runs in flight at once. */
  readonly concurrentRuns: number | null
  /** Days for which a finished execution is kept. */
  readonly retentionDays: 7 | 30 | 365
}

/** By the name of the plan. */
export const plans: Record<PlanName, Plan> = {
  starter: {
    eventsPerDay: 1_000,
    activeIntegrations: 5,
    flowsPerTenant: 10,
    apiCallsPerMinute: 60,
    agentSessionsPerDay: 10,
    llmTokensPerDay: 100_000,
    connectorsPerTenant: 3,
    storageMb: 100,
    apiKeysPerCustomer: 5,
    triggers: 50,
    messagesPerHour: 50,
    organisationKeys: 10,
    concurrentRuns: 10,
    retentionDays: 7
  },
  growth: {
    eventsPerDay: 50_000,
    activeIntegrations: 50,
    flowsPerTenant: 100,
    apiCallsPerMinute: 600,
    agentSessionsPerDay: 100,
    llmTokensPerDay: 1_000_000,
    connectorsPerTenant: 20,
    storageMb: 1_000,
    apiKeysPerCustomer: 25,
    triggers: 500,
    messagesPerHour: 500,
    organisationKeys: 50,
    concurrentRuns: 100,
    retentionDays: 30
  },
  enterprise: {
    eventsPerDay: null,
    activeIntegrations: null,
    flowsPerTenant: null,
    apiCallsPerMinute: 6_000,
    agentSessionsPerDay: null,
    llmTokensPerDay: 10_000_000,
    connectorsPerTenant: null,
    storageMb: 10_000,
    apiKeysPerCustomer: 100,
    triggers: 5_000,
    messagesPerHour: 5_000,
    organisationKeys: null,
    concurrentRuns: 1_000,
    retentionDays: 365
  },
  /** The default plan of self-hosted installations. */
  unlimited: {
    eventsPerDay: null,
    activeIntegrations: null,
    flowsPerTenant: null,
    apiCallsPerMinute: null,
    agentSessionsPerDay: null,
    llmTokensPerDay: null,
    connectorsPerTenant: null,
    storageMb: null,
    apiKeysPerCustomer: null,
    triggers: null,
    messagesPerHour: null,
    organisationKeys: null,
    concurrentRuns: null,
    retentionDays: 365
  }
}
