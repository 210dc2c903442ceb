/** Handlers of API keys on surface C. */
import { Effect } from "effect"
import { ApiKeys } from "../../actors/management/ApiKeys.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

/** The handlers of `ApiKeysApi`. */
export const ApiKeysLive = groupLayer(ResourceApi, "apiKeys", (handlers) =>
  Effect.map(ApiKeys, (keys) =>
    handlers
      .handle("list", ({ urlParams }) => Effect.flatMap(CurrentExchange, (exchange) => keys.list(exchange, urlParams)))
      .handle("create", ({ payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(keys.create(exchange, payload)))
      )
      .handle("get", ({ path }) => Effect.flatMap(CurrentExchange, (exchange) => inData(keys.get(exchange, path.kid))))
      .handle("update", ({ path, payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(keys.update(exchange, path.kid, payload)))
      )
      .handle("revoke", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(keys.revoke(exchange, path.kid)))
      )
      .handle("rotate", ({ path, payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) =>
          inData(keys.rotate(exchange, path.kid, payload.graceSeconds ?? 0))
        )
      )
      .handle("identitySecret", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(keys.revealIdentitySecret(exchange, path.kid)))
      )
  )
)
