/** Replies to the start of an embed session: its status and a message, and nothing else of what the workflow returned. */
import { embeddedRun } from "../../domain/run/EmbeddedExecution.js"
import { jsonReply } from "../Wire.js"
import { executionSurface, type StartSurface, wentToItsEnd } from "./RunReply.js"

/** How an embed session starts runs. */
export const offeredSurface: StartSurface = {
  ...executionSurface,
  endedReply: (run, requestId, _now, more = {}) =>
    jsonReply(
      200,
      { ...embeddedRun(run.id, run.status, wentToItsEnd(run) ? run.output : null) },
      { "x-request-id": requestId, ...more }
    ),
  acceptedReply: ({ id }, requestId, more = {}) =>
    jsonReply(
      202,
      { ...embeddedRun(id, "pending", null) },
      { "x-request-id": requestId, location: `/api/v1/executions/${id}`, ...more }
    )
}
