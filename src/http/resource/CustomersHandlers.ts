/** Handlers of customers on surface C. */
import { Effect } from "effect"
import { Customers } from "../../actors/management/Customers.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

/** The handlers of `CustomersApi`. */
export const CustomersLive = groupLayer(ResourceApi, "customers", (handlers) =>
  Effect.map(Customers, (customers) =>
    handlers
      .handle("list", ({ urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => customers.list(exchange, urlParams))
      )
      .handle("create", ({ payload }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => customers.create(exchange, payload)))
      )
      .handle("get", ({ path }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => customers.get(exchange, path.cid)))
      )
      .handle("update", ({ path, payload }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => customers.update(exchange, path.cid, payload)))
      )
      .handle("delete", ({ path }) =>
        inData(Effect.flatMap(CurrentExchange, (exchange) => customers.remove(exchange, path.cid)))
      )
  )
)
