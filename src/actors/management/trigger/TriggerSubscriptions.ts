/** Use cases of a trigger's subscriptions at its provider: show how they stand, retry those that failed. */
import { Effect } from "effect"
import { type Failure, InvalidState } from "../../../domain/Failure.js"
import { gravestFirst, type ListedSubscription, listedSubscription } from "../../../domain/trigger/Subscription.js"
import type { TriggerView } from "../../../domain/trigger/TriggerView.js"
import type { CallContext } from "../CallContext.js"
import { Origin } from "../../ports/Origin.js"
import { Changes } from "../Changes.js"
import { currentTimestamp } from "../Timestamp.js"
import { findTrigger, lockTrigger, triggerResource, viewOfTrigger } from "./TriggerRecords.js"

/** Subscriptions of one trigger that are read, or retried at once. */
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

/** Subscriptions of one trigger that are shown. */
const mostShown = 200

/** Those of customers that the caller reaches, the failed ones first. */
export const makeSubscriptionList = Effect.gen(function* () {
  const { read } = yield* Changes
  return (context: CallContext, id: string): Effect.Effect<ReadonlyArray<ListedSubscription>, Failure> =>
    read(context, function* (tx) {
      const { caller } = context
      const { id: triggerId } = yield* findTrigger(tx, caller, id)
      const failed = yield* tx.subscriptions.list({ where: { triggerId, state: "failed" }, limit: mostShown })
      const all = yield* tx.subscriptions.list({ where: { triggerId }, limit: maxRetried })
      const found = [...failed, ...gravestFirst(all.filter(({ state }) => state !== "failed"))]
      const connections = yield* tx.connections.list({
        where: {
          id: found.map(({ connectionId }) => connectionId),
          ...(caller.customers === "all" ? {} : { customerId: [...caller.customers] })
        },
        limit: found.length
      })
      const customers = new Map(connections.map((one) => [one.id, one.customerId]))
      return found
        .flatMap((one) => {
          const customerId = customers.get(one.connectionId)
          return customerId === undefined ? [] : [listedSubscription(one, customerId)]
        })
        .slice(0, mostShown)
    })
})
