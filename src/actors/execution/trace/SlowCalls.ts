/** Calls in flight that take long: the trace shows them as running steps before they end. */
import type { RunChange } from "../../ports/run/Journal.js"
import type { PendingCall } from "../PendingCall.js"
import type { Progress } from "../Progress.js"
import { Recorded, stepRow } from "./Trace.js"

/** Slow calls that are shown in one change. */
const most = 200

/** The calls that began before `before` and whose step is not yet written; none of a run without a row. */
export const slowCallsOf = ({ hasRow, unshownCalls }: Progress, before: number): ReadonlyArray<PendingCall> => {
  const slow: Array<PendingCall> = []
  if (!hasRow) return slow
  for (const call of unshownCalls.values()) {
    if (slow.length === most || call.startedAt >= before) break
    slow.push(call)
  }
  return slow
}

/** Takes a change that shows calls as running steps. Separate, because its failure does not matter. */
export const takeSlowSteps = (
  { ports, redaction, run, unshownCalls }: Progress,
  calls: ReadonlyArray<PendingCall>
): RunChange => {
  const { epoch, id, organisationId, retention, spaceId } = run
  const recorded = new Recorded()
  const steps = calls.map((call) => {
    call.isShown = true
    unshownCalls.delete(call.id)
    return stepRow({ ...call, attempts: [], finishedAt: null, result: null }, redaction.scrub, ports.offload, recorded)
  })
  return { id, organisationId, spaceId, retention, epoch, steps, blobs: recorded.blobs }
}
