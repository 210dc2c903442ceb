/** Determines the deliveries of finished runs, which commit with the end of the run. */
import { Effect } from "effect"
import { EndpointSubscriptions } from "../ports/EndpointSubscriptions.js"
import { Identifiers } from "../ports/Identifiers.js"
import type { DeliveryRow, FinishedRun, JournalUnavailable } from "../ports/Journal.js"
import { endDeliveries, eventTypeOf } from "./RunResult.js"

/** The callback of a finished run, and its event for each subscribed endpoint. */
export type DeliveriesOf = (end: FinishedRun) => Effect.Effect<ReadonlyArray<DeliveryRow>, JournalUnavailable>

export const make = Effect.gen(function* () {
  const identifiers = yield* Identifiers
  const { subscribed } = yield* EndpointSubscriptions

  const deliveriesOf: DeliveriesOf = (end) =>
    Effect.map(subscribed(end.run.organisationId, eventTypeOf(end.status)), (endpoints) =>
      endDeliveries(end, endpoints, () => identifiers.next("dlv"))
    )
  return deliveriesOf
})
