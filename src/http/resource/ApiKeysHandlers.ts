/** API keys on surface C. */
import { Effect } from "effect"
import { ApiKeys } from "../../actors/management/ApiKeys.js"
import { Current } from "../auth/Authenticated.js"
import { group } from "../pipeline/Dispatch.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

export const ApiKeysLive = group(ResourceApi, "apiKeys", (handlers) =>
  Effect.map(ApiKeys, (keys) =>
    handlers
      .handle("list", ({ urlParams }) => Effect.flatMap(Current, (exchange) => keys.list(exchange, urlParams)))
      .handle("create", ({ payload }) => Effect.flatMap(Current, (exchange) => inData(keys.create(exchange, payload))))
      .handle("get", ({ path }) => Effect.flatMap(Current, (exchange) => inData(keys.get(exchange, path.kid))))
      .handle("update", ({ path, payload }) =>
        Effect.flatMap(Current, (exchange) => inData(keys.update(exchange, path.kid, payload)))
      )
      .handle("revoke", ({ path }) => Effect.flatMap(Current, (exchange) => inData(keys.revoke(exchange, path.kid))))
      .handle("rotate", ({ path, payload }) =>
        Effect.flatMap(Current, (exchange) => inData(keys.rotate(exchange, path.kid, payload.graceSeconds ?? 0)))
      )
      .handle("identitySecret", ({ path }) =>
        Effect.flatMap(Current, (exchange) => inData(keys.revealIdentitySecret(exchange, path.kid)))
      )
  )
)
