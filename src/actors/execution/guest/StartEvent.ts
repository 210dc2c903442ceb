/** The event that starts a guest: what the workflow gets as its context. Contract: runtime calls. */
import type { Json } from "../../../domain/Json.js"
import type { Digests } from "../../ports/Digests.js"
import type { GuestEvent } from "../../ports/run/Sandbox.js"
import type { RunSpec } from "../RunSpec.js"

const contextOf = ({ history, run, start }: RunSpec): Json => ({
  input: start.input,
  headers: start.headers,
  customer: start.customer,
  installation: start.installation === null ? null : { id: start.installation.id, config: start.installation.config },
  ...(start.event === undefined ? {} : { event: { ...start.event } }),
  execution: {
    id: run.id,
    attempt: run.attempt,
    environment: run.record.environment,
    workflowVersion: run.record.workflowVersion,
    // Its steps ask whether the other run has completed them.
    ...(history === null || history.anew.resumptions === 0 ? {} : { resumes: run.record.parentId })
  }
})

/** Makes the function that makes the start of a run's guest: the same at every replay. */
export const makeStartEvent =
  ({ seed }: Digests["Type"]) =>
  (spec: RunSpec): GuestEvent => ({
    t: "start",
    now: spec.start.at,
    seed: seed(spec.run.record.rootId),
    ctx: contextOf(spec)
  })
