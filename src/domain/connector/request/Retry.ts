/** Decides whether and when a failed call is retried. Pure. */
import type { RetryRule } from "../Definition.js"
import type { ProviderFailure } from "./ProviderAnswer.js"

/**
 * The pause before the next attempt in milliseconds, at least the provider's `Retry-After`; null: no retry. `attempt`: the
 * number of attempts made. `random`: from [0, 1), for the jitter. Failures of the credential, of the request and timeouts
 * are retried only if the rule names them.
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

/** Whether the provider refused because of its rate limit: by 429, or by a 403 with a limit. */
export const isLimitRefusal = ({ category, status }: ProviderFailure): boolean =>
  category === "transient" && (status === 429 || status === 403)

/** Whether a retry may succeed, by the status. */
export const isTransient = (status: number): boolean =>
  status === 408 || status === 425 || status === 429 || status >= 500

const isRetried = (rule: RetryRule, failure: ProviderFailure): boolean => {
  if (failure.category === "timeout") return rule.on.includes("timeout")
  if (failure.status === null) return failure.category === "transient" && rule.on.includes("network")
  // A transient error inside a success has no status that a rule could name.
  if (failure.status < 400) return failure.category === "transient"
  // Its code is one of `finalCodes`.
  if (failure.category === "provider" && isTransient(failure.status)) return false
  return rule.on.includes(isLimitRefusal(failure) ? 429 : failure.status)
}
