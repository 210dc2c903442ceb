/**
 * Decides when a delivery to an external endpoint is retried, delivered or exhausted.
 * Deliveries are made at least once; the receiver recognises repetitions by the delivery's id. Contract: callback.
 */
import { Duration } from "effect"
import type { DeliveryId, ExecutionId, OrganisationId, SpaceId, WebhookEndpointId } from "../Ids.js"
import { parseHttpDate } from "../Time.js"

/**
 * `callback`: the end of a run, for its caller. `outbound`: an event, for an endpoint of the organisation. `notification`:
 * for people, by a URL that the configuration names.
 */
export type DeliveryKind = "callback" | "outbound" | "notification"

/** The endpoint of an event, with its sealed secrets. `secretBefore`: `null` after the overlap of a rotation. */
export interface DeliveryEndpoint {
  readonly id: WebhookEndpointId
  readonly secret: Uint8Array
  readonly secretBefore: Uint8Array | null
}

/** A message for an external endpoint. */
export interface Delivery {
  readonly id: DeliveryId
  readonly organisationId: OrganisationId
  /** The workspace whose secret signs it; `null` if its endpoint has a secret of its own. */
  readonly spaceId: SpaceId | null
  readonly kind: DeliveryKind
  readonly endpoint: DeliveryEndpoint | null
  /** The endpoint's present URL, if it has an endpoint; `mailto:` and an address for an e-mail. */
  readonly url: string
  readonly executionId: ExecutionId | null
  /** The body, exactly as it is signed and sent. */
  readonly payload: string
  /** The number of the attempt, from 1. */
  readonly attempt: number
  /** The same since the delivery was last sent again by a person: its place on the schedule. */
  readonly scheduledAttempt: number
}

/** The outcome of one attempt. */
export type AttemptResult =
  | { readonly _tag: "Answered"; readonly status: number; readonly retryAfter: string | undefined }
  /** No answer in time, or not valid HTTP. */
  | { readonly _tag: "Unanswered"; readonly reason: string }
  /** The endpoint's address is not allowed; a retry would not help. */
  | { readonly _tag: "Refused"; readonly reason: string }

/** What follows from an attempt. `status`: the HTTP status, if there was an answer. */
export type Verdict =
  | { readonly _tag: "Delivered"; readonly status: number }
  | {
      readonly _tag: "Retry"
      readonly after: Duration.Duration
      readonly status: number | null
      readonly reason: string
    }
  /** No further attempt; the payload is kept as a dead letter. */
  | { readonly _tag: "Exhausted"; readonly status: number | null; readonly reason: string }

/** The pause after each failed attempt; the first attempt is made at once. */
export const retrySchedule: ReadonlyArray<Duration.Duration> = [
  Duration.seconds(5),
  Duration.minutes(5),
  Duration.minutes(30),
  Duration.hours(2),
  Duration.hours(5),
  Duration.hours(10),
  Duration.hours(10)
]

/** Whether an endpoint has answered that it no longer exists. */
export const isGone = (verdict: Verdict): boolean => verdict._tag === "Exhausted" && verdict.status === gone

/** The HTTP status of an endpoint that no longer exists. */
const gone = 410

/** How long an endpoint may take to answer. */
export const deliveryTimeout = Duration.seconds(15)

/** The longest `retry-after` that is followed. */
export const maxRetryAfter = Duration.hours(24)

/** The verdict on an attempt. `now`: Unix milliseconds. `pauses`: replaces the contract's schedule in tests. */
export const decide = (attempt: number, answer: AttemptResult, now: number, pauses = retrySchedule): Verdict => {
  switch (answer._tag) {
    case "Refused":
      return { _tag: "Exhausted", status: null, reason: answer.reason }
    case "Unanswered":
      return retryOrExhaust(attempt, null, answer.reason, Duration.zero, pauses)
    case "Answered": {
      const { status } = answer
      if (status >= 200 && status < 300) return { _tag: "Delivered", status }
      if (status === gone)
        return { _tag: "Exhausted", status, reason: "the endpoint answered 410: it no longer exists" }
      const redirect = status >= 300 && status < 400 ? "; redirects are not followed" : ""
      return retryOrExhaust(
        attempt,
        status,
        `the endpoint answered ${status}${redirect}`,
        requestedPause(answer, now),
        pauses
      )
    }
  }
}

/** An endpoint can lengthen a pause but not shorten it, which would use up the attempts. */
const retryOrExhaust = (
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

const retryAfterStatuses: ReadonlySet<number> = new Set([429, 503])

const requestedPause = ({ retryAfter, status }: AttemptResult & { readonly _tag: "Answered" }, now: number) =>
  retryAfter !== undefined && retryAfterStatuses.has(status)
    ? Duration.min(parseRetryAfter(retryAfter, now), maxRetryAfter)
    : Duration.zero

/** The pause of a `Retry-After` header: seconds or an HTTP date; zero for other text. `now`: Unix milliseconds. */
export const parseRetryAfter = (value: string, now: number): Duration.Duration => {
  const text = value.trim()
  if (/^\d{1,9}$/.test(text)) return Duration.seconds(Number(text))
  const at = parseHttpDate(text)
  return at === undefined ? Duration.zero : Duration.millis(Math.max(0, at - now))
}
