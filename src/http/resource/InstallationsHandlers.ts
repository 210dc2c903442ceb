/** Installations on surface C. */
import { Effect } from "effect"
import { Installations } from "../../actors/management/Installations.js"
import { Current } from "../auth/Authenticated.js"
import { group } from "../pipeline/Dispatch.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

export const InstallationsLive = group(ResourceApi, "installations", (handlers) =>
  Effect.map(Installations, (installations) =>
    handlers
      .handle("list", ({ urlParams }) => Effect.flatMap(Current, (exchange) => installations.list(exchange, urlParams)))
      .handle("create", ({ payload }) =>
        Effect.flatMap(Current, (exchange) => inData(installations.create(exchange, payload)))
      )
      .handle("get", ({ path }) =>
        Effect.flatMap(Current, (exchange) => inData(installations.get(exchange, path.inst)))
      )
      .handle("update", ({ path, payload }) =>
        Effect.flatMap(Current, (exchange) => inData(installations.update(exchange, path.inst, payload)))
      )
      .handle("uninstall", ({ path }) =>
        Effect.flatMap(Current, (exchange) => installations.uninstall(exchange, path.inst))
      )
  )
)
