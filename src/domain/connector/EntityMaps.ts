/** The maps of an entity, with those that the definition leaves to be derived. Contract: connector definition. */
import type { FieldMap } from "../mapping/FieldMap.js"
import { reversedPairs } from "../mapping/ReversedPairs.js"
import type { Model } from "../model/FieldType.js"
import { sharedUnifiedPairs } from "../unified/SharedMembers.js"
import type { EntityDefinition } from "./Entity.js"
import { cdmModelOf, unifiedModelOf } from "./EntityModels.js"

/** A model that an entity's records become, with the maps for reading and writing. */
export interface EntityMap {
  readonly kind: "cdm" | "unified"
  readonly model: Model
  readonly fields: ReadonlyArray<FieldMap>
  readonly fieldsOut: ReadonlyArray<FieldMap>
}

/** By entity: each request of a record asks for its maps. */
const cachedMaps = new WeakMap<EntityDefinition, ReadonlyArray<EntityMap>>()

/** The maps of an entity: one for each model that it names. */
export const mapsOf = (entity: EntityDefinition): ReadonlyArray<EntityMap> => {
  const found = cachedMaps.get(entity) ?? makeMaps(entity)
  cachedMaps.set(entity, found)
  return found
}

const makeMaps = (entity: EntityDefinition): ReadonlyArray<EntityMap> => {
  const common = cdmModelOf(entity)
  const unified = unifiedModelOf(entity)
  const { fields, fieldsOut = reversedPairs(fields), unifiedFields, unifiedFieldsOut } = entity
  const read = unifiedFields ?? (common === undefined ? fields : sharedUnifiedPairs(fields, "to"))
  const written =
    unifiedFieldsOut ??
    (unifiedFields === undefined && common !== undefined
      ? sharedUnifiedPairs(fieldsOut, "from")
      : unifiedFields === undefined
        ? fieldsOut
        : reversedPairs(unifiedFields))
  return [
    ...(common === undefined ? [] : [{ kind: "cdm" as const, model: common, fields, fieldsOut }]),
    ...(unified === undefined ? [] : [{ kind: "unified" as const, model: unified, fields: read, fieldsOut: written }])
  ]
}
