/**
 * The failures that clients are answered with, one class for each reason. Each surface translates them into its own bodies
 * and statuses; any other error is answered as `INTERNAL_ERROR`. Failures of actors have a schema, by which they cross
 * nodes; it checks their members when one is made. Specification: Errors; contract: error codes.
 */
import { Data, Effect, Schema } from "effect"
import { operatorText } from "./OperatorText.js"
import type { Json, JsonObject } from "./Json.js"
import type { Permission } from "./access/Permission.js"

/** One mistake in a request: its place, its code, and what to send instead. */
export const Detail = Schema.Struct({
  path: Schema.String,
  code: Schema.String,
  message: Schema.String,
  line: Schema.optionalWith(Schema.Number, { exact: true }),
  column: Schema.optionalWith(Schema.Number, { exact: true })
})
export type Detail = typeof Detail.Type

/** The request cannot be read: malformed JSON, a header or parameter of the wrong type. */
export class InvalidRequest extends Data.TaggedError("InvalidRequest")<{
  readonly code: "INVALID_REQUEST" | "INVALID_CURSOR" | "INVALID_HEADER" | "MISSING_SPACE_ID" | "STALE_TIMESTAMP"
  readonly message: string
  readonly details?: ReadonlyArray<Detail>
}> {}

/** The caller is not authenticated. */
export class Unauthorized extends Data.TaggedError("Unauthorized")<{
  readonly code:
    | "UNAUTHORIZED"
    | "KEY_REVOKED"
    | "KEY_EXPIRED"
    | "IDENTITY_HMAC_REQUIRED"
    | "IDENTITY_HMAC_INVALID"
    | "INVALID_SIGNATURE"
    | "SESSION_EXPIRED"
    | "TOKEN_EXPIRED"
  readonly message: string
  /** The flow's own authentication refused the call. */
  readonly isCustomAuth?: true
}> {}

/** The caller is authenticated and not allowed to do this. */
export class Forbidden extends Data.TaggedError("Forbidden")<{
  readonly code:
    | "FORBIDDEN"
    | "IP_NOT_ALLOWED"
    | "CUSTOMER_NOT_REACHABLE"
    | "CUSTOMER_SUBSET_REQUIRED"
    | "RESOURCE_OUT_OF_SCOPE"
    | "TEST_MODE_HEADER_REQUIRED"
    | "REVIEW_REQUIRED"
  readonly message: string
  /** The missing permission, or the setting that forbids it. */
  readonly needs?: Permission | "CODE_EDITING_DISABLED" | "WIDER_THAN_CALLER" | "SUBSET_KEY" | "SHARED_RECORD"
  /** The member of the request that is refused. */
  readonly path?: string
}> {}

/** A limit of the plan on stored records is reached. */
export class PlanLimitReached extends Data.TaggedError("PlanLimitReached")<{
  readonly dimension: string
  readonly limit: number
  readonly used: number
}> {}

/** The quota of the day is used up. */
export class QuotaExceeded extends Data.TaggedError("QuotaExceeded")<{
  readonly dimension: string
  readonly limit: number
  readonly used: number
  /** Unix seconds. */
  readonly resetAt: number
}> {}

/** There is no such record, or the caller does not reach it. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", {
  what: Schema.String,
  /** The closest name, if there is one. */
  meant: Schema.optional(Schema.String)
}) {}

/**
 * The record was changed since it was read, its name is taken, or (`UNCERTAIN_WRITE`) an earlier request may have created it,
 * whose answer was lost.
 */
export class Conflict extends Schema.TaggedError<Conflict>()("Conflict", {
  code: Schema.Literal("CONFLICT", "VERSION_MISMATCH", "UNCERTAIN_WRITE"),
  message: Schema.String,
  details: Schema.optionalWith(Schema.Array(Detail), { exact: true })
}) {}

/** The refusal of a change to a version that is no longer the stored one. */
export const versionMismatch = () =>
  new Conflict({ code: "VERSION_MISMATCH", message: "the record has changed since you read it: read it again" })

/** The record's state does not allow it. */
export class InvalidState extends Schema.TaggedError<InvalidState>()("InvalidState", {
  state: Schema.String,
  message: Schema.String
}) {}

/** Another record keeps this one: it is changed there. */
export class Managed extends Data.TaggedError("Managed")<{
  readonly managedBy: { readonly kind: "workflow"; readonly id: string }
  readonly message: string
}> {}

/** The workflow has no version that can run in the environment. */
export class WorkflowUnavailable extends Data.TaggedError("WorkflowUnavailable")<{
  readonly code: "WORKFLOW_NOT_PUBLISHED" | "WORKFLOW_NOT_DEPLOYED" | "WORKFLOW_ARCHIVED"
  readonly message: string
}> {}

/** The request is well-formed and its content is not valid. */
export class ValidationFailed extends Schema.TaggedError<ValidationFailed>()("ValidationFailed", {
  code: Schema.Literal(
    "VALIDATION_FAILED",
    "UNSUPPORTED_OPERATION",
    "INPUT_CONTRACT_VIOLATION",
    "RESERVED_NAME",
    "UNKNOWN_FIELD",
    "IMMUTABLE_FIELD",
    "IDEMPOTENCY_KEY_REUSED",
    "CREDENTIAL_TEST_FAILED",
    "CYCLE_DETECTED"
  ),
  message: Schema.String,
  details: Schema.Array(Detail)
}) {}

/** The first request with this Idempotency-Key has not been answered yet. */
export class IdempotencyInProgress extends Data.TaggedError("IdempotencyInProgress")<{}> {}

/** The body is larger than the endpoint's limit. `ratio`: it would be, many times larger than it was sent. */
export class PayloadTooLarge extends Data.TaggedError("PayloadTooLarge")<{
  readonly limitBytes: number
  readonly ratio?: number
}> {}

/** The body has a content type that the endpoint does not read. */
export class UnsupportedMediaType extends Data.TaggedError("UnsupportedMediaType")<{
  readonly got: string
  /** The types that are taken; absent: JSON. */
  readonly takes?: string
}> {}

/** Too many calls in this minute. */
export class RateLimited extends Data.TaggedError("RateLimited")<{
  readonly limit: number
  /** Unix seconds. */
  readonly resetAt: number
  /** What was counted; by default calls. */
  readonly what?: string
}> {}

/** The organisation has as many runs in flight as its plan allows. */
export class TooManyRuns extends Schema.TaggedError<TooManyRuns>()("TooManyRuns", { limit: Schema.JsonNumber }) {}

/** The caller, or its account on this node, has as many watches open as it may have. */
export class TooManyWatches extends Data.TaggedError("TooManyWatches")<{
  readonly of: "caller" | "account"
  readonly limit: number
}> {}

/** The caller, its connection, or its account on this node has as many of something open as it may have. */
export class TooManyCalls extends Data.TaggedError("TooManyCalls")<{
  readonly what: "calls" | "streams and awaits" | "awaits" | "connections"
  readonly of: "caller" | "account"
  readonly limit: number
}> {}

/** The execution exceeded its time while its caller waited. */
export class TimedOut extends Data.TaggedError("TimedOut")<{ readonly executionId: string }> {}

/** What a caller of surface B is told of a run that failed. `reason`: the code or the name of its error. */
interface FailedFlow {
  readonly message: string
  readonly executionId: string
  /** The step that failed; empty if none did. */
  readonly step: string
  readonly reason: string
}

/** A run that a caller of surface B waited for has failed. */
export class FlowFailed extends Data.TaggedError("FlowFailed")<FailedFlow> {}

/** The same because of a connected system. `answer`: what the system answered, without secrets. */
export class DatasourceFailed extends Data.TaggedError("DatasourceFailed")<
  FailedFlow & { readonly action: string; readonly answer: JsonObject }
> {}

/** The node drains, its queue is full or Postgres is unreachable. Nothing was changed; the client can retry. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", {
  reason: Schema.String,
  retryAfterSeconds: Schema.JsonNumber,
  /** For the operator only; quotes no data of a client, a workflow or a provider. */
  detail: Schema.optionalWith(Schema.String, { exact: true })
}) {
  get [operatorText]() {
    return this.detail === undefined ? this.reason : `${this.reason} (${this.detail})`
  }
}

/** The customer has no connection to this connector. */
export class ConnectionRequired extends Data.TaggedError("ConnectionRequired")<{
  readonly connector: string
  readonly message: string
}> {}
/** The customer has no connection to any connector that serves this category of the unified API. */
export class CategoryConnectionRequired extends Data.TaggedError("CategoryConnectionRequired")<{
  readonly category: string
  readonly message: string
}> {}
/** The connection must be reconnected or enabled first. */
export class ConnectionInactive extends Data.TaggedError("ConnectionInactive")<{ readonly message: string }> {}

/** The provider failed, or its answer cannot be forwarded. */
export class ProviderFailed extends Data.TaggedError("ProviderFailed")<{
  readonly connector: string
  readonly status: number | null
  readonly body: Json
  readonly message: string
}> {}
/** The provider took longer than a call may take. */
export class ProviderTimedOut extends Data.TaggedError("ProviderTimedOut")<{
  readonly connector: string
  readonly message: string
}> {}
/** The provider's rate limit for this connection is reached. */
export class ProviderLimited extends Data.TaggedError("ProviderLimited")<{
  readonly connector: string
  readonly retryAfterSeconds: number
}> {}

/** Every failure that surfaces translate. */
export type Failure =
  | InvalidRequest
  | Unauthorized
  | Forbidden
  | PlanLimitReached
  | QuotaExceeded
  | NotFound
  | Conflict
  | InvalidState
  | Managed
  | WorkflowUnavailable
  | ValidationFailed
  | IdempotencyInProgress
  | PayloadTooLarge
  | UnsupportedMediaType
  | RateLimited
  | TooManyRuns
  | TooManyWatches
  | TooManyCalls
  | TimedOut
  | FlowFailed
  | DatasourceFailed
  | ConnectionRequired
  | CategoryConnectionRequired
  | ConnectionInactive
  | ProviderFailed
  | ProviderTimedOut
  | ProviderLimited
  | Unavailable

/** A `ValidationFailed` with one detail. */
export const invalid = (
  path: string,
  detailCode: string,
  message: string,
  code: ValidationFailed["code"] = "VALIDATION_FAILED"
): ValidationFailed =>
  new ValidationFailed({ code, message: `${path} ${message}`, details: [{ path, code: detailCode, message }] })

/** The refusal of a request with these mistakes, of which its message tells the first; `undefined`: there are none. */
export const refusalOf = (
  details: ReadonlyArray<Detail>,
  code: ValidationFailed["code"] = "VALIDATION_FAILED"
): ValidationFailed | undefined => {
  const [first] = details
  return first && new ValidationFailed({ code, message: `${first.path} ${first.message}`, details })
}

/** The refusal of a URL that may not be called. `path`: of the member that names it. */
export const refuseUrl = (path: string, reason: string): ValidationFailed =>
  new ValidationFailed({
    code: "VALIDATION_FAILED",
    message: `${path} cannot be called: ${reason}`,
    details: [{ path, code: "URL_NOT_ALLOWED", message: reason }]
  })

/** Fails with the refusal, if there is one. */
export const refuseWith = <E extends Error>(refusal: E | undefined): Effect.Effect<void, E> =>
  refusal === undefined ? Effect.void : Effect.fail(refusal)
