/**
 * The failures that a client can cause or must know of, each with the one reason it stands for.
 * A surface translates each into its own body and status; nothing else may reach a client but `INTERNAL_ERROR`.
 * Specification: Errors; contract: error codes.
 */
import { operatorText } from "./OperatorText.js"
import { Data } from "effect"
import type { Json } from "./Json.js"
import type { Permission } from "./Permission.js"

/** One mistake in a request: where, which, and what to do about it. */
export interface Detail {
  readonly path: string
  readonly code: string
  readonly message: string
  readonly line?: number
  readonly column?: number
}

/** The request cannot be read: malformed JSON, a header or parameter of the wrong type. */
export class InvalidRequest extends Data.TaggedError("InvalidRequest")<{
  readonly code: "INVALID_REQUEST" | "INVALID_CURSOR" | "INVALID_HEADER" | "MISSING_SPACE_ID" | "STALE_TIMESTAMP"
  readonly message: string
  readonly details?: ReadonlyArray<Detail>
}> {}

/** The caller is nobody that the service knows, or no longer. */
export class Unauthorized extends Data.TaggedError("Unauthorized")<{
  readonly code:
    | "UNAUTHORIZED"
    | "KEY_REVOKED"
    | "KEY_EXPIRED"
    | "IDENTITY_HMAC_REQUIRED"
    | "IDENTITY_HMAC_INVALID"
    | "INVALID_SIGNATURE"
  readonly message: string
}> {}

/** The caller is known and may not do this. */
export class Forbidden extends Data.TaggedError("Forbidden")<{
  readonly code:
    | "FORBIDDEN"
    | "IP_NOT_ALLOWED"
    | "CUSTOMER_NOT_REACHABLE"
    | "CUSTOMER_SUBSET_REQUIRED"
    | "RESOURCE_OUT_OF_SCOPE"
    | "TEST_MODE_HEADER_REQUIRED"
  readonly message: string
  /** The permission that is missing, or the switch that forbids it. */
  readonly needs?: Permission | "CODE_EDITING_DISABLED" | "WIDER_THAN_CALLER" | "SUBSET_KEY"
  /** The member of the request that is refused. */
  readonly path?: string
}> {}

/** A stock limit of the plan is used up. */
export class PlanLimitReached extends Data.TaggedError("PlanLimitReached")<{
  readonly dimension: string
  readonly limit: number
  readonly used: number
}> {}

/** The day's units are used up. */
export class QuotaExceeded extends Data.TaggedError("QuotaExceeded")<{
  readonly dimension: string
  readonly limit: number
  readonly used: number
  /** Unix seconds. */
  readonly resetAt: number
}> {}

/** There is no such thing, or none that this caller may know of. */
export class NotFound extends Data.TaggedError("NotFound")<{ readonly what: string }> {}

/** Somebody else changed it, or holds the name. */
export class Conflict extends Data.TaggedError("Conflict")<{
  readonly code: "CONFLICT" | "VERSION_MISMATCH"
  readonly message: string
  readonly details?: ReadonlyArray<Detail>
}> {}

/** The record's state does not allow it. */
export class InvalidState extends Data.TaggedError("InvalidState")<{
  readonly state: string
  readonly message: string
}> {}

/** The workflow has nothing that could run where the caller asked. */
export class WorkflowUnavailable extends Data.TaggedError("WorkflowUnavailable")<{
  readonly code: "WORKFLOW_NOT_PUBLISHED" | "WORKFLOW_NOT_DEPLOYED" | "WORKFLOW_ARCHIVED"
  readonly message: string
}> {}

/** The request is readable and wrong. */
export class ValidationFailed extends Data.TaggedError("ValidationFailed")<{
  readonly code:
    | "VALIDATION_FAILED"
    | "INPUT_CONTRACT_VIOLATION"
    | "RESERVED_NAME"
    | "UNKNOWN_FIELD"
    | "IMMUTABLE_FIELD"
    | "IDEMPOTENCY_KEY_REUSED"
    | "CREDENTIAL_TEST_FAILED"
  readonly message: string
  readonly details: ReadonlyArray<Detail>
}> {}

/** The first request with this Idempotency-Key has not been answered yet. */
export class IdempotencyInProgress extends Data.TaggedError("IdempotencyInProgress")<{}> {}

/** The body has more bytes than this endpoint takes. */
export class PayloadTooLarge extends Data.TaggedError("PayloadTooLarge")<{ readonly limitBytes: number }> {}
/** The body is not of a type that this endpoint reads. */
export class UnsupportedMediaType extends Data.TaggedError("UnsupportedMediaType")<{ readonly got: string }> {}

/** Too many calls in this minute. */
export class RateLimited extends Data.TaggedError("RateLimited")<{
  readonly limit: number
  /** Unix seconds. */
  readonly resetAt: number
  /** What was counted; calls where it is not said. */
  readonly what?: string
}> {}

/** As many runs of the organisation are under way as its plan allows at once. */
export class TooManyRuns extends Data.TaggedError("TooManyRuns")<{ readonly limit: number }> {}

/** An execution went over its maximum while its caller waited. */
export class TimedOut extends Data.TaggedError("TimedOut")<{ readonly executionId: string }> {}

/** Not now: the node drains, its queue is full or Postgres cannot be reached. Nothing was done; try again. */
export class Unavailable extends Data.TaggedError("Unavailable")<{
  readonly reason: string
  readonly retryAfterSeconds: number
}> {
  get [operatorText]() {
    return this.reason
  }
}

/** The customer has no connection to this connector. */
export class ConnectionRequired extends Data.TaggedError("ConnectionRequired")<{
  readonly connector: string
  readonly message: string
}> {}
/** The connection has to be reconnected or enabled first. */
export class ConnectionInactive extends Data.TaggedError("ConnectionInactive")<{ readonly message: string }> {}

/** The provider did not answer, or not in a way that can be passed on. */
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
/** The provider takes no request of this connection now. */
export class ProviderLimited extends Data.TaggedError("ProviderLimited")<{
  readonly connector: string
  readonly retryAfterSeconds: number
}> {}

export type Failure =
  | InvalidRequest
  | Unauthorized
  | Forbidden
  | PlanLimitReached
  | QuotaExceeded
  | NotFound
  | Conflict
  | InvalidState
  | WorkflowUnavailable
  | ValidationFailed
  | IdempotencyInProgress
  | PayloadTooLarge
  | UnsupportedMediaType
  | RateLimited
  | TooManyRuns
  | TimedOut
  | ConnectionRequired
  | ConnectionInactive
  | ProviderFailed
  | ProviderTimedOut
  | ProviderLimited
  | Unavailable

/** A `ValidationFailed` of one detail. */
export const invalid = (path: string, code: string, message: string): ValidationFailed =>
  new ValidationFailed({ code: "VALIDATION_FAILED", message: `${path} ${message}`, details: [{ path, code, message }] })
