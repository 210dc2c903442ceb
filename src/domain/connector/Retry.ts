/** Whether and when a failed call is tried again. Pure: chance is given. */
import type { RetryRule } from "./Definition.js"
import type { ProviderFailure } from "./ProviderAnswer.js"

/**
 * The pause in milliseconds before the next attempt; null: no more. `attempt`: how many were made, from 1.
 * `random`: in [0, 1). What the provider asks for (`Retry-After`) is the least; failures of the credential, of the
 * request itself and of time are the caller's to judge and are tried again only where the rule names them.
 */
export const retryPause = (
  rule: RetryRule,
  attempt: number,
  failure: ProviderFailure,
  random: number
): number | null => {
  if (attempt >= rule.maxAttempts || !isRetried(rule, failure)) return null
  const grown =
    rule.backoff === "fixed"
      ? rule.initialMs
      : rule.backoff === "linear"
        ? rule.initialMs * attempt
        : rule.initialMs * rule.coefficient ** (attempt - 1)
  const spread = 1 + rule.jitter * (2 * random - 1)
  const pause = Math.round(Math.min(grown * spread, rule.maxMs))
  return Math.max(pause, failure.retryAfterMillis ?? 0)
}

/** Whether the provider refused for its limit: with 429, or with a 403 that told of one. */
export const isLimitRefusal = ({ category, status }: ProviderFailure): boolean =>
  category === "transient" && (status === 429 || status === 403)

/** Whether a later try may succeed, as far as the status tells. */
export const isTransient = (status: number): boolean =>
  status === 408 || status === 425 || status === 429 || status >= 500

const isRetried = (rule: RetryRule, failure: ProviderFailure): boolean => {
  if (failure.category === "timeout") return rule.on.includes("timeout")
  if (failure.status === null) return failure.category === "transient" && rule.on.includes("network")
  // A success status with a transient error inside has no number to be named by.
  if (failure.status < 400) return failure.category === "transient"
  // Its code says that no later try will do better.
  if (failure.category === "provider" && isTransient(failure.status)) return false
  return rule.on.includes(isLimitRefusal(failure) ? 429 : failure.status)
}
