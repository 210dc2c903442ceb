/**
 * The error table of surfaces A and C: one row for each failure, one body shape for all. Contract: errors.
 * A failure that is not in this table is answered as `INTERNAL_ERROR` and logged as a defect.
 */
import type { Detail, Failure } from "../domain/Failure.js"
import type { Json } from "../domain/Json.js"
import type { MembersOf } from "./ErrorMembers.js"
import { jsonReply, type RawReply } from "./Wire.js"

/** The body of every error reply. */
export interface ErrorBody {
  readonly code: string
  readonly statusCode: number
  readonly message: string
  readonly requestId: string
  readonly retryable: boolean
  readonly details: ReadonlyArray<Detail>
  readonly [more: string]: unknown
}

interface Row {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly details?: ReadonlyArray<Detail>
  readonly more?: { readonly [member: string]: Json }
  readonly retryAfterSeconds?: number
}

/** The row of each failure. `now`: Unix milliseconds. */
type Rows = {
  readonly [Tag in Failure["_tag"]]: (
    failure: Extract<Failure, { readonly _tag: Tag }>,
    now: number
  ) => Row & MembersOf<Tag>
}

const secondsUntil = (unixSeconds: number, nowMillis: number) => Math.max(1, Math.ceil(unixSeconds - nowMillis / 1000))

/** How a message names an account. */
const ofAccount = "this organisation and those that share its plan"

const rows: Rows = {
  InvalidRequest: ({ code, details, message }) => ({ status: 400, code, message, details: details ?? [] }),
  Unauthorized: ({ code, message }) => ({ status: 401, code, message }),
  Forbidden: ({ code, message, needs, path }) => ({
    status: 403,
    code,
    message,
    details: needs === undefined && path === undefined ? [] : [{ path: path ?? "", code: needs ?? code, message }]
  }),
  PlanLimitReached: ({ dimension, limit, used }) => ({
    status: 403,
    code: "PLAN_LIMIT_REACHED",
    message: `the plan allows ${limit} of ${dimension}; ${used} are in use`,
    more: { quota: { dimension, limit, used, resetAt: null } }
  }),
  NotFound: ({ meant, what }) => ({
    status: 404,
    code: "NOT_FOUND",
    message: `there is no such ${what}${meant === undefined ? "" : `. Did you mean ${meant}?`}`
  }),
  Conflict: ({ code, details, message }) => ({ status: 409, code, message, details: details ?? [] }),
  Managed: ({ managedBy, message }) => ({ status: 409, code: "MANAGED", message, more: { managedBy } }),
  InvalidState: ({ message, state }) => ({ status: 409, code: "INVALID_STATE", message, more: { state } }),
  WorkflowUnavailable: ({ code, message }) => ({ status: 409, code, message }),
  ValidationFailed: ({ code, details, message }) => ({ status: 422, code, message, details }),
  IdempotencyInProgress: () => ({
    status: 409,
    code: "IDEMPOTENCY_IN_PROGRESS",
    retryAfterSeconds: 1,
    message: "the first request with this Idempotency-Key has not been answered yet: try again"
  }),
  PayloadTooLarge: ({ limitBytes, ratio }) => ({
    status: 413,
    code: "PAYLOAD_TOO_LARGE",
    message:
      ratio === undefined
        ? `the body is larger than ${limitBytes} bytes`
        : `the body is more than ${ratio} times as large as it was sent, over ${limitBytes} bytes: send it without content-encoding`
  }),
  UnsupportedMediaType: ({ got, takes = "application/json" }) => ({
    status: 415,
    code: "UNSUPPORTED_MEDIA_TYPE",
    message: `send the body as content-type: ${takes}, not ${got === "" ? "without a content-type" : got}`
  }),
  RateLimited: ({ limit, resetAt, what = "calls" }, now) => ({
    status: 429,
    code: "RATE_LIMITED",
    message: `more than ${limit} ${what} in this minute`,
    retryAfterSeconds: secondsUntil(resetAt, now)
  }),
  TooManyRuns: ({ limit }) => ({
    status: 429,
    code: "RATE_LIMITED",
    message: `${limit} runs of the organisation are under way, as many as its plan allows at once: try again when one has ended, or start a Standard or Long workflow, which waits`,
    retryAfterSeconds: 1
  }),
  TooManyWatches: ({ limit, of }) => ({
    status: 429,
    code: "RATE_LIMITED",
    message:
      of === "caller"
        ? `${limit} watches of this session or key are open on this node, as many as it may have: close one, or watch more topics by one`
        : `${limit} watches of ${ofAccount} are open on this node, as many as they may have: close one, or try another node`,
    retryAfterSeconds: 1
  }),
  TooManyCalls: ({ limit, of, what }) => ({
    status: 429,
    code: "RATE_LIMITED",
    message:
      of === "caller"
        ? `${limit} ${what} of this caller are open, as many as it may have: wait until one has ended`
        : `${limit} ${what} of ${ofAccount} are open on this node, as many as they may have: close one, or try another node`,
    retryAfterSeconds: 1
  }),
  QuotaExceeded: ({ dimension, limit, resetAt, used }, now) => ({
    status: 429,
    code: "QUOTA_EXCEEDED",
    message: `${used} of ${limit} of ${dimension} are used: the count begins anew at ${new Date(resetAt * 1000).toISOString()}`,
    retryAfterSeconds: secondsUntil(resetAt, now),
    more: { quota: { dimension, limit, used, resetAt: new Date(resetAt * 1000).toISOString() } }
  }),
  TimedOut: ({ executionId }) => ({
    status: 408,
    code: "TIMED_OUT",
    message: "the execution took longer than its caller can wait",
    more: { executionId }
  }),
  FlowFailed: ({ executionId, message, reason, step }) => ({
    status: 500,
    code: "INTERNAL_ERROR",
    message,
    details: [{ path: step, code: reason, message }],
    more: { executionId, step }
  }),
  DatasourceFailed: ({ action, answer, executionId, message, reason, step }) => ({
    status: 400,
    code: "DATASOURCE_CONNECTION_ERROR",
    message,
    details: [{ path: step, code: reason, message }],
    more: { executionId, step, datasourceDebug: { name: action, jsonObject: answer } }
  }),
  ConnectionRequired: ({ connector, message }) => ({
    status: 409,
    code: "CONNECTION_REQUIRED",
    message,
    more: { connector }
  }),
  CategoryConnectionRequired: ({ category, message }) => ({
    status: 409,
    code: "CONNECTION_REQUIRED",
    message,
    more: { category }
  }),
  ConnectionInactive: ({ message }) => ({ status: 409, code: "CONNECTION_NOT_ACTIVE", message }),
  ProviderFailed: ({ body, connector, message, status }) => ({
    status: 502,
    code: "PROVIDER_ERROR",
    message,
    more: { provider: { connector, status, body } }
  }),
  ProviderTimedOut: ({ connector, message }) => ({
    status: 504,
    code: "PROVIDER_TIMEOUT",
    message,
    more: { provider: { connector, status: null, body: null } }
  }),
  ProviderLimited: ({ connector, retryAfterSeconds }) => ({
    status: 429,
    code: "RATE_LIMITED",
    message: `${connector} takes no more requests of this connection now`,
    retryAfterSeconds
  }),
  Unavailable: ({ reason, retryAfterSeconds }) => ({
    status: 503,
    code: "UNAVAILABLE",
    message: reason,
    retryAfterSeconds
  })
}

const retryableStatuses = new Set([408, 429, 502, 503, 504])

/** The row of a failure. `now`: Unix milliseconds. The cast holds since each row takes the failure of its own tag. */
export const errorRow = (failure: Failure, now: number): Row =>
  (rows[failure._tag] as (failure: Failure, now: number) => Row)(failure, now)

/** The reply to a failure. `now`: Unix milliseconds. */
export const failureReply = (failure: Failure, requestId: string, now: number): RawReply =>
  errorReply(errorRow(failure, now), requestId)

/** The body of a row. */
export const errorBody = (row: Row, requestId: string): ErrorBody => ({
  code: row.code,
  statusCode: row.status,
  message: row.message,
  requestId,
  retryable: retryableStatuses.has(row.status) || row.retryAfterSeconds !== undefined,
  details: row.details ?? [],
  ...row.more
})

/** The reply of a row, with `retry-after` if the row has one. */
export const errorReply = (row: Row, requestId: string): RawReply =>
  jsonReply(row.status, errorBody(row, requestId), {
    "x-request-id": requestId,
    ...(row.retryAfterSeconds === undefined ? {} : { "retry-after": String(row.retryAfterSeconds) })
  })

/** The row of a defect: the client learns the request id and nothing else. */
export const defectRow: Row = {
  status: 500,
  code: "INTERNAL_ERROR",
  message: "an unexpected error; report it with its request id"
}

/** The row of a path that exists with other methods only. */
export const methodRow = (allowed: ReadonlyArray<string>): Row => ({
  status: 405,
  code: "METHOD_NOT_ALLOWED",
  message: `this path takes ${allowed.join(", ")}`
})

const failureTags: ReadonlySet<string> = new Set(Object.keys(rows))

/** Whether a value is a failure that this table has a row for. */
export const isFailure = (value: unknown): value is Failure =>
  typeof value === "object" &&
  value !== null &&
  "_tag" in value &&
  typeof value._tag === "string" &&
  failureTags.has(value._tag)
