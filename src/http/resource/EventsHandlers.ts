/** Handlers of events on surface C. */
import { Effect } from "effect"
import { EventRecords } from "../../actors/management/EventRecords.js"
import { EventReplays } from "../../actors/management/EventReplays.js"
import { eventHeaders } from "../../domain/EventHeaders.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

/** The handlers of `EventsApi`. */
export const EventsLive = groupLayer(ResourceApi, "events", (handlers) =>
  Effect.map(Effect.all([EventRecords, EventReplays]), ([events, replays]) =>
    handlers
      .handle("list", ({ urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => events.list(exchange, urlParams))
      )
      .handle("inject", ({ payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => {
          const { headers } = exchange.request
          const more = { headers: eventHeaders(headers), traceparent: headers["traceparent"] ?? null }
          return inData(replays.inject(exchange, payload, more))
        })
      )
      .handle("reconciliation", ({ urlParams }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => events.reconcile(exchange, urlParams)))
      )
      .handle("get", ({ path }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => events.get(exchange, path.evt)))
      )
      .handle("replay", ({ path, payload }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => replays.replay(exchange, path.evt, payload)))
      )
  )
)
