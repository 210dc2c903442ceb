/**
 * A message that must reach an endpoint outside: when it is tried, and what an answer to it means.
 * At least once; the receiver tells repetitions by the delivery's id. Contract: callback.
 */
import { Duration } from "effect"
import type { DeliveryId, ExecutionId, OrganisationId, SpaceId } from "./Ids.js"

export interface Delivery {
  readonly id: DeliveryId
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly kind: "callback"
  readonly url: string
  readonly executionId: ExecutionId | null
  /** The body, exactly as it is signed and sent. */
  readonly payload: string
  /** Which attempt this is; 1 is the first. */
  readonly attempt: number
}

/** What came of one attempt. */
export type AttemptResult =
  | { readonly _tag: "Answered"; readonly status: number; readonly retryAfter: string | undefined }
  /** Nobody answered in time, or not properly. */
  | { readonly _tag: "Unanswered"; readonly reason: string }
  /** It may not be sent, and that does not change by itself. */
  | { readonly _tag: "Refused"; readonly reason: string }

/** What follows from it. `status`: the HTTP status, where there was one. */
export type Verdict =
  | { readonly _tag: "Delivered"; readonly status: number }
  | {
      readonly _tag: "Retry"
      readonly after: Duration.Duration
      readonly status: number | null
      readonly reason: string
    }
  /** It is not tried again; the payload is kept. */
  | { readonly _tag: "Exhausted"; readonly status: number | null; readonly reason: string }

/** The first attempt is made at once; these are the pauses after each one that fails. */
export const schedule: ReadonlyArray<Duration.Duration> = [
  Duration.seconds(5),
  Duration.minutes(5),
  Duration.minutes(30),
  Duration.hours(2),
  Duration.hours(5),
  Duration.hours(10),
  Duration.hours(10)
]

/** How long an endpoint may take to answer. */
export const answerTimeout = Duration.seconds(15)

/** The furthest that an endpoint can put off its next attempt. */
export const longestRetryAfter = Duration.hours(24)

/** How many deliveries are under way to one endpoint, and from one node, at most. */
export const inFlight = { perEndpoint: 2, perNode: 64 } as const

/** What counts as one endpoint: the URL without query and fragment. */
export const endpointOf = (url: string): string => {
  const cut = url.search(/[?#]/)
  return cut < 0 ? url : url.slice(0, cut)
}

/** `now`: Unix milliseconds. `pauses`: another schedule than the contract's. */
export const decide = (attempt: number, answer: AttemptResult, now: number, pauses = schedule): Verdict => {
  switch (answer._tag) {
    case "Refused":
      return { _tag: "Exhausted", status: null, reason: answer.reason }
    case "Unanswered":
      return failed(attempt, null, answer.reason, Duration.zero, pauses)
    case "Answered": {
      const { status } = answer
      if (status >= 200 && status < 300) return { _tag: "Delivered", status }
      if (status === 410) return { _tag: "Exhausted", status, reason: "the endpoint answered 410: it is gone for good" }
      const redirect = status >= 300 && status < 400 ? "; redirects are not followed" : ""
      return failed(attempt, status, `the endpoint answered ${status}${redirect}`, putOff(answer, now), pauses)
    }
  }
}

/** An endpoint may ask for more patience than the schedule has, never for less: it would use the attempts up. */
const failed = (
  attempt: number,
  status: number | null,
  reason: string,
  atLeast: Duration.Duration,
  pauses: ReadonlyArray<Duration.Duration>
): Verdict => {
  const pause = pauses[attempt - 1]
  return pause === undefined
    ? { _tag: "Exhausted", status, reason }
    : { _tag: "Retry", after: Duration.max(pause, atLeast), status, reason }
}

const saysWhen: ReadonlySet<number> = new Set([429, 503])

const putOff = (
  { retryAfter, status }: AttemptResult & { readonly _tag: "Answered" },
  now: number
): Duration.Duration =>
  retryAfter !== undefined && saysWhen.has(status)
    ? Duration.min(parseRetryAfter(retryAfter, now), longestRetryAfter)
    : Duration.zero

/** Both forms of `Retry-After`: seconds, or a date of HTTP. What is neither asks for nothing. */
export const parseRetryAfter = (value: string, now: number): Duration.Duration => {
  const text = value.trim()
  if (/^\d{1,9}$/.test(text)) return Duration.seconds(Number(text))
  const at = httpDate.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(at) ? Duration.zero : Duration.millis(Math.max(0, at - now))
}

/** `Date.parse` alone would take almost anything, a bare year for one. */
const httpDate = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d{2}:\d{2}:\d{2}/
