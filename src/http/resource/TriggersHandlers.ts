/** Handlers of triggers on surface C. */
import { Effect } from "effect"
import { TriggerFiring } from "../../actors/management/TriggerFiring.js"
import { Triggers } from "../../actors/management/Triggers.js"
import { eventHeaders } from "../../domain/EventHeaders.js"
import type { Detail } from "../../domain/Failure.js"
import { isNeverEmitted } from "../../domain/OutboundEvent.js"
import type { TriggerView } from "../../domain/TriggerView.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

type Warned = Pick<TriggerView, "event" | "routes" | "webhook">

const neverEmitted: Detail = {
  path: "event.type",
  code: "NEVER_EMITTED",
  message: "no event of this type starts triggers, unless you inject it: docs/events.md lists the service's types"
}
const noSingleResult: Detail = {
  path: "webhook.respond",
  code: "SEVERAL_ROUTES",
  message: "a delivery that several routes match is answered 202, with no run's result: give each its own trigger"
}

/** What is valid, but does not do what it seems to. */
const warningsOf = ({ event, routes, webhook }: Warned): ReadonlyArray<Detail> => [
  ...(event !== null && isNeverEmitted(event.type) ? [neverEmitted] : []),
  ...(webhook?.respond === "result" && routes.length > 1 ? [noSingleResult] : [])
]

const withWarnings = <A extends Warned, E, R>(answer: Effect.Effect<A, E, R>) =>
  Effect.map(answer, (data) => {
    const warnings = warningsOf(data)
    return { data, ...(warnings.length === 0 ? {} : { warnings }) }
  })

/** The handlers of `TriggersApi`. */
export const TriggersLive = groupLayer(ResourceApi, "triggers", (handlers) =>
  Effect.map(Effect.all([Triggers, TriggerFiring]), ([triggers, { fire }]) =>
    handlers
      .handle("list", ({ urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => triggers.list(exchange, urlParams))
      )
      .handle("create", ({ payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => withWarnings(triggers.create(exchange, payload)))
      )
      .handle("get", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(triggers.get(exchange, path.trg)))
      )
      .handle("update", ({ path, payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => withWarnings(triggers.update(exchange, path.trg, payload)))
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
  )
)
