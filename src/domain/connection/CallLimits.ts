/**
 * The limits that a connector declares of its provider, and the quota in the provider's headers. Times are Unix
 * milliseconds. Contract: connector definition, `rateLimit`.
 */
import { Schema } from "effect"
import { longestProviderBlockMillis } from "../Limits.js"

const nullable = Schema.NullOr(Schema.Number)

/** The limits of a provider; `null`: no such limit. */
export const CallLimits = Schema.Struct({ requests: nullable, perMillis: Schema.Number, concurrency: nullable })
export type CallLimits = typeof CallLimits.Type

/** No limits. */
export const unlimited: CallLimits = { requests: null, perMillis: 1_000, concurrency: null }

/** Whether there is anything to count. */
export const hasLimits = ({ concurrency, requests }: CallLimits): boolean => requests !== null || concurrency !== null

/** The provider's quota by the headers of an answer; `null`: not in the headers. It refuses requests before `retryAfterAt`. */
export const ProviderQuota = Schema.Struct({
  limit: nullable,
  remaining: nullable,
  resetAt: nullable,
  retryAfterAt: nullable
})
export type ProviderQuota = typeof ProviderQuota.Type

/** The time until which the provider refuses calls, after the quota in an answer. */
export const nextBlockedUntil = (until: number, reading: ProviderQuota | null, now: number): number => {
  if (reading === null) return until
  const exhausted = reading.remaining !== null && reading.remaining <= 0 ? (reading.resetAt ?? 0) : 0
  return Math.min(Math.max(until, reading.retryAfterAt ?? 0, exhausted), now + longestProviderBlockMillis)
}
