/** Finds workflows for use cases. `NotFound` also for a workflow of a customer that the caller does not reach. */
import { Effect } from "effect"
import type { Failure } from "../../../domain/Failure.js"
import type { Workflow } from "../../../domain/workflow/Workflow.js"
import type { Tx } from "../../ports/Records.js"
import { outOfScope, type Principal } from "../Caller.js"
import { findReached } from "../ReachedRecord.js"

/** The workflow with this id, if the caller's key reaches it. `lock`: locks the row until the transaction ends. */
export const findWorkflow = (tx: Tx, caller: Principal, id: string, lock = false): Effect.Effect<Workflow, Failure> => {
  const refused = outOfScope(caller, "workflow", id)
  if (refused !== undefined) return Effect.fail(refused)
  const where = { id: id as Workflow["id"], spaceId: caller.spaceId, deletedAt: null } // unchecked text from the request
  return findReached(tx.workflows, caller, "workflow", where, lock)
}
