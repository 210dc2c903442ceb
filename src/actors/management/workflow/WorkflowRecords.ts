/** Finds workflows for use cases. `NotFound` also for a workflow of a customer that the caller does not reach. */
import { Effect, Option } from "effect"
import { type Failure, NotFound } from "../../../domain/Failure.js"
import type { Workflow } from "../../../domain/workflow/Workflow.js"
import type { Tx } from "../../ports/Records.js"
import { outOfScope, type Principal, reaches } from "../Caller.js"

/** The workflow with this id, if the caller's key reaches it. `lock`: locks the row until the transaction ends. */
export const findWorkflow = (tx: Tx, caller: Principal, id: string, lock = false): Effect.Effect<Workflow, Failure> => {
  const refused = outOfScope(caller, "workflow", id)
  if (refused !== undefined) return Effect.fail(refused)
  const notFound = () => new NotFound({ what: "workflow" })
  const where = { id: id as Workflow["id"], spaceId: caller.spaceId, deletedAt: null } // unchecked text from the request
  return Effect.flatMap(
    lock ? tx.workflows.lock(where) : tx.workflows.find(where),
    Option.match({
      onNone: notFound,
      onSome: (workflow) =>
        workflow.customerId === null || reaches(caller, workflow.customerId) ? Effect.succeed(workflow) : notFound()
    })
  )
}
