/** Use case of a trigger's subscriptions at its provider: retry those that failed. */
import { Effect } from "effect"
import { type Failure, InvalidState } from "../../../domain/Failure.js"
import type { TriggerView } from "../../../domain/trigger/TriggerView.js"
import type { CallContext } from "../CallContext.js"
import { Origin } from "../../ports/Origin.js"
import { Changes } from "../Changes.js"
import { currentTimestamp } from "../Timestamp.js"
import { lockTrigger, triggerResource, viewOfTrigger } from "./TriggerRecords.js"

/** Subscriptions of one trigger that are retried at once. */
const maxRetried = 1_000

/** Tries the failed subscriptions of a trigger again at once. */
export const makeSubscriptionRetry = Effect.gen(function* () {
  const { change } = yield* Changes
  const origin = yield* Origin
  return (context: CallContext, id: string): Effect.Effect<TriggerView, Failure> =>
    change(context, function* (tx) {
      const trigger = yield* lockTrigger(tx, context, id)
      const failed = yield* tx.subscriptions.list({
        where: { triggerId: trigger.id, state: "failed" },
        limit: maxRetried
      })
      if (failed.length === 0)
        return yield* new InvalidState({
          state: (yield* viewOfTrigger(tx, origin, trigger)).appEvent?.subscription ?? "none",
          message: "no subscription of the trigger has failed"
        })
      const nextAt = yield* currentTimestamp
      for (const one of failed) yield* tx.subscriptions.update({ ...one, state: "pending", attempts: 0, nextAt })
      return {
        value: yield* viewOfTrigger(tx, origin, trigger),
        resource: triggerResource(trigger),
        before: { subscription: "failed" },
        after: { subscription: "pending" }
      }
    })
})
