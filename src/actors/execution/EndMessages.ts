/** Determines what the end of a run causes, and commits with it: deliveries, and a dead letter. */
import { Effect } from "effect"
import { EndpointSubscriptions, type SubscribedEndpoint } from "../ports/delivery/EndpointSubscriptions.js"
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

/** Makes the functions that find what the end of a run causes. */
export const make = Effect.gen(function* () {
  const identifiers = yield* Identifiers
  const { cached, subscribed } = yield* EndpointSubscriptions

  const messages = (end: FinishedRun, endpoints: ReadonlyArray<SubscribedEndpoint>): EndMessages => {
    const deliveries = endDeliveries(end, endpoints, () => identifiers.next("dlv"))
    const deadLetters = deadLettersOf(end, () => identifiers.next("dlq"))
    return {
      ...(deliveries.length > 0 ? { deliveries } : {}),
      ...(deadLetters.length > 0 ? { deadLetters } : {})
    }
  }

  const messagesOf: MessagesOf = (end) =>
    Effect.map(subscribed(end.run.organisationId, eventTypeOf(end.status)), (endpoints) => messages(end, endpoints))

  /** The same without an effect; `undefined` if the organisation's endpoints must be read first. */
  const cachedMessagesOf = (end: FinishedRun): EndMessages | undefined => {
    const endpoints = cached(end.run.organisationId, eventTypeOf(end.status))
    return endpoints === undefined ? undefined : messages(end, endpoints)
  }

  return { cachedMessagesOf, messagesOf }
})
