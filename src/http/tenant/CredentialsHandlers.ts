/** Handlers of a tenant's credentials on surface B. */
import { Effect } from "effect"
import { CustomerCredentials } from "../../actors/management/CustomerCredentials.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { TenantApi } from "./Api.js"

/** The handlers of `CredentialsApi`. */
export const CredentialsLive = groupLayer(TenantApi, "credentials", (handlers) =>
  Effect.map(CustomerCredentials, (credentials) =>
    handlers
      .handle("store", ({ path, payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) =>
          Effect.map(credentials.store(exchange, path.tid, payload), (data) => ({ data }))
        )
      )
      .handle("list", ({ path, urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => {
          const reveals = urlParams.reveal === "true"
          if (reveals) exchange.replyHeaders["cache-control"] = "no-store"
          return credentials.list(exchange, path.tid, urlParams, reveals)
        })
      )
      .handle("rotate", ({ path, payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) =>
          Effect.map(credentials.rotate(exchange, path.tid, path.cred, payload), (data) => ({ data }))
        )
      )
  )
)
