/** Handlers of connectors on surface C. `version` is the definition's, so the ETag is the revision. */
import { HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { ConnectorAuthoring } from "../../actors/management/ConnectorAuthoring.js"
import { ConnectorCatalogue } from "../../actors/management/ConnectorCatalogue.js"
import type { SavedConnector } from "../../actors/management/ConnectorDrafts.js"
import { CurrentExchange } from "../auth/CurrentExchange.js"
import { groupLayer } from "../pipeline/HandlerTable.js"
import type { Exchange } from "../pipeline/Exchange.js"
import { ResourceApi } from "./Api.js"

const setRevision = (exchange: Exchange, revision: number | null) => {
  if (revision !== null) exchange.replyHeaders["etag"] = `"${revision}"`
}

const savedReply =
  (exchange: Exchange) =>
  ({ revision, view, ...warnings }: SavedConnector) => {
    setRevision(exchange, revision)
    return { data: view, ...warnings }
  }

/** The handlers of `ConnectorsApi`. */
export const ConnectorsLive = groupLayer(ResourceApi, "connectors", (handlers) =>
  Effect.gen(function* () {
    const catalogue = yield* ConnectorCatalogue
    const authoring = yield* ConnectorAuthoring

    return handlers
      .handle("list", ({ urlParams }) =>
        Effect.flatMap(CurrentExchange, (exchange) => catalogue.list(exchange, urlParams))
      )
      .handle("create", ({ payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) =>
          Effect.map(authoring.create(exchange, payload), savedReply(exchange))
        )
      )
      .handle("discover", ({ payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) =>
          Effect.map(catalogue.discover(exchange, payload), ({ offer, ...warnings }) => ({ data: offer, ...warnings }))
        )
      )
      .handle("get", ({ path, urlParams }) =>
        Effect.gen(function* () {
          const exchange = yield* CurrentExchange
          const { revision, view } = yield* catalogue.get(exchange, path.ctr, urlParams.version)
          setRevision(exchange, revision)
          return { data: view }
        })
      )
      .handle("update", ({ path, payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) =>
          Effect.map(authoring.update(exchange, path.ctr, payload), savedReply(exchange))
        )
      )
      .handle("delete", ({ path }) =>
        Effect.flatMap(CurrentExchange, (exchange) => authoring.remove(exchange, path.ctr))
      )
      .handle("publish", ({ path, payload }) =>
        Effect.flatMap(CurrentExchange, (exchange) =>
          Effect.map(authoring.publish(exchange, path.ctr, payload.notes), savedReply(exchange))
        )
      )
      .handle("export", ({ path, urlParams }) =>
        Effect.gen(function* () {
          const exchange = yield* CurrentExchange
          const definition = yield* catalogue.definition(exchange, path.ctr, urlParams.version)
          exchange.replyHeaders["content-disposition"] = `attachment; filename="${definition.slug}.connector.json"`
          return HttpServerResponse.unsafeJson(definition)
        })
      )
  })
)
