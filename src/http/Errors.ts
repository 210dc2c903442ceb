/** The error bodies of the surfaces A and C as the OpenAPI documents tell of them: one for each status. */
import { type HttpApi, type HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import type { Failure } from "../domain/Failure.js"
import { errorRow, isFailure } from "./Surface.js"

const DetailBody = Schema.Struct({
  path: Schema.String,
  code: Schema.String,
  message: Schema.String,
  line: Schema.optional(Schema.Number),
  column: Schema.optional(Schema.Number)
}).annotations({ identifier: "ErrorDetail" })

const body = (status: number, codes: ReadonlyArray<string>) =>
  Schema.Struct({
    code: Schema.String.annotations({ description: codes.join(", ") }),
    statusCode: Schema.Literal(status),
    message: Schema.String,
    requestId: Schema.String,
    retryable: Schema.Boolean,
    details: Schema.Array(DetailBody)
  })

/** A failure of one status: tagged inside, a plain body on the wire. */
const failures = <Tag extends Failure["_tag"]>(
  name: string,
  status: number,
  tags: ReadonlyArray<Tag>,
  codes: ReadonlyArray<string>
) =>
  Schema.transform(
    body(status, codes),
    Schema.declare(
      (value: unknown): value is Extract<Failure, { readonly _tag: Tag }> =>
        isFailure(value) && tags.some((tag) => tag === value._tag)
    ),
    {
      strict: false,
      // Only servers make failures: a client gets the body.
      decode: (wire) => wire,
      encode: (failure: Failure) => {
        const row = errorRow(failure, 0)
        return {
          code: row.code,
          statusCode: row.status,
          message: row.message,
          requestId: "",
          retryable: false,
          details: row.details ?? []
        }
      }
    }
  ).annotations({ identifier: name, ...HttpApiSchema.annotations({ status }) })

export const BadRequest = failures(
  "BadRequest",
  400,
  ["InvalidRequest"],
  ["INVALID_REQUEST", "INVALID_CURSOR", "INVALID_HEADER"]
)
export const NotAuthorized = failures(
  "NotAuthorized",
  401,
  ["Unauthorized"],
  ["UNAUTHORIZED", "KEY_REVOKED", "KEY_EXPIRED", "IDENTITY_HMAC_REQUIRED", "IDENTITY_HMAC_INVALID"]
)
export const NotAllowed = failures(
  "NotAllowed",
  403,
  ["Forbidden", "PlanLimitReached"],
  [
    "FORBIDDEN",
    "IP_NOT_ALLOWED",
    "CUSTOMER_NOT_REACHABLE",
    "RESOURCE_OUT_OF_SCOPE",
    "TEST_MODE_HEADER_REQUIRED",
    "PLAN_LIMIT_REACHED"
  ]
)
export const Missing = failures("Missing", 404, ["NotFound"], ["NOT_FOUND"])
export const Conflicting = failures(
  "Conflicting",
  409,
  [
    "Conflict",
    "InvalidState",
    "WorkflowUnavailable",
    "IdempotencyInProgress",
    "ConnectionRequired",
    "ConnectionInactive"
  ],
  [
    "CONFLICT",
    "VERSION_MISMATCH",
    "INVALID_STATE",
    "WORKFLOW_NOT_PUBLISHED",
    "WORKFLOW_NOT_DEPLOYED",
    "WORKFLOW_ARCHIVED",
    "IDEMPOTENCY_IN_PROGRESS",
    "CONNECTION_REQUIRED",
    "CONNECTION_NOT_ACTIVE"
  ]
)
export const TooLarge = failures("TooLarge", 413, ["PayloadTooLarge"], ["PAYLOAD_TOO_LARGE"])
export const WrongMediaType = failures("WrongMediaType", 415, ["UnsupportedMediaType"], ["UNSUPPORTED_MEDIA_TYPE"])
export const Invalid = failures(
  "Invalid",
  422,
  ["ValidationFailed"],
  [
    "VALIDATION_FAILED",
    "INPUT_CONTRACT_VIOLATION",
    "RESERVED_NAME",
    "UNKNOWN_FIELD",
    "IMMUTABLE_FIELD",
    "IDEMPOTENCY_KEY_REUSED",
    "CREDENTIAL_TEST_FAILED"
  ]
)
export const TooMany = failures("TooMany", 429, ["RateLimited", "ProviderLimited"], ["RATE_LIMITED"])
export const NoAnswer = failures("NoAnswer", 502, ["ProviderFailed"], ["PROVIDER_ERROR"])
export const SlowAnswer = failures("SlowAnswer", 504, ["ProviderTimedOut"], ["PROVIDER_TIMEOUT"])
export const NotNow = failures("NotNow", 503, ["Unavailable"], ["UNAVAILABLE"])
export const TookTooLong = failures("TookTooLong", 408, ["TimedOut"], ["TIMED_OUT"])

/** The API with every failure that the gate can answer for it. */
export const withFailures = <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R>(
  api: HttpApi.HttpApi<Id, Groups, E, R>
) =>
  api
    .addError(BadRequest)
    .addError(NotAuthorized)
    .addError(NotAllowed)
    .addError(Missing)
    .addError(Conflicting)
    .addError(TooLarge)
    .addError(WrongMediaType)
    .addError(Invalid)
    .addError(TooMany)
    .addError(TookTooLong)
    .addError(NoAnswer)
    .addError(SlowAnswer)
    .addError(NotNow)
