/** What a request starts: a workflow by its id on surfaces A and C, or a flow by its name on surface B. */
import { calledFlow } from "../../domain/workflow/Workflow.js"
import { pathOf, type RequestHead } from "../Wire.js"

export type CalledWorkflow = { readonly workflowId: string } | { readonly flowName: string }

const executePath = /^\/api\/v1\/workflows\/([^/?]+)\/(?:execute|run)(?:\?|$)/
const bearerKey = /^bearer +svk_/i

/** Whether the request has a key in `authorization` and no header of surface B: its path is a mistyped one of A or C. */
const isForOthers = ({ headers }: Pick<RequestHead, "headers">): boolean =>
  bearerKey.test(headers["authorization"] ?? "") &&
  headers["x-svc-api-key"] === undefined &&
  headers["x-svc-space-id"] === undefined

/** What a request starts; `undefined`: nothing. */
export const calledWorkflow = (
  request: Pick<RequestHead, "method" | "target" | "headers">
): CalledWorkflow | undefined => {
  if (request.method !== "POST") return undefined
  const workflowId = executePath.exec(request.target)?.[1]
  if (workflowId !== undefined) return { workflowId }
  const flowName = calledFlow(pathOf(request.target))
  return flowName === undefined || isForOthers(request) ? undefined : { flowName }
}
