/** Handlers of triggers on surface C. */
import { Effect } from "effect"
import { TriggerFiring } from "../../actors/management/TriggerFiring.js"
import type { CallContext } from "../../actors/management/CallContext.js"
import { Triggers } from "../../actors/management/Triggers.js"
import { eventHeaders } from "../../domain/EventHeaders.js"
import type { Failure } from "../../domain/Failure.js"
import type { TriggerWithKey } from "../../domain/TriggerView.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

/** The handlers of `TriggersApi`. */
export const TriggersLive = groupLayer(ResourceApi, "triggers", (handlers) =>
  Effect.map(Effect.all([Triggers, TriggerFiring]), ([triggers, { fire }]) => {
    const withWarnings = (exchange: CallContext, saving: Effect.Effect<TriggerWithKey, Failure>) =>
      Effect.gen(function* () {
        const data = yield* saving
        const warnings = yield* triggers.warnings(exchange, data)
        return { data, ...(warnings.length === 0 ? {} : { warnings }) }
      })

    return handlers
      .handle("list", ({ urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => triggers.list(exchange, urlParams))
      )
      .handle("create", ({ payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => withWarnings(exchange, triggers.create(exchange, payload)))
      )
      .handle("get", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(triggers.get(exchange, path.trg)))
      )
      .handle("update", ({ path, payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) =>
          withWarnings(exchange, triggers.update(exchange, path.trg, payload))
        )
      )
      .handle("delete", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => triggers.remove(exchange, path.trg))
      )
      .handle("enable", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(triggers.enable(exchange, path.trg)))
      )
      .handle("disable", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(triggers.disable(exchange, path.trg)))
      )
      .handle("fire", ({ path, payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => {
          const { headers } = exchange.request
          return inData(
            fire(exchange, path.trg, payload, {
              headers: eventHeaders(headers),
              traceparent: headers["traceparent"] ?? null,
              idempotencyKey: headers["idempotency-key"] ?? null
            })
          )
        })
      )
      .handle("retrySubscription", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(triggers.retrySubscription(exchange, path.trg)))
      )
      .handle("rotateKey", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(triggers.rotateKey(exchange, path.trg)))
      )
  })
)
