/** Views of workflows, for answers and the audit trail. */
import { Effect } from "effect"
import type { Workflow } from "../../../domain/workflow/Workflow.js"
import { workflowView } from "../../../domain/workflow/WorkflowView.js"
import type { Tx } from "../../ports/Records.js"
import { type Principal, scopedIds } from "../Caller.js"
import { maxVersionsShown } from "./WorkflowVersions.js"

/** The published versions of these workflows, perhaps with others of them. */
export const publishedVersions = (tx: Tx, workflows: ReadonlyArray<Pick<Workflow, "id" | "publishedVersion">>) => {
  const published = workflows.flatMap(({ id, publishedVersion }) =>
    publishedVersion === null ? [] : [{ id, publishedVersion }]
  )
  const number = [...new Set(published.map(({ publishedVersion }) => publishedVersion))]
  const workflowId = [...new Set(published.map(({ id }) => id))]
  return published.length === 0
    ? Effect.succeed([])
    : tx.workflowVersions.list({ where: { workflowId, number }, limit: workflowId.length * number.length })
}

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
  const isListed = versions.some(({ number }) => number === workflow.publishedVersion)
  const published = isListed ? [] : yield* publishedVersions(tx, [workflow])
  return workflowView(workflow, { versions: [...versions, ...published], deployments, diagram })
})

/** The workflow, for the audit trail. */
export const workflowResource = ({ customerId, id, name }: Workflow) => ({ id, name, customerId })
