/** Handlers of connections on surface C. */
import { Effect } from "effect"
import { CustomerConnections } from "../../actors/management/CustomerConnections.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

/** The handlers of `ConnectionsApi`. */
export const ConnectionsLive = groupLayer(ResourceApi, "connections", (handlers) =>
  Effect.map(CustomerConnections, (connections) =>
    handlers
      .handle("list", ({ urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => connections.list(exchange, urlParams))
      )
      .handle("create", ({ payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(connections.create(exchange, payload)))
      )
      .handle("get", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(connections.get(exchange, path.conn)))
      )
      .handle("update", ({ path, payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(connections.update(exchange, path.conn, payload)))
      )
      .handle("delete", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(connections.disconnect(exchange, path.conn)))
      )
      .handle("test", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(connections.test(exchange, path.conn)))
      )
      .handle("reconnect", ({ path, payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(connections.reconnect(exchange, path.conn, payload)))
      )
      .handle("refresh", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(connections.refresh(exchange, path.conn)))
      )
      .handle("enable", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(connections.enable(exchange, path.conn)))
      )
      .handle("disable", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(connections.disable(exchange, path.conn)))
      )
      .handle("reveal", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => inData(connections.reveal(exchange, path.conn)))
      )
  )
)
