/** Replies to a start: the workflow's value, its failure, or where its record is. Contract: run responses. */
import type { ExecutionStatus, Tier } from "../../domain/run/Execution.js"
import { isObject, type Json } from "../../domain/Json.js"
import type { Runnable } from "../../actors/ports/run/Runnables.js"
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
  readonly statusReason: string | null
  /** The status of the answer that a flow says. */
  readonly answerStatus: number | undefined
}

/** Makes the reply to a run that has ended. `now`: Unix milliseconds; `more`: further headers. */
export type EndedReply = (
  run: EndedRun,
  requestId: string,
  now: number,
  more?: { readonly [name: string]: string }
) => RawReply

/** How a surface differs in the start of a run. */
export interface StartSurface {
  readonly endedReply: EndedReply
  readonly acceptedReply: typeof acceptedReply
  /** Whether a flow's own authentication is checked. */
  readonly hasCustomAuth: boolean
  /** How long the caller of an Instant run waits, where it is not the tier's ceiling. */
  readonly synchronous: (runnable: Pick<Runnable, "timeoutMillis">) => { readonly synchronousMillis?: number }
}

/** Whether the run went to its end, although a step may have failed. */
export const wentToItsEnd = ({ status, statusReason }: Pick<EndedRun, "status" | "statusReason">): boolean =>
  status === "completed" || statusReason === "continued_after_error"

/** The headers of every reply to a start. */
export const runHeaders = (
  run: { readonly id: string; readonly status: string; readonly version: number | null },
  requestId: string
) => ({
  "x-request-id": requestId,
  "x-svc-execution-id": run.id,
  "x-svc-execution-status": run.status,
  "x-svc-workflow-version": run.version === null ? "draft" : String(run.version)
})

/** What a flow answers: its output, or what it says for the case that it fails, with its status. `undefined`: nothing. */
export const flowAnswer = (run: EndedRun, headers: { readonly [name: string]: string }): RawReply | undefined =>
  wentToItsEnd(run) || (run.status === "failed" && run.answerStatus !== undefined)
    ? jsonReply(run.answerStatus ?? 200, run.output, headers)
    : undefined

/** Of a run's error, what its caller is told. */
export const errorOf = (error: Json): Json => {
  const {
    category = null,
    message = null,
    name = null,
    retryable = false,
    step = null,
    code
  } = isObject(error) ? error : {}
  return { name, message, category, step, retryable, ...(code === undefined ? {} : { code }) }
}

/** A workflow that throws is a failed execution and not an HTTP error. */
const failedBody = ({ error, id, status }: EndedRun): Json => ({ executionId: id, status, error: errorOf(error) })

/** The reply to an Instant run: 200 with its value or failure, 408 if it timed out. `now`: Unix milliseconds. */
export const endedReply: EndedReply = (run, requestId, now, more = {}) => {
  const headers = { ...runHeaders(run, requestId), ...more }
  if (wentToItsEnd(run)) return jsonReply(200, run.output, headers)
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

/** Surfaces A and C. */
export const executionSurface: StartSurface = {
  endedReply,
  acceptedReply,
  hasCustomAuth: false,
  synchronous: () => ({})
}
