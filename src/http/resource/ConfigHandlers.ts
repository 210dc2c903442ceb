/** Handlers of configuration on surface C. */
import { Effect } from "effect"
import { Configuration } from "../../actors/management/Configuration.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

/** The handlers of `ConfigApi`. */
export const ConfigLive = groupLayer(ResourceApi, "config", (handlers) =>
  Effect.map(Configuration, (configuration) =>
    handlers
      .handle("resolve", ({ urlParams }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => configuration.resolve(exchange, urlParams)))
      )
      .handle("set", ({ payload }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => configuration.set(exchange, payload)))
      )
  )
)
