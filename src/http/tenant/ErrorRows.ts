/**
 * The error rows of surface B: one code for each status, with the more precise code of the other surfaces as the first
 * detail. Specification: Errors; contract: errors.
 */
import type { Failure } from "../../domain/Failure.js"
import { errorReply, errorRow } from "../ErrorRows.js"
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

/** The code that surface B has besides those of statuses: a connected system refused or failed. */
const datasource = "DATASOURCE_CONNECTION_ERROR"
const unexpected = "INTERNAL_ERROR"
const ownCodes = new Set([...Object.values(codes), datasource, unexpected])

/** Whether a code is one of surface B itself. */
export const isTenantCode = (code: string): boolean => ownCodes.has(code)

type Row = Parameters<typeof errorReply>[0]

/** Surface B answers 400 for the 422 of A and C, and 404 for a workflow that cannot run. */
const statusOf = (status: number, unavailableWorkflow: boolean): number =>
  unavailableWorkflow ? 404 : status === 422 ? 400 : status

const tenantRow = (row: Row, unavailableWorkflow = false): Row => {
  const status = statusOf(row.status, unavailableWorkflow)
  const code = row.code === datasource ? datasource : (codes[status] ?? unexpected)
  const preciseDetail = row.code === code ? [] : [{ path: "", code: row.code, message: row.message }]
  return {
    ...row,
    status,
    code,
    details: [...preciseDetail, ...(row.details ?? [])],
    more: { isCustomAuthError: false, step: "", datasourceDebug: null, ...row.more }
  }
}

/** The row of a failure on surface B. `now`: Unix milliseconds. */
export const tenantFailureRow = (failure: Failure, now: number): Row => {
  const row = tenantRow(errorRow(failure, now), failure._tag === "WorkflowUnavailable")
  return failure._tag === "Unauthorized" && failure.isCustomAuth
    ? { ...row, more: { ...row.more, isCustomAuthError: true } }
    : row
}

/** The reply to a failure on surface B. `now`: Unix milliseconds. */
export const tenantFailureReply = (failure: Failure, requestId: string, now: number): RawReply =>
  errorReply(tenantFailureRow(failure, now), requestId)

/** The reply to the sender of a webhook. One that can be sent again has the code that says so, as on the other surfaces. */
export const webhookFailureReply = (failure: Failure, requestId: string, now: number): RawReply => {
  const row = tenantFailureRow(failure, now)
  if (failure._tag !== "Unavailable") return errorReply(row, requestId)
  return errorReply({ ...row, code: errorRow(failure, now).code, details: [] }, requestId)
}

/** The reply of a row of the other surfaces, translated to surface B. */
export const tenantErrorReply = (row: Row, requestId: string): RawReply => errorReply(tenantRow(row), requestId)
