/** Handlers of secrets on surface C. */
import { Effect } from "effect"
import { Secrets } from "../../actors/management/Secrets.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

/** The handlers of `SecretsApi`. */
export const SecretsLive = groupLayer(ResourceApi, "secrets", (handlers) =>
  Effect.map(Secrets, (secrets) =>
    handlers
      .handle("list", ({ urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => secrets.list(exchange, urlParams))
      )
      .handle("store", ({ payload }) =>
        Effect.gen(function* () {
          const exchange = yield* CurrentExchange
          const { isNew, secret } = yield* secrets.store(exchange, payload)
          exchange.status = isNew ? 201 : 200
          return { data: secret }
        })
      )
      .handle("reveal", ({ path }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => secrets.reveal(exchange, path.sid)))
      )
      .handle("delete", ({ path }) => Effect.flatMap(CurrentExchange, (exchange) => secrets.remove(exchange, path.sid)))
  )
)
