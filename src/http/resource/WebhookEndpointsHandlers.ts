/** Handlers of webhook endpoints on surface C. */
import { Effect } from "effect"
import { WebhookEndpoints } from "../../actors/management/WebhookEndpoints.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

/** The handlers of `WebhookEndpointsApi`. */
export const WebhookEndpointsLive = groupLayer(ResourceApi, "webhookEndpoints", (handlers) =>
  Effect.map(WebhookEndpoints, (endpoints) =>
    handlers
      .handle("list", ({ urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => endpoints.list(exchange, urlParams))
      )
      .handle("create", ({ payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(endpoints.create(exchange, payload)))
      )
      .handle("get", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(endpoints.get(exchange, path.whe)))
      )
      .handle("update", ({ path, payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(endpoints.update(exchange, path.whe, payload)))
      )
      .handle("delete", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => endpoints.remove(exchange, path.whe))
      )
      .handle("rotateSecret", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(endpoints.rotateSecret(exchange, path.whe)))
      )
      .handle("test", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(endpoints.test(exchange, path.whe)))
      )
      .handle("attempts", ({ path, urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => endpoints.attempts(exchange, path.whe, urlParams))
      )
      .handle("resend", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(endpoints.resend(exchange, path.whe, path.att)))
      )
      .handle("resendMany", ({ path, payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(endpoints.resendMany(exchange, path.whe, payload)))
      )
  )
)
