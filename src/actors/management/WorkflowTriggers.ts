/** An archived or deleted workflow disables the triggers that lead to it alone. */
import { Effect } from "effect"
import type { Unavailable } from "../../domain/Failure.js"
import type { WorkflowId } from "../../domain/Ids.js"
import type { Trigger } from "../../domain/Trigger.js"
import { disabledEvent, disabledTrigger, type DisableReason } from "../../domain/TriggerChanges.js"
import type { Identifiers } from "../ports/Identifiers.js"
import type { AlreadyExists, Changed, Tx } from "../ports/Records.js"

/** Rows that one statement reads. */
const batchSize = 200

/** Disables the active triggers all of whose routes lead to the workflow. */
export const disableTriggersOf = Effect.fnUntraced(function* (
  identifiers: Identifiers["Type"],
  tx: Tx,
  workflowId: WorkflowId,
  reason: DisableReason,
  now: string
): Effect.fn.Return<void, AlreadyExists | Changed | Unavailable> {
  for (;;) {
    const found = yield* tx.triggers.list({
      where: { status: "active", deletedAt: null },
      only: [{ member: "workflowIds", part: "items", among: [workflowId] }],
      limit: batchSize
    })
    for (const trigger of found) {
      yield* tx.triggers.update(disabledTrigger(trigger, now))
      if (trigger.schedule !== null) yield* stopSchedule(tx, trigger)
      yield* tx.emit(disabledEvent(identifiers.next("evt"), disabledTrigger(trigger, now), reason, now))
    }
    if (found.length < batchSize) return
  }
})

const stopSchedule = ({ triggerStates }: Tx, { id }: Trigger) =>
  Effect.flatMap(triggerStates.list({ where: { triggerId: id }, limit: 1 }), (states) =>
    Effect.forEach(states, (state) => triggerStates.update({ ...state, nextFireAt: null }), { discard: true })
  )
