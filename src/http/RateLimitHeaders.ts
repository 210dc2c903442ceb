/** The `x-ratelimit-*` headers of every reply. Specification: Rate limiting. */
import type { Admission } from "../actors/ports/organisation/RateLimits.js"
import type { Failure } from "../domain/Failure.js"

type Headers = { readonly [name: string]: string }

/** The limit in the headers of a caller that has none. */
const unlimited = 1_000_000
const minuteMillis = 60_000

const headersOf = ({ limit, remaining, resetAt }: Admission): Headers => ({
  "x-ratelimit-limit": String(limit),
  "x-ratelimit-remaining": String(remaining),
  "x-ratelimit-reset": String(resetAt)
})

/** `null`: the caller has no limit, or is not yet authenticated. `now`: Unix milliseconds. */
export const rateLimitHeaders = (admission: Admission | null, now: number): Headers =>
  headersOf(
    admission ?? {
      limit: unlimited,
      remaining: unlimited,
      resetAt: (Math.floor(now / minuteMillis) + 1) * (minuteMillis / 1000)
    }
  )

/** The headers of a failed request: a rate-limited one has no calls left. */
export const failureRateLimitHeaders = (
  failure: Failure | undefined,
  admission: Admission | null,
  now: number
): Headers =>
  failure?._tag === "RateLimited"
    ? headersOf({ limit: failure.limit, remaining: 0, resetAt: failure.resetAt })
    : rateLimitHeaders(admission, now)
