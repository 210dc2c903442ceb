/** Connectors on surface C. Their `version` is the definition's: the counter of changes is the ETag. */
import { HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { ConnectorAuthoring } from "../../actors/management/ConnectorAuthoring.js"
import { ConnectorCatalogue } from "../../actors/management/ConnectorCatalogue.js"
import type { SavedConnector } from "../../actors/management/ConnectorDrafts.js"
import { Current } from "../auth/Authenticated.js"
import { group } from "../pipeline/Dispatch.js"
import type { Exchange } from "../pipeline/Exchange.js"
import { ResourceApi } from "./Api.js"

const tag = (exchange: Exchange, revision: number | null) => {
  if (revision !== null) exchange.replyHeaders["etag"] = `"${revision}"`
}

const answered =
  (exchange: Exchange) =>
  ({ revision, view, ...told }: SavedConnector) => {
    tag(exchange, revision)
    return { data: view, ...told }
  }

export const ConnectorsLive = group(ResourceApi, "connectors", (handlers) =>
  Effect.gen(function* () {
    const catalogue = yield* ConnectorCatalogue
    const authoring = yield* ConnectorAuthoring

    return handlers
      .handle("list", ({ urlParams }) => Effect.flatMap(Current, (exchange) => catalogue.list(exchange, urlParams)))
      .handle("create", ({ payload }) =>
        Effect.flatMap(Current, (exchange) => Effect.map(authoring.create(exchange, payload), answered(exchange)))
      )
      .handle("discover", ({ payload }) =>
        Effect.flatMap(Current, (exchange) =>
          Effect.map(catalogue.discover(exchange, payload), ({ offer, ...told }) => ({ data: offer, ...told }))
        )
      )
      .handle("get", ({ path, urlParams }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const { revision, view } = yield* catalogue.get(exchange, path.ctr, urlParams.version)
          tag(exchange, revision)
          return { data: view }
        })
      )
      .handle("update", ({ path, payload }) =>
        Effect.flatMap(Current, (exchange) =>
          Effect.map(authoring.update(exchange, path.ctr, payload), answered(exchange))
        )
      )
      .handle("delete", ({ path }) => Effect.flatMap(Current, (exchange) => authoring.remove(exchange, path.ctr)))
      .handle("publish", ({ path, payload }) =>
        Effect.flatMap(Current, (exchange) =>
          Effect.map(authoring.publish(exchange, path.ctr, payload.notes), answered(exchange))
        )
      )
      .handle("export", ({ path, urlParams }) =>
        Effect.gen(function* () {
          const exchange = yield* Current
          const definition = yield* catalogue.definition(exchange, path.ctr, urlParams.version)
          exchange.replyHeaders["content-disposition"] = `attachment; filename="${definition.slug}.connector.json"`
          return HttpServerResponse.unsafeJson(definition)
        })
      )
  })
)
