/** A trigger is disabled when the last of the workflows that its routes lead to is archived or deleted. */
import { Effect } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { WorkflowId } from "../../../domain/Ids.js"
import type { Trigger } from "../../../domain/trigger/Trigger.js"
import {
  deletedTrigger,
  disabledEvent,
  disabledTrigger,
  type DisableReason
} from "../../../domain/trigger/TriggerChanges.js"
import type { Identifiers } from "../../ports/Identifiers.js"
import type { AlreadyExists, Changed, Tx } from "../../ports/Records.js"

/** Rows that one statement reads. */
const batchSize = 200

/**
 * Makes the changes of routes and the ends of workflows of an organisation wait for each other, so that each sees what
 * the others did. It is taken before the row of a trigger is locked.
 */
export const lockRoutes = (tx: Tx): Effect.Effect<void, Unavailable> => tx.lockKey("routes")

/** Those of the workflows that can run: neither archived nor deleted. */
const runnableOf = (tx: Tx, ids: ReadonlyArray<WorkflowId>) =>
  tx.workflows.countBy("id", { id: [...new Set(ids)], status: ["draft", "published"], deletedAt: null })

/** Whether a route of the trigger leads to a workflow that can run. */
export const hasRunnableRoute = (tx: Tx, { workflowIds }: Pick<Trigger, "workflowIds">) =>
  Effect.map(runnableOf(tx, workflowIds), ({ size }) => size > 0)

/** After the end of a workflow: disables the active triggers that led to it and lead to no other that can run. */
export const disableTriggersOf = Effect.fnUntraced(function* (
  identifiers: Identifiers["Type"],
  tx: Tx,
  workflowId: WorkflowId,
  reason: DisableReason,
  now: string
): Effect.fn.Return<void, AlreadyExists | Changed | Unavailable> {
  yield* lockRoutes(tx)
  let after: { readonly createdAt: string; readonly id: string } | undefined
  for (;;) {
    const found = yield* tx.triggers.list({
      where: { status: "active", deletedAt: null },
      some: [{ member: "workflowIds", part: "items", among: [workflowId] }],
      limit: batchSize,
      ...(after === undefined ? {} : { after })
    })
    const runnable = yield* runnableOf(
      tx,
      found.flatMap(({ workflowIds }) => workflowIds)
    )
    for (const trigger of found) {
      if (trigger.workflowIds.some((id) => runnable.has(id))) continue
      yield* tx.triggers.update(disabledTrigger(trigger, now))
      if (trigger.schedule !== null) yield* stopSchedule(tx, trigger)
      yield* tx.emit(disabledEvent(identifiers.next("evt"), disabledTrigger(trigger, now), reason, now))
    }
    after = found.at(-1)
    if (found.length < batchSize) return
  }
})

/** Deletes the triggers that a deleted workflow has described, after they were disabled. */
export const deleteManagedTriggers = (tx: Tx, workflowId: WorkflowId, now: string) =>
  Effect.flatMap(tx.triggers.list({ where: { managedBy: workflowId, deletedAt: null }, limit: batchSize }), (found) =>
    Effect.forEach(found, (trigger) => tx.triggers.update(deletedTrigger(trigger, now)), { discard: true })
  )

const stopSchedule = ({ triggerStates }: Tx, { id }: Trigger) =>
  Effect.flatMap(triggerStates.list({ where: { triggerId: id }, limit: 1 }), (states) =>
    Effect.forEach(states, (state) => triggerStates.update({ ...state, nextFireAt: null }), { discard: true })
  )
