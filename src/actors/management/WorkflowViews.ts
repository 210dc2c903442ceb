/** Views of workflows, for answers and the audit trail. */
import { Effect } from "effect"
import type { Workflow } from "../../domain/Workflow.js"
import { workflowView } from "../../domain/WorkflowView.js"
import type { Tx } from "../ports/Records.js"
import { type Principal, scopedIds } from "./Caller.js"
import { maxVersionsShown } from "./WorkflowVersions.js"

/** The view; a key that is narrowed to environments sees only their deployments. */
export const readWorkflowView = Effect.fnUntraced(function* (
  tx: Tx,
  caller: Principal,
  workflow: Workflow,
  diagram = false
) {
  const environments = scopedIds(caller, "environment")
  const versions = yield* tx.workflowVersions.list({ where: { workflowId: workflow.id }, limit: maxVersionsShown })
  const deployments = yield* tx.deployments.list({
    where: { workflowId: workflow.id, ...(environments === undefined ? {} : { environment: environments }) },
    limit: maxVersionsShown
  })
  return workflowView(workflow, { versions, deployments, diagram })
})

/** The workflow, for the audit trail. */
export const workflowResource = ({ customerId, id, name }: Workflow) => ({ id, name, customerId })
