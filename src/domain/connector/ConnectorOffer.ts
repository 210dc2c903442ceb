/** Summarises what a connector offers: entities, actions, events, and its coverage of the common data model. */
import { Either, Schema } from "effect"
import { NullableText } from "../Scalars.js"
import { cdmEntities, type CdmEntity, isCdmEntity } from "../cdm/Entities.js"
import { JsonObject } from "../Json.js"
import type { ActionDefinition } from "./Action.js"
import type { ConnectorDefinition, EntityDefinition } from "./Definition.js"
import { firstItemPath } from "../expression/Path.js"
import { parsePath } from "../expression/Parsing.js"

const Texts = Schema.Array(Schema.String)

/**
 * How much of a common entity a field map covers. `score`: mapped members divided by all members, required ones counted
 * twice; from 0 to 1 with two decimals.
 */
const Coverage = Schema.Struct({ cdm: Schema.String, score: Schema.Number, mapped: Texts, missing: Texts })
export type Coverage = typeof Coverage.Type

/** Everything that a connector offers. `schemas`: those that the others refer to as `#/$defs/…`. */
export const ConnectorOffer = Schema.Struct({
  connector: Schema.String,
  version: Schema.String,
  entities: Schema.Array(
    Schema.Struct({ name: Schema.String, cdm: NullableText, unified: NullableText, operations: Texts, fields: Texts })
  ),
  actions: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      version: Schema.Number,
      title: Schema.String,
      readOnly: Schema.Boolean,
      inputSchema: JsonObject,
      outputSchema: JsonObject
    })
  ),
  events: Schema.Array(
    Schema.Struct({ id: Schema.String, title: Schema.String, delivery: Schema.String, payloadSchema: JsonObject })
  ),
  coverage: Schema.Array(Coverage),
  schemas: JsonObject
}).annotations({ identifier: "ConnectorOffer" })
export type ConnectorOffer = typeof ConnectorOffer.Type

/** The offer of a definition. */
export const connectorOffer = (definition: ConnectorDefinition): ConnectorOffer => ({
  connector: definition.slug,
  version: definition.version,
  entities: definition.entities.map((entity) => ({
    name: entity.name,
    cdm: entity.cdm ?? null,
    unified: entity.unified ?? null,
    operations: operationsOf(entity),
    fields: [...new Set(entity.fields.map(({ to }) => to))]
  })),
  actions: definition.actions.map((action) => ({
    name: action.name,
    version: action.version,
    title: action.title ?? action.name,
    readOnly: isReadOnly(action),
    inputSchema: action.inputSchema,
    outputSchema: action.outputSchema
  })),
  events: definition.events.map(({ delivery, id, payloadSchema, title }) => ({
    id,
    title: title ?? id,
    delivery,
    payloadSchema
  })),
  coverage: definition.entities.flatMap((entity) => {
    const { cdm } = entity
    return cdm !== undefined && isCdmEntity(cdm) ? [coverageOf(cdm, entity)] : []
  }),
  schemas: definition.schemas
})

/** Whether an action changes nothing: by its own declaration, else by its method. */
export const isReadOnly = ({ readOnly, request }: ActionDefinition): boolean =>
  readOnly ?? ["GET", "HEAD", "OPTIONS", "VERIFY"].includes(request.method)

/** The coverage of a common entity by a field map. */
export const coverageOf = (cdm: CdmEntity, { fields }: Pick<EntityDefinition, "fields">): Coverage => {
  const filled = new Set(
    fields.map(({ to }) =>
      Either.match(parsePath(firstItemPath(to)), { onLeft: () => "", onRight: ([member]) => String(member) })
    )
  )
  const { optional, required } = cdmEntities[cdm]
  const weight = (names: ReadonlyArray<string>, each: number) => names.filter((name) => filled.has(name)).length * each
  const score = (weight(required, 2) + weight(optional, 1)) / (required.length * 2 + optional.length)
  const all = [...required, ...optional]
  return {
    cdm,
    score: Math.round(score * 100) / 100,
    mapped: all.filter((name) => filled.has(name)),
    missing: all.filter((name) => !filled.has(name))
  }
}

const verbs = { list: "read", get: "get", create: "create", update: "update", delete: "delete" } as const

const operationsOf = (entity: EntityDefinition): ReadonlyArray<string> =>
  Object.entries(verbs).flatMap(([operation, member]) => (entity[member] === undefined ? [] : [operation]))
