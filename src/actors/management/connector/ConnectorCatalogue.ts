/** Use cases that read the organisation's own and the built-in connectors, and preview an import. */
import { Effect, Schema } from "effect"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import { type ConnectorOffer, connectorOffer } from "../../../domain/connector/ConnectorOffer.js"
import type { ImportWarning } from "../../../domain/connector/import/OpenApiDocument.js"
import { type Failure, invalid } from "../../../domain/Failure.js"
import { Json } from "../../../domain/Json.js"
import type { Tx } from "../../ports/Records.js"
import type { CallContext } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { findLivingConnection } from "../connection/ConnectionRecords.js"
import { ConnectorImport } from "./ConnectorImport.js"
import { make as makeConnectorPages } from "./ConnectorPages.js"
import { ConnectorRecords, definitionOf } from "./ConnectorRecords.js"

/** The source to discover actions from. */
export const DiscoverRequest = Schema.Struct({
  connector: Schema.optional(Schema.String),
  connectionId: Schema.optional(Schema.String),
  openapi: Schema.optional(Json)
}).annotations({
  identifier: "Discover",
  description:
    "Exactly one of: a connector, a connection (for the version that it uses), an OpenAPI document or its URL."
})
type DiscoverRequest = typeof DiscoverRequest.Type

export interface Discovery {
  readonly offer: ConnectorOffer
  /** For an OpenAPI document: the parts that an import would leave out. */
  readonly warnings?: ReadonlyArray<ImportWarning>
}

const make = Effect.gen(function* () {
  const { read } = yield* Changes
  const records = yield* ConnectorRecords
  const imports = yield* ConnectorImport
  const { list } = yield* makeConnectorPages

  const get = (context: CallContext, idOrSlug: string, version: string | undefined) =>
    read(context, function* (tx) {
      const found = yield* records.find(tx, context.caller, idOrSlug)
      const definition = yield* definitionOf(tx, found, version)
      return {
        view: records.view(context.caller.organisationId, found, definition),
        revision: found._tag === "Own" ? found.record.version : null
      }
    })

  const definition = (context: CallContext, idOrSlug: string, version: string | undefined) =>
    read(context, (tx) =>
      Effect.flatMap(records.find(tx, context.caller, idOrSlug), (found) => definitionOf(tx, found, version))
    )

  /** The version that the connection uses, or else the published one of the connector, or else its draft. */
  const findDiscovered = Effect.fnUntraced(function* (
    tx: Tx,
    context: CallContext,
    { connectionId, connector = "" }: DiscoverRequest
  ): Effect.fn.Return<ConnectorDefinition, Failure> {
    const connection = connectionId === undefined ? undefined : yield* findLivingConnection(tx, context, connectionId)
    const found = yield* records.find(tx, context.caller, connection?.connector ?? connector)
    if (found._tag === "BuiltIn") return found.definition
    const version = connection?.connectorVersion ?? found.record.latestVersion ?? undefined
    return yield* definitionOf(tx, found, version)
  })

  const discover = (context: CallContext, request: DiscoverRequest): Effect.Effect<Discovery, Failure> => {
    const { connectionId, connector, openapi } = request
    if ([connectionId, connector, openapi].filter((member) => member !== undefined).length !== 1)
      return invalid("connector", "REQUIRED", "is required, or connectionId, or openapi, and only one of them")
    return openapi === undefined
      ? Effect.map(
          read(context, (tx) => findDiscovered(tx, context, request)),
          (found) => ({ offer: connectorOffer(found) })
        )
      : Effect.map(
          imports.readOpenApi(context.caller.organisationId, openapi),
          ({ definition: offered, ...report }) => ({
            offer: connectorOffer(offered),
            ...report
          })
        )
  }

  return { list, get, definition, discover }
})

/** `idOrSlug`: an id or a slug. `version`: a published one; absent: the draft, or the newest version without one. */
export class ConnectorCatalogue extends Effect.Service<ConnectorCatalogue>()("svc/ConnectorCatalogue", {
  effect: make
}) {}
