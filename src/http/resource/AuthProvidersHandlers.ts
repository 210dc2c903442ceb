/** The organisation's OAuth clients at providers, on surface C. */
import { Effect } from "effect"
import { AuthProviders } from "../../actors/management/AuthProviders.js"
import { Current } from "../auth/Authenticated.js"
import { group } from "../pipeline/Dispatch.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

export const AuthProvidersLive = group(ResourceApi, "authProviders", (handlers) =>
  Effect.map(AuthProviders, (providers) =>
    handlers
      .handle("list", ({ path }) => Effect.flatMap(Current, (exchange) => providers.list(exchange, path.ctr)))
      .handle("upsert", ({ path, payload }) =>
        Effect.flatMap(Current, (exchange) => inData(providers.upsert(exchange, path.ctr, payload)))
      )
      .handle("delete", ({ path }) =>
        Effect.flatMap(Current, (exchange) => providers.remove(exchange, path.ctr, path.aid))
      )
  )
)
