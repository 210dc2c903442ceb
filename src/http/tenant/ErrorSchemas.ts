/** Schemas of surface B's error bodies, for its OpenAPI document. Contract: errors. */
import { Schema } from "effect"
import { JsonObject } from "../../domain/Json.js"
import { failuresOf } from "../ErrorSchemas.js"
import { isTenantCode, tenantFailureRow } from "./ErrorRows.js"

const failures = failuresOf({
  more: {
    /** Whether the flow's own authentication refused the caller. */
    isCustomAuthError: Schema.Boolean,
    step: Schema.String.annotations({ description: "the step of the flow that failed; empty if there is none" }),
    datasourceDebug: Schema.NullOr(Schema.Struct({ name: Schema.String, jsonObject: JsonObject }))
  },
  describeWhen: (code) => (isTenantCode(code) ? `with the code ${code}` : `with ${code} as the first detail's code`),
  row: (failure) => tenantFailureRow(failure, 0)
})

/** Failures of surface B, one schema for each status. */
export const TenantFailures = Schema.Union(
  failures(
    "TenantBadRequest",
    400,
    ["InvalidRequest", "ValidationFailed", "DatasourceFailed"],
    ["INVALID_REQUEST", "DATASOURCE_CONNECTION_ERROR"]
  ),
  failures("TenantNotAuthorized", 401, ["Unauthorized"], ["UNAUTHORIZED"]),
  failures("TenantNotAllowed", 403, ["Forbidden", "PlanLimitReached"], ["FORBIDDEN"]),
  failures("TenantMissing", 404, ["NotFound", "WorkflowUnavailable"], ["NOT_FOUND"]),
  failures("TenantTookTooLong", 408, ["TimedOut"], ["TIMED_OUT"]),
  failures(
    "TenantConflicting",
    409,
    [
      "Conflict",
      "InvalidState",
      "Managed",
      "IdempotencyInProgress",
      "ConnectionRequired",
      "CategoryConnectionRequired",
      "ConnectionInactive"
    ],
    ["CONFLICT"]
  ),
  failures("TenantTooLarge", 413, ["PayloadTooLarge"], ["PAYLOAD_TOO_LARGE"]),
  failures("TenantWrongMediaType", 415, ["UnsupportedMediaType"], ["UNSUPPORTED_MEDIA_TYPE"]),
  failures(
    "TenantTooMany",
    429,
    ["RateLimited", "TooManyRuns", "TooManyWatches", "TooManyCalls", "ProviderLimited", "QuotaExceeded"],
    ["RATE_LIMITED"]
  ),
  failures("TenantUnexpected", 500, ["FlowFailed"], ["INTERNAL_ERROR"]),
  failures("TenantNoAnswer", 502, ["ProviderFailed"], ["INTERNAL_ERROR"]),
  failures("TenantNotNow", 503, ["Unavailable"], ["INTERNAL_ERROR"]),
  failures("TenantSlowAnswer", 504, ["ProviderTimedOut"], ["INTERNAL_ERROR"])
)
