/** Replies to a start: the workflow's value, its failure, or where its record is. Contract: run responses. */
import type { ExecutionStatus, Tier } from "../../domain/run/Execution.js"
import { isObject, type Json } from "../../domain/Json.js"
import { TimedOut } from "../../domain/Failure.js"
import { failureReply } from "../ErrorRows.js"
import { jsonReply, type RawReply } from "../Wire.js"

/** A run that has ended. */
export interface EndedRun {
  readonly id: string
  readonly status: ExecutionStatus
  readonly version: number | null
  readonly output: Json
  readonly error: Json
}

const runHeaders = (
  run: { readonly id: string; readonly status: string; readonly version: number | null },
  requestId: string
) => ({
  "x-request-id": requestId,
  "x-svc-execution-id": run.id,
  "x-svc-execution-status": run.status,
  "x-svc-workflow-version": run.version === null ? "draft" : String(run.version)
})

/** A workflow that throws is a failed execution and not an HTTP error. */
const failedBody = (run: EndedRun): Json => {
  const {
    category = null,
    message = null,
    name = null,
    retryable = false,
    step = null,
    code
  } = isObject(run.error) ? run.error : {}
  return {
    executionId: run.id,
    status: run.status,
    error: { name, message, category, step, retryable, ...(code === undefined ? {} : { code }) }
  }
}

/** The reply to an Instant run: 200 with its value or failure, 408 if it timed out. `now`: Unix milliseconds. */
export const endedReply = (
  run: EndedRun,
  requestId: string,
  now: number,
  more: { readonly [name: string]: string } = {}
): RawReply => {
  const headers = { ...runHeaders(run, requestId), ...more }
  if (run.status === "completed") return jsonReply(200, run.output, headers)
  if (run.status === "timed_out") {
    const reply = failureReply(new TimedOut({ executionId: run.id }), requestId, now)
    return { ...reply, headers: { ...reply.headers, ...headers } }
  }
  return jsonReply(200, failedBody(run), headers)
}

/** 202 with the path of the record, for a run that continues after the reply. */
export const acceptedReply = (
  run: { readonly id: string; readonly version: number | null; readonly tier: Tier; readonly callback: boolean },
  requestId: string,
  more: { readonly [name: string]: string } = {}
): RawReply =>
  jsonReply(
    202,
    { executionId: run.id, status: "pending", tier: run.tier, callback: run.callback },
    {
      ...runHeaders({ ...run, status: "pending" }, requestId),
      location: `/api/v1/executions/${run.id}`,
      ...more
    }
  )
