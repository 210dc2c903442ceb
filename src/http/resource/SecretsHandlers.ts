/** Answers the endpoints of secrets from their use cases. */
import { Effect } from "effect"
import { Secrets } from "../../actors/management/Secrets.js"
import { Current } from "../auth/Authenticated.js"
import { group } from "../pipeline/Dispatch.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

export const SecretsLive = group(ResourceApi, "secrets", (handlers) =>
  Effect.map(Secrets, (secrets) =>
    handlers
      .handle("list", ({ urlParams }) => Effect.flatMap(Current, (exchange) => secrets.list(exchange, urlParams)))
      .handle("store", ({ payload }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const { isNew, secret } = yield* secrets.store(exchange, payload)
          exchange.status = isNew ? 201 : 200
          return { data: secret }
        })
      )
      .handle("reveal", ({ path }) => inData(Effect.flatMap(Current, (exchange) => secrets.reveal(exchange, path.sid))))
      .handle("delete", ({ path }) => Effect.flatMap(Current, (exchange) => secrets.remove(exchange, path.sid)))
  )
)
