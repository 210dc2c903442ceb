/** Determines what the end of a run causes, and commits with it: deliveries, and a dead letter. */
import { Effect } from "effect"
import { EndpointSubscriptions } from "../ports/delivery/EndpointSubscriptions.js"
import { Identifiers } from "../ports/Identifiers.js"
import type { FinishedRun, JournalUnavailable, RunChange } from "../ports/run/Journal.js"
import { deadLettersOf, endDeliveries, eventTypeOf } from "./RunResult.js"

/** Members of the change that ends a run; absent where there are none. */
export type EndMessages = Pick<RunChange, "deliveries" | "deadLetters">

/**
 * The callback of a finished run, its event for each subscribed endpoint, and the dead letter of one that failed and was
 * started by an event, or was given up because it ended its processes.
 */
export type MessagesOf = (end: FinishedRun) => Effect.Effect<EndMessages, JournalUnavailable>

export const make = Effect.gen(function* () {
  const identifiers = yield* Identifiers
  const { subscribed } = yield* EndpointSubscriptions

  const messagesOf: MessagesOf = (end) =>
    Effect.map(subscribed(end.run.organisationId, eventTypeOf(end.status)), (endpoints) => {
      const deliveries = endDeliveries(end, endpoints, () => identifiers.next("dlv"))
      const deadLetters = deadLettersOf(end, () => identifiers.next("dlq"))
      return {
        ...(deliveries.length > 0 ? { deliveries } : {}),
        ...(deadLetters.length > 0 ? { deadLetters } : {})
      }
    })
  return messagesOf
})
