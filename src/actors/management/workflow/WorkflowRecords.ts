/** Finds and shows workflows for use cases. `NotFound` also for a workflow of a customer that the caller does not reach. */
import { Effect, Option } from "effect"
import { type Failure, NotFound } from "../../../domain/Failure.js"
import type { CustomerId } from "../../../domain/Ids.js"
import type { Workflow, WorkflowVersion } from "../../../domain/workflow/Workflow.js"
import type { Tx } from "../../ports/Records.js"
import { outOfScope, type Principal, scopedIds } from "../Caller.js"
import { findReached } from "../ReachedRecord.js"
import { contentView, type PublishedContent, workflowView } from "../../../domain/workflow/WorkflowView.js"

/** Versions and deployments that a workflow's view shows at most. */
export const maxVersionsShown = 200

/** The workflow with this id, if the caller's key reaches it. `lock`: locks the row until the transaction ends. */
export const findWorkflow = (tx: Tx, caller: Principal, id: string, lock = false): Effect.Effect<Workflow, Failure> => {
  const refused = outOfScope(caller, "workflow", id)
  if (refused !== undefined) return Effect.fail(refused)
  const where = { id: id as Workflow["id"], spaceId: caller.spaceId, deletedAt: null } // unchecked text from the request
  return findReached(tx.workflows, caller, "workflow", where, lock)
}

/** A published version by its number. */
export const findVersion = (
  tx: Tx,
  { id }: Pick<Workflow, "id">,
  number: number
): Effect.Effect<WorkflowVersion, Failure> =>
  Effect.flatMap(
    tx.workflowVersions.find({ workflowId: id, number }),
    Option.match({ onNone: () => new NotFound({ what: "version" }), onSome: (found) => Effect.succeed(found) })
  )

/** The content of the published version; `null`: there is none. */
export const publishedContent = (tx: Tx, workflow: Workflow): Effect.Effect<PublishedContent | null, Failure> =>
  workflow.publishedVersion === null
    ? Effect.succeed(null)
    : Effect.map(findVersion(tx, workflow, workflow.publishedVersion), contentView)

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

/** Whose deployments a caller is shown: those of the workflow's owner, and of the customers that it is limited to. */
const shownOwners = ({ customers }: Principal, { customerId }: Workflow): ReadonlyArray<CustomerId | null> =>
  customers === "all" ? [customerId] : [customerId, ...customers]

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
    where: {
      workflowId: workflow.id,
      customerId: shownOwners(caller, workflow),
      ...(environments === undefined ? {} : { environment: environments })
    },
    limit: maxVersionsShown
  })
  const isListed = versions.some(({ number }) => number === workflow.publishedVersion)
  const published = isListed ? [] : yield* publishedVersions(tx, [workflow])
  return workflowView(workflow, { versions: [...versions, ...published], deployments, diagram })
})

/** The workflow, for the audit trail. */
export const workflowResource = ({ customerId, id, name }: Workflow) => ({ id, name, customerId })
