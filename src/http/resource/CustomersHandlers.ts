/** Answers the endpoints of customers from their use cases. */
import { Effect } from "effect"
import { Customers } from "../../actors/management/Customers.js"
import { Current } from "../auth/Authenticated.js"
import { group } from "../pipeline/Dispatch.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

export const CustomersLive = group(ResourceApi, "customers", (handlers) =>
  Effect.map(Customers, (customers) =>
    handlers
      .handle("list", ({ urlParams }) => Effect.flatMap(Current, (exchange) => customers.list(exchange, urlParams)))
      .handle("create", ({ payload }) =>
        inData(Effect.flatMap(Current, (exchange) => customers.create(exchange, payload)))
      )
      .handle("get", ({ path }) => inData(Effect.flatMap(Current, (exchange) => customers.get(exchange, path.cid))))
      .handle("update", ({ path, payload }) =>
        inData(Effect.flatMap(Current, (exchange) => customers.update(exchange, path.cid, payload)))
      )
      .handle("delete", ({ path }) =>
        inData(Effect.flatMap(Current, (exchange) => customers.remove(exchange, path.cid)))
      )
  )
)
