/** Answers the endpoints of configuration from their use cases. */
import { Effect } from "effect"
import { Configuration } from "../../actors/management/Configuration.js"
import { Current } from "../auth/Authenticated.js"
import { group } from "../pipeline/Dispatch.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

export const ConfigLive = group(ResourceApi, "config", (handlers) =>
  Effect.map(Configuration, (configuration) =>
    handlers
      .handle("resolve", ({ urlParams }) =>
        inData(Effect.flatMap(Current, (exchange) => configuration.resolve(exchange, urlParams)))
      )
      .handle("set", ({ payload }) =>
        inData(Effect.flatMap(Current, (exchange) => configuration.set(exchange, payload)))
      )
  )
)
