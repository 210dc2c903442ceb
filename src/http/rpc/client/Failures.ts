/**
 * The failures of the typed RPC as its clients get them: one error class for each tag of `src/domain/Failure.ts`, with the
 * members of the REST answer, and those that only a client has. A test holds both lists together. Contract: errors.
 */
import { Schema } from "effect"
import { Detail } from "../../../domain/Failure.js"
import { Json } from "../../../domain/Json.js"
import { AnsweredTime } from "../../../domain/Time.js"

/** Members of every failure that the service answers with. */
const common = {
  code: Schema.String,
  /** The status of the same failure in REST. */
  statusCode: Schema.Number,
  message: Schema.String,
  /** Names the request to the service's operator; empty if the client itself refused the call. */
  requestId: Schema.String,
  /** Whether the same call may succeed later. */
  retryable: Schema.Boolean,
  details: Schema.Array(Detail),
  retryAfterSeconds: Schema.optionalWith(Schema.Number, { exact: true })
}

const quota = Schema.Struct({
  dimension: Schema.String,
  limit: Schema.Number,
  used: Schema.Number,
  /** When the window starts again; `null`: never. */
  resetAt: Schema.NullOr(AnsweredTime)
})
const managedBy = Schema.Struct({ kind: Schema.Literal("workflow"), id: Schema.String })
/** The provider's answer; `status` and `body` are `null` if it sent none. */
const provider = Schema.Struct({ connector: Schema.String, status: Schema.NullOr(Schema.Number), body: Json })
const executionId = Schema.String
const limited = { ...common, quota }
const ofRun = { ...common, executionId }
const ofProvider = { ...common, provider }

class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("InvalidRequest", common) {}
class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", common) {}
class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", common) {}
class PlanLimitReached extends Schema.TaggedError<PlanLimitReached>()("PlanLimitReached", limited) {}
class QuotaExceeded extends Schema.TaggedError<QuotaExceeded>()("QuotaExceeded", limited) {}
class NotFound extends Schema.TaggedError<NotFound>()("NotFound", common) {}
class Conflict extends Schema.TaggedError<Conflict>()("Conflict", common) {}
class InvalidState extends Schema.TaggedError<InvalidState>()("InvalidState", { ...common, state: Schema.String }) {}
class Managed extends Schema.TaggedError<Managed>()("Managed", { ...common, managedBy }) {}
class WorkflowUnavailable extends Schema.TaggedError<WorkflowUnavailable>()("WorkflowUnavailable", common) {}
class ValidationFailed extends Schema.TaggedError<ValidationFailed>()("ValidationFailed", common) {}
class IdempotencyInProgress extends Schema.TaggedError<IdempotencyInProgress>()("IdempotencyInProgress", common) {}
class PayloadTooLarge extends Schema.TaggedError<PayloadTooLarge>()("PayloadTooLarge", common) {}
class UnsupportedMediaType extends Schema.TaggedError<UnsupportedMediaType>()("UnsupportedMediaType", common) {}
class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", common) {}
class TooManyRuns extends Schema.TaggedError<TooManyRuns>()("TooManyRuns", common) {}
class TooManyWatches extends Schema.TaggedError<TooManyWatches>()("TooManyWatches", common) {}
class TooManyCalls extends Schema.TaggedError<TooManyCalls>()("TooManyCalls", common) {}
class TimedOut extends Schema.TaggedError<TimedOut>()("TimedOut", ofRun) {}
class FlowFailed extends Schema.TaggedError<FlowFailed>()("FlowFailed", ofRun) {}
class DatasourceFailed extends Schema.TaggedError<DatasourceFailed>()("DatasourceFailed", ofRun) {}
class ConnectionRequired extends Schema.TaggedError<ConnectionRequired>()("ConnectionRequired", {
  ...common,
  connector: Schema.String
}) {}
class CategoryConnectionRequired extends Schema.TaggedError<CategoryConnectionRequired>()(
  "CategoryConnectionRequired",
  { ...common, category: Schema.String }
) {}
class ConnectionInactive extends Schema.TaggedError<ConnectionInactive>()("ConnectionInactive", common) {}
class ProviderFailed extends Schema.TaggedError<ProviderFailed>()("ProviderFailed", ofProvider) {}
class ProviderTimedOut extends Schema.TaggedError<ProviderTimedOut>()("ProviderTimedOut", ofProvider) {}
class ProviderLimited extends Schema.TaggedError<ProviderLimited>()("ProviderLimited", common) {}
class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", common) {}
/** An unexpected error of the service, which its operator finds by the request id. */
class InternalError extends Schema.TaggedError<InternalError>()("InternalError", common) {}

const local = {
  code: Schema.String,
  message: Schema.String,
  /** Whether the same call may succeed later. */
  retryable: Schema.Boolean,
  /** The method that was called, such as `executions.start`. */
  method: Schema.String
}

/**
 * The connection broke, or could not be made in time. `outcome`: `not sent`, then the call had no effect; or `unknown`, then
 * it may have taken effect, and only reading what it changes tells.
 */
class ConnectionLost extends Schema.TaggedError<ConnectionLost>()("ConnectionLost", {
  ...local,
  outcome: Schema.Literal("not sent", "unknown")
}) {}

/** The service answered what this version of the client does not understand. The call may have taken effect. */
class UnexpectedAnswer extends Schema.TaggedError<UnexpectedAnswer>()("UnexpectedAnswer", local) {}

/** The classes of failures that the service answers with, by their tags. */
export const ServiceFailures = {
  InvalidRequest,
  Unauthorized,
  Forbidden,
  PlanLimitReached,
  QuotaExceeded,
  NotFound,
  Conflict,
  InvalidState,
  Managed,
  WorkflowUnavailable,
  ValidationFailed,
  IdempotencyInProgress,
  PayloadTooLarge,
  UnsupportedMediaType,
  RateLimited,
  TooManyRuns,
  TooManyWatches,
  TooManyCalls,
  TimedOut,
  FlowFailed,
  DatasourceFailed,
  ConnectionRequired,
  CategoryConnectionRequired,
  ConnectionInactive,
  ProviderFailed,
  ProviderTimedOut,
  ProviderLimited,
  Unavailable,
  InternalError
} as const

/** The classes of all failures, by their tags: `error instanceof Failures.NotFound`. */
export const Failures = { ...ServiceFailures, ConnectionLost, UnexpectedAnswer } as const

type Classes = typeof Failures

/** The failure of a tag: `FailureOf<"NotFound">`. */
export type FailureOf<Tag extends keyof Classes> = InstanceType<Classes[Tag]>

/** Any failure of a call: an `Error` with a `_tag`. */
export type RpcFailure = FailureOf<keyof Classes>

/** A failure that the service answers with. */
export type ServiceFailure = FailureOf<keyof typeof ServiceFailures>

type ServiceClasses = (typeof ServiceFailures)[keyof typeof ServiceFailures]

/** A type of its own, so that declarations of methods name it instead of repeating it. */
export interface ServiceFailureSchema extends Schema.Schema<ServiceFailure, Schema.Schema.Encoded<ServiceClasses>> {}

/** The failure of every method, as it is encoded: with its tag. */
export const ServiceFailure: ServiceFailureSchema = Schema.Union(...Object.values(ServiceFailures))

/** The members of a refusal that the client makes itself, before it sends anything. */
export const localRefusal = (code: string, statusCode: number, message: string) => ({
  code,
  statusCode,
  message,
  requestId: "",
  retryable: false,
  details: []
})

/** The failure of a call whose connection broke before its answer. */
export const connectionLost = (method: string, outcome: "not sent" | "unknown", reason: string) =>
  new ConnectionLost({
    code: "CONNECTION_LOST",
    retryable: outcome === "not sent",
    method,
    outcome,
    message:
      outcome === "not sent"
        ? `${method} was not sent: ${reason}`
        : `${reason} before ${method} was answered: whether it took effect is not known`
  })

/** The failure of a call whose answer cannot be read. */
export const unexpectedAnswer = (method: string, reason: string) =>
  new UnexpectedAnswer({ code: "UNEXPECTED_ANSWER", retryable: false, method, message: `${method}: ${reason}` })
