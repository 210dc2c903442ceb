/**
 * The use case that shows what a connector offers: of its definition, of the version and the account of a connection, or of an
 * OpenAPI document before its import. Contract: connector record, discover.
 */
import { Effect, Schema } from "effect"
import type { AccountEntity } from "../../../domain/connector/AccountFields.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import { type ConnectorOffer, connectorOffer, type OfferedMap } from "../../../domain/connector/ConnectorOffer.js"
import { mapsOf } from "../../../domain/connector/EntityMaps.js"
import type { ImportWarning } from "../../../domain/connector/import/OpenApiDocument.js"
import { didYouMean } from "../../../domain/ClosestName.js"
import type { Connection } from "../../../domain/connection/Connection.js"
import { type Failure, invalid, refuseWith } from "../../../domain/Failure.js"
import type { CustomerId, OrganisationId } from "../../../domain/Ids.js"
import { Json } from "../../../domain/Json.js"
import { effectivePairs } from "../../../domain/mapping/EffectiveMap.js"
import { fieldMapLimit } from "../../../domain/mapping/FieldMapRecord.js"
import { Computations, tooCostlyDetail } from "../../ports/Computations.js"
import type { Tx } from "../../ports/Records.js"
import { AccountEntities } from "../../ports/unified/AccountEntities.js"
import { FieldMapReads } from "../../ports/unified/FieldMapReads.js"
import type { CallContext } from "../CallContext.js"
import { missingPermission } from "../Caller.js"
import { Changes } from "../Changes.js"
import { findLivingConnection } from "../connection/ConnectionRecords.js"
import { answerRecordFailures } from "../unified/ProviderFailures.js"
import { ConnectorImport } from "./ConnectorImport.js"
import { ConnectorRecords, definitionOf } from "./ConnectorRecords.js"

/** The most entities of an account that are described at once. */
const maxEntities = 25

/** The source to discover actions from. */
export const DiscoverRequest = Schema.Struct({
  connector: Schema.optional(Schema.String),
  connectionId: Schema.optional(Schema.String),
  openapi: Schema.optional(Json),
  entities: Schema.optional(
    Schema.Array(Schema.String)
      .pipe(Schema.maxItems(maxEntities))
      .annotations({ description: "With a connection: the entities whose fields are read; absent: all. Empty: none." })
  )
}).annotations({
  identifier: "Discover",
  description:
    "Exactly one of: a connector, a connection (for the version that it uses, and its account's own fields), an OpenAPI document or its URL."
})
type DiscoverRequest = typeof DiscoverRequest.Type

/** What was found. */
export interface Discovery {
  readonly offer: ConnectorOffer
  /** For an OpenAPI document: the parts that an import would leave out. */
  readonly warnings?: ReadonlyArray<ImportWarning>
}

/** A definition, with the connection that was named. */
interface Discovered {
  readonly definition: ConnectorDefinition
  readonly connection: Connection | undefined
  /** The maps that have overrides, as `entity|model`. */
  readonly overridden: ReadonlySet<string>
}

const make = Effect.gen(function* () {
  const { read } = yield* Changes
  const { compute } = yield* Computations
  const accounts = yield* AccountEntities
  const fieldMaps = yield* FieldMapReads
  const records = yield* ConnectorRecords
  const imports = yield* ConnectorImport

  /** The version that the connection uses, or else the published one of the connector, or else its draft. */
  const findDiscovered = Effect.fnUntraced(function* (
    tx: Tx,
    context: CallContext,
    { connectionId, connector = "" }: DiscoverRequest
  ): Effect.fn.Return<Discovered, Failure> {
    const connection = connectionId === undefined ? undefined : yield* findLivingConnection(tx, context, connectionId)
    const found = yield* records.find(tx, context.caller, connection?.connector ?? connector)
    const version =
      found._tag === "BuiltIn" ? undefined : (connection?.connectorVersion ?? found.record.latestVersion ?? undefined)
    const definition = yield* definitionOf(tx, found, version)
    const rows = yield* tx.fieldMaps.list({
      where: {
        connector: definition.slug,
        customerId: connection === undefined ? [null] : [null, connection.customerId]
      },
      limit: fieldMapLimit
    })
    return { definition, connection, overridden: new Set(rows.map(({ entity, model }) => `${entity}|${model}`)) }
  })

  /** The maps in force of all entities, each with what it loses. */
  const mapsInForce = Effect.fnUntraced(function* (
    organisationId: OrganisationId,
    definition: ConnectorDefinition,
    customerId: CustomerId | null,
    overridden: ReadonlySet<string>
  ): Effect.fn.Return<ReadonlyArray<OfferedMap>, Failure> {
    const all = definition.entities.flatMap((entity) => mapsOf(entity).map((map) => ({ entity, map })))
    const maps = yield* Effect.forEach(all, ({ entity, map }) =>
      (overridden.has(`${entity.name}|${map.model.name}`)
        ? fieldMaps.published({
            organisationId,
            customerId,
            connector: definition.slug,
            entity: entity.name,
            model: map.model.name
          })
        : Effect.succeed([])
      ).pipe(
        Effect.map((overrides) => {
          const { fields, fieldsOut } = effectivePairs(map, overrides)
          return {
            entity,
            map,
            fields: fields.map(({ pair }) => pair),
            fieldsOut: fieldsOut.map(({ pair }) => pair)
          }
        })
      )
    )
    const losses =
      maps.length === 0
        ? []
        : yield* compute(
            "mapLosses",
            organisationId,
            maps.map(({ entity, fields, fieldsOut, map }) => ({ entity, model: map.model.name, fields, fieldsOut }))
          ).pipe(
            Effect.catchTag("TooCostly", (error) => {
              const { code, message, path } = tooCostlyDetail("connector", error)
              return invalid(path, code, message)
            })
          )
    return maps.map(({ entity, fields, map: { kind, model } }, index) => ({
      entity: entity.name,
      kind,
      model,
      fields,
      lossy: losses[index] ?? []
    }))
  })

  /** The fields of the account, of the entities that are asked for. */
  const accountOf = Effect.fnUntraced(function* (
    { caller }: CallContext,
    definition: ConnectorDefinition,
    connection: Connection,
    wanted: ReadonlyArray<string> | undefined
  ): Effect.fn.Return<ReadonlyMap<string, AccountEntity>, Failure> {
    const names = definition.entities.map(({ name }) => name)
    const unknown = wanted?.findIndex((name) => !names.includes(name)) ?? -1
    if (unknown >= 0)
      return yield* invalid(
        `entities[${unknown}]`,
        "UNKNOWN_NAME",
        `is no entity of ${definition.slug}.${didYouMean(wanted?.[unknown] ?? "", names)}`
      )
    const entities = definition.entities.filter(
      ({ describe, name }) => describe !== undefined && (wanted === undefined || wanted.includes(name))
    )
    if (entities.length === 0) return new Map()
    if (entities.length > maxEntities)
      return yield* invalid("entities", "REQUIRED", `is required: name at most ${maxEntities} of ${entities.length}`)
    yield* refuseWith(missingPermission(caller, "unified_api:read"))
    return yield* answerRecordFailures(
      accounts.describe({ organisationId: caller.organisationId, connection, definition, entities })
    )
  })

  const discover = Effect.fnUntraced(function* (
    context: CallContext,
    request: DiscoverRequest
  ): Effect.fn.Return<Discovery, Failure> {
    const { connectionId, connector, entities, openapi } = request
    const { organisationId } = context.caller
    if ([connectionId, connector, openapi].filter((member) => member !== undefined).length !== 1)
      return yield* invalid("connector", "REQUIRED", "is required, or connectionId, or openapi, and only one of them")
    if (entities !== undefined && connectionId === undefined)
      return yield* invalid("entities", "NOT_ALLOWED", "can only be sent with connectionId")
    if (openapi !== undefined) {
      const { definition, ...report } = yield* imports.readOpenApi(organisationId, openapi)
      return { offer: connectorOffer(definition, [], new Map()), ...report }
    }
    const { connection, definition, overridden } = yield* read(context, (tx) => findDiscovered(tx, context, request))
    const maps = yield* mapsInForce(organisationId, definition, connection?.customerId ?? null, overridden)
    const account = connection === undefined ? new Map() : yield* accountOf(context, definition, connection, entities)
    return { offer: connectorOffer(definition, maps, account) }
  })

  return { discover }
})

/** Shows what connectors offer. */
export class ConnectorDiscovery extends Effect.Service<ConnectorDiscovery>()("svc/ConnectorDiscovery", {
  effect: make
}) {}
