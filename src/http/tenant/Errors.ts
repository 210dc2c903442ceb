/**
 * Errors as surface B answers them: its own few codes, and the finer one of the other surfaces as the first detail.
 * Specification: Errors; contract: errors.
 */
import type { Failure } from "../../domain/Failure.js"
import { errorReply, errorRow } from "../Surface.js"
import type { RawReply } from "../Wire.js"

const codes: { readonly [status: number]: string } = {
  400: "INVALID_REQUEST",
  401: "UNAUTHORIZED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  405: "METHOD_NOT_ALLOWED",
  408: "TIMED_OUT",
  409: "CONFLICT",
  413: "PAYLOAD_TOO_LARGE",
  415: "UNSUPPORTED_MEDIA_TYPE",
  429: "RATE_LIMITED"
}

type Row = Parameters<typeof errorReply>[0]

/** What A and C answer 422 is a bad request here; a workflow that cannot run is not there. */
const statusOf = (status: number, unavailableWorkflow: boolean): number =>
  unavailableWorkflow ? 404 : status === 422 ? 400 : status

const tenantRow = (row: Row, unavailableWorkflow = false): Row => {
  const status = statusOf(row.status, unavailableWorkflow)
  const code = codes[status] ?? "INTERNAL_ERROR"
  const finer = row.code === code ? [] : [{ path: "", code: row.code, message: row.message }]
  return {
    ...row,
    status,
    code,
    details: [...finer, ...(row.details ?? [])],
    more: { isCustomAuthError: false, step: "", datasourceDebug: null, ...row.more }
  }
}

/** `now`: Unix milliseconds. */
export const tenantFailureRow = (failure: Failure, now: number): Row =>
  tenantRow(errorRow(failure, now), failure._tag === "WorkflowUnavailable")

export const tenantFailure = (failure: Failure, requestId: string, now: number): RawReply =>
  errorReply(tenantFailureRow(failure, now), requestId)
export const tenantError = (row: Row, requestId: string): RawReply => errorReply(tenantRow(row), requestId)
