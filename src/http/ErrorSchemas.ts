/**
 * Schemas of the error bodies of surfaces A and C, one for each status, and the union of those that each kind of
 * endpoint can answer. The OpenAPI documents are generated from them.
 */
import { HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { type Failure, ValidationFailed } from "../domain/Failure.js"
import { membersOf } from "./ErrorMembers.js"
import { errorRow, isFailure } from "./ErrorRows.js"

const DetailBody = Schema.Struct({
  path: Schema.String,
  code: Schema.String,
  message: Schema.String,
  line: Schema.optional(Schema.Number),
  column: Schema.optional(Schema.Number)
}).annotations({ identifier: "ErrorDetail" })

/** How a surface's error bodies differ from those of the others. */
interface ErrorStyle<More extends Schema.Struct.Fields> {
  /** Members besides those that every surface has. */
  readonly more: More
  /** Describes when a member is present that only the failure with this code has. */
  readonly describeWhen: (code: string) => string
  readonly row: (failure: Failure) => ReturnType<typeof errorRow>
}

/** The schema of the failures of one status: tagged errors in handlers, a plain body on the wire. */
export const failuresOf =
  <More extends Schema.Struct.Fields>({ describeWhen, more, row }: ErrorStyle<More>) =>
  <Tag extends Failure["_tag"]>(name: string, status: number, tags: ReadonlyArray<Tag>, codes: ReadonlyArray<string>) =>
    Schema.transform(
      Schema.Struct({
        code: Schema.String.annotations({ description: codes.join(", ") }),
        statusCode: Schema.Literal(status),
        message: Schema.String,
        requestId: Schema.String,
        retryable: Schema.Boolean,
        details: Schema.Array(DetailBody),
        ...more,
        // What is unexpected is answered with 500, too.
        ...membersOf(tags, describeWhen, status === 500 ? 1 : 0)
      }),
      Schema.declare(
        (value: unknown): value is Extract<Failure, { readonly _tag: Tag }> =>
          isFailure(value) && tags.some((tag) => tag === value._tag)
      ),
      {
        strict: false,
        // Only the service encodes failures; a client decodes the plain body.
        decode: (wire) => wire,
        encode: (failure: Failure) => {
          const { code, details = [], message, more: rest, status: statusCode } = row(failure)
          return { code, statusCode, message, requestId: "", retryable: false, details, ...rest }
        }
      }
    ).annotations({ identifier: name, ...HttpApiSchema.annotations({ status }) })

const failures = failuresOf({
  more: {},
  describeWhen: (code) => `with the code ${code}`,
  row: (failure) => errorRow(failure, 0)
})

const BadRequest = failures(
  "BadRequest",
  400,
  ["InvalidRequest"],
  ["INVALID_REQUEST", "INVALID_CURSOR", "INVALID_HEADER"]
)
const NotAuthorized = failures(
  "NotAuthorized",
  401,
  ["Unauthorized"],
  [
    "UNAUTHORIZED",
    "KEY_REVOKED",
    "KEY_EXPIRED",
    "IDENTITY_HMAC_REQUIRED",
    "IDENTITY_HMAC_INVALID",
    "SESSION_EXPIRED",
    "TOKEN_EXPIRED"
  ]
)
const NotAllowed = failures(
  "NotAllowed",
  403,
  ["Forbidden", "PlanLimitReached"],
  [
    "FORBIDDEN",
    "IP_NOT_ALLOWED",
    "CUSTOMER_NOT_REACHABLE",
    "CUSTOMER_SUBSET_REQUIRED",
    "RESOURCE_OUT_OF_SCOPE",
    "TEST_MODE_HEADER_REQUIRED",
    "REVIEW_REQUIRED",
    "PLAN_LIMIT_REACHED"
  ]
)
const Missing = failures("Missing", 404, ["NotFound"], ["NOT_FOUND"])
const Conflicting = failures(
  "Conflicting",
  409,
  [
    "Conflict",
    "InvalidState",
    "Managed",
    "WorkflowUnavailable",
    "IdempotencyInProgress",
    "ConnectionRequired",
    "CategoryConnectionRequired",
    "ConnectionInactive"
  ],
  [
    "CONFLICT",
    "VERSION_MISMATCH",
    "UNCERTAIN_WRITE",
    "INVALID_STATE",
    "MANAGED",
    "WORKFLOW_NOT_PUBLISHED",
    "WORKFLOW_NOT_DEPLOYED",
    "WORKFLOW_ARCHIVED",
    "IDEMPOTENCY_IN_PROGRESS",
    "CONNECTION_REQUIRED",
    "CONNECTION_NOT_ACTIVE"
  ]
)
const TooLarge = failures("TooLarge", 413, ["PayloadTooLarge"], ["PAYLOAD_TOO_LARGE"])
const WrongMediaType = failures("WrongMediaType", 415, ["UnsupportedMediaType"], ["UNSUPPORTED_MEDIA_TYPE"])
const Invalid = failures("Invalid", 422, ["ValidationFailed"], ValidationFailed.fields.code.literals)
const TooMany = failures(
  "TooMany",
  429,
  ["RateLimited", "TooManyRuns", "TooManyWatches", "TooManyCalls", "ProviderLimited", "QuotaExceeded"],
  ["RATE_LIMITED", "QUOTA_EXCEEDED"]
)
const NoAnswer = failures("NoAnswer", 502, ["ProviderFailed"], ["PROVIDER_ERROR"])
const SlowAnswer = failures("SlowAnswer", 504, ["ProviderTimedOut"], ["PROVIDER_TIMEOUT"])
const NotNow = failures("NotNow", 503, ["Unavailable"], ["UNAVAILABLE"])
const TookTooLong = failures("TookTooLong", 408, ["TimedOut"], ["TIMED_OUT"])

/** Failures of every endpoint. */
const commonFailures = [BadRequest, NotAuthorized, NotAllowed, Missing, Conflicting, TooLarge, TooMany, NotNow] as const

/** Failures of starting a run. */
export const RunFailures = Schema.Union(...commonFailures, WrongMediaType, Invalid, TookTooLong)
/** Failures of the proxy, which takes any body and answers with the provider's. */
export const ProxyFailures = Schema.Union(...commonFailures, NoAnswer, SlowAnswer)
/** Failures of the unified API. */
export const RecordFailures = Schema.Union(...commonFailures, WrongMediaType, Invalid, NoAnswer, SlowAnswer)
/** Failures of surface C. */
export const ManagementFailures = Schema.Union(
  ...commonFailures,
  WrongMediaType,
  Invalid,
  TookTooLong,
  NoAnswer,
  SlowAnswer
)
