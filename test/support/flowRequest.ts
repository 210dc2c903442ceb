/** Versions of flows, and requests to run them. */
import type { StartRequest } from "../../src/actors/ports/run/Executions.js"
import type { Runnable } from "../../src/actors/ports/run/Runnables.js"
import type { OrganisationId, SpaceId, WorkflowId } from "../../src/domain/Ids.js"
import type { Json } from "../../src/domain/Json.js"
import { defaultRetryPolicy } from "../../src/domain/run/Execution.js"
import { request } from "./runWorld.js"

/** A version of a flow. */
export interface FlowVersion {
  readonly hash: string
  /** How often a run of it is tried. Default: once. */
  readonly attempts?: number
  readonly spec: Json
  readonly script: string
}

export const runnableOf = ({ attempts = 1, hash, script }: FlowVersion): Runnable => ({
  organisationId: "org_01jd0000000000000000000000" as OrganisationId,
  spaceId: "spc_01jd0000000000000000000000" as SpaceId,
  workflowId: "wf_0123456789ab" as WorkflowId,
  customerId: null,
  name: "random",
  enabled: true,
  // It waits in memory: a run of another tier would be suspended.
  tier: "instant",
  timeoutMillis: null,
  retry: { ...defaultRetryPolicy, enabled: attempts > 1, maxAttempts: attempts },
  callbackUrl: null,
  version: 1,
  script,
  contentHash: hash,
  inputContract: null,
  outputContract: null,
  bindings: [],
  waits: false,
  customAuth: null
})

export const requestOf = (version: FlowVersion, input: Json, parent?: StartRequest["parent"]): StartRequest => ({
  ...request(runnableOf(version)),
  input,
  ...(parent === undefined ? {} : { parent })
})
