/** Summarises what a connector offers: entities, actions, events, and its coverage of the common data model. */
import { Schema } from "effect"
import { NullableText } from "../Scalars.js"
import { JsonObject } from "../Json.js"
import type { ActionDefinition } from "./Action.js"
import type { ConnectorDefinition } from "./Definition.js"
import { actionsOf, type EntityDefinition, operationOf } from "./Entity.js"
import type { EntityMap } from "./EntityMaps.js"
import { AccountEntity } from "./AccountFields.js"
import { Coverage, coverageOf } from "../mapping/Coverage.js"
import type { FieldMap } from "../mapping/FieldMap.js"
import { MapLoss } from "../mapping/FieldMapRecord.js"
import { allVerbs, type Model } from "../model/FieldType.js"

const Texts = Schema.Array(Schema.String)

/** Everything that a connector offers. `schemas`: those that the others refer to as `#/$defs/…`. */
export const ConnectorOffer = Schema.Struct({
  connector: Schema.String,
  version: Schema.String,
  entities: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      cdm: NullableText,
      unified: NullableText,
      operations: Texts,
      fields: Texts,
      account: Schema.NullOr(AccountEntity).annotations({
        description: "what the account has; null without a connection, or where the connector cannot tell"
      })
    })
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
  coverage: Schema.Array(
    Schema.Struct({
      entity: Schema.String,
      cdm: NullableText,
      unified: NullableText,
      ...Coverage.fields,
      lossy: Schema.Array(MapLoss).annotations({ description: "members that are not read again as they were written" })
    }).annotations({ identifier: "Coverage", description: "of the map that is in force, with published field maps" })
  ),
  schemas: JsonObject
}).annotations({ identifier: "ConnectorOffer" })
export type ConnectorOffer = typeof ConnectorOffer.Type

/** A map that is in force. */
export interface OfferedMap {
  readonly entity: string
  readonly kind: EntityMap["kind"]
  readonly model: Model
  readonly fields: ReadonlyArray<FieldMap>
  readonly lossy: ReadonlyArray<MapLoss>
}

/** The offer of a definition. `maps`: in force of all entities; `account`: what it has, by the entity's name. */
export const connectorOffer = (
  definition: ConnectorDefinition,
  maps: ReadonlyArray<OfferedMap>,
  account: ReadonlyMap<string, AccountEntity>
): ConnectorOffer => ({
  connector: definition.slug,
  version: definition.version,
  entities: definition.entities.map((entity) => ({
    name: entity.name,
    cdm: entity.cdm ?? null,
    unified: entity.unified ?? null,
    operations: operationsOf(entity),
    fields: [...new Set(entity.fields.map(({ to }) => to))],
    account: account.get(entity.name) ?? null
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
  coverage: maps.map(({ entity, fields, kind, lossy, model }) => ({
    entity,
    cdm: kind === "cdm" ? model.name : null,
    unified: kind === "unified" ? model.name : null,
    ...coverageOf(model, fields),
    lossy
  })),
  schemas: definition.schemas
})

/** Whether an action changes nothing: by its own declaration, else by its method. */
export const isReadOnly = ({ readOnly, request }: ActionDefinition): boolean =>
  readOnly ?? ["GET", "HEAD", "OPTIONS", "VERIFY"].includes(request.method)

/** The verbs that the entity has actions for. */
const operationsOf = (entity: EntityDefinition): ReadonlyArray<string> =>
  allVerbs.filter((verb) => actionsOf(entity, operationOf(verb)).length > 0)
