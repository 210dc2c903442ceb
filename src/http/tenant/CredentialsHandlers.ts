/** A tenant's credentials on surface B. */
import { Effect } from "effect"
import { CustomerCredentials } from "../../actors/management/CustomerCredentials.js"
import { Current } from "../auth/Authenticated.js"
import { group } from "../pipeline/Dispatch.js"
import { TenantApi } from "./Api.js"

export const CredentialsLive = group(TenantApi, "credentials", (handlers) =>
  Effect.map(CustomerCredentials, (credentials) =>
    handlers
      .handle("store", ({ path, payload }) =>
        Effect.flatMap(Current, (exchange) =>
          Effect.map(credentials.store(exchange, path.tid, payload), (data) => ({ data }))
        )
      )
      .handle("list", ({ path, urlParams }) =>
        Effect.flatMap(Current, (exchange) => {
          const reveals = urlParams.reveal === "true"
          if (reveals) exchange.replyHeaders["cache-control"] = "no-store"
          return credentials.list(exchange, path.tid, urlParams, reveals)
        })
      )
      .handle("rotate", ({ path, payload }) =>
        Effect.flatMap(Current, (exchange) =>
          Effect.map(credentials.rotate(exchange, path.tid, path.cred, payload), (data) => ({ data }))
        )
      )
  )
)
