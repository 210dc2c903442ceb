/** Narrows a request of surface B to the tenant of its path, so that a use case of surface C serves it. */
import { Effect } from "effect"
import { Tenants } from "../../actors/management/Tenants.js"
import type { Failure } from "../../domain/Failure.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import type { Exchange } from "../pipeline/Exchange.js"

/** Makes `asTenant`, which calls `use` with a caller that reaches this tenant only. */
export const makeAsTenant = Effect.map(
  Tenants,
  ({ find }) =>
    <A>(
      tenant: string,
      use: (exchange: Exchange) => Effect.Effect<A, Failure>
    ): Effect.Effect<A, Failure, CurrentExchange> =>
      Effect.flatMap(CurrentExchange, (exchange) =>
        Effect.flatMap(find(exchange, tenant), (customer) => {
          exchange.caller = { ...exchange.caller, customers: new Set([customer]) }
          return use(exchange)
        })
      )
)
