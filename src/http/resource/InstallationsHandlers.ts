/** Handlers of installations on surface C. */
import { Effect } from "effect"
import { Installations } from "../../actors/management/Installations.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

/** The handlers of `InstallationsApi`. */
export const InstallationsLive = groupLayer(ResourceApi, "installations", (handlers) =>
  Effect.map(Installations, (installations) =>
    handlers
      .handle("list", ({ urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => installations.list(exchange, urlParams))
      )
      .handle("create", ({ payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(installations.create(exchange, payload)))
      )
      .handle("get", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(installations.get(exchange, path.inst)))
      )
      .handle("update", ({ path, payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(installations.update(exchange, path.inst, payload)))
      )
      .handle("uninstall", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => installations.uninstall(exchange, path.inst))
      )
  )
)
