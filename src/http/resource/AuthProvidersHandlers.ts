/** Handlers of the organisation's OAuth clients on surface C. */
import { Effect } from "effect"
import { AuthProviders } from "../../actors/management/AuthProviders.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

/** The handlers of `AuthProvidersApi`. */
export const AuthProvidersLive = groupLayer(ResourceApi, "authProviders", (handlers) =>
  Effect.map(AuthProviders, (providers) =>
    handlers
      .handle("list", ({ path }) => Effect.flatMap(CurrentExchange, (exchange) => providers.list(exchange, path.ctr)))
      .handle("upsert", ({ path, payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(providers.upsert(exchange, path.ctr, payload)))
      )
      .handle("delete", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => providers.remove(exchange, path.ctr, path.aid))
      )
  )
)
