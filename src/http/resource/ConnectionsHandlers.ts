/** Connections on surface C. */
import { Effect } from "effect"
import { CustomerConnections } from "../../actors/management/CustomerConnections.js"
import { Current } from "../auth/Authenticated.js"
import { group } from "../pipeline/Dispatch.js"
import { ResourceApi } from "./Api.js"
import { inData } from "./Envelope.js"

export const ConnectionsLive = group(ResourceApi, "connections", (handlers) =>
  Effect.map(CustomerConnections, (connections) =>
    handlers
      .handle("list", ({ urlParams }) => Effect.flatMap(Current, (exchange) => connections.list(exchange, urlParams)))
      .handle("create", ({ payload }) =>
        Effect.flatMap(Current, (exchange) => inData(connections.create(exchange, payload)))
      )
      .handle("get", ({ path }) => Effect.flatMap(Current, (exchange) => inData(connections.get(exchange, path.conn))))
      .handle("update", ({ path, payload }) =>
        Effect.flatMap(Current, (exchange) => inData(connections.update(exchange, path.conn, payload)))
      )
      .handle("delete", ({ path }) =>
        Effect.flatMap(Current, (exchange) => inData(connections.disconnect(exchange, path.conn)))
      )
      .handle("test", ({ path }) =>
        Effect.flatMap(Current, (exchange) => inData(connections.test(exchange, path.conn)))
      )
      .handle("reconnect", ({ path, payload }) =>
        Effect.flatMap(Current, (exchange) => inData(connections.reconnect(exchange, path.conn, payload)))
      )
      .handle("refresh", ({ path }) =>
        Effect.flatMap(Current, (exchange) => inData(connections.refresh(exchange, path.conn)))
      )
      .handle("enable", ({ path }) =>
        Effect.flatMap(Current, (exchange) => inData(connections.enable(exchange, path.conn)))
      )
      .handle("disable", ({ path }) =>
        Effect.flatMap(Current, (exchange) => inData(connections.disable(exchange, path.conn)))
      )
      .handle("reveal", ({ path }) =>
        Effect.flatMap(Current, (exchange) => inData(connections.reveal(exchange, path.conn)))
      )
  )
)
