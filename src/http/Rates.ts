/** What every answer tells of the caller's minute. Specification: Rate limiting. */
import type { Admission } from "../actors/ports/RateLimits.js"
import type { Failure } from "../domain/Failure.js"

type RateHeaders = { readonly [name: string]: string }

/** What a caller without any ceiling is told. */
const unlimited = 1_000_000
const minuteMillis = 60_000

const headersOf = ({ limit, remaining, resetAt }: Admission): RateHeaders => ({
  "x-ratelimit-limit": String(limit),
  "x-ratelimit-remaining": String(remaining),
  "x-ratelimit-reset": String(resetAt)
})

/** `null`: nothing limits the caller, or nobody knows yet who it is. `now`: Unix milliseconds. */
export const rateHeaders = (admission: Admission | null, now: number): RateHeaders =>
  headersOf(
    admission ?? {
      limit: unlimited,
      remaining: unlimited,
      resetAt: (Math.floor(now / minuteMillis) + 1) * (minuteMillis / 1000)
    }
  )

/** What a refusal tells: a refused call has none left. */
export const refusedHeaders = (failure: Failure | undefined, admission: Admission | null, now: number): RateHeaders =>
  failure?._tag === "RateLimited"
    ? headersOf({ limit: failure.limit, remaining: 0, resetAt: failure.resetAt })
    : rateHeaders(admission, now)
