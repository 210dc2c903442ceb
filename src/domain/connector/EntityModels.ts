/** The models that an entity's records become. */
import { cdmEntities, isCdmEntity } from "../cdm/Entities.js"
import type { Model } from "../model/FieldType.js"
import { findUnifiedEntity, type UnifiedEntity } from "../unified/Entities.js"
import type { EntityDefinition } from "./Entity.js"

/** The model of an entity's `cdm`; `undefined` also for one that is unknown. */
export const cdmModelOf = ({ cdm }: Pick<EntityDefinition, "cdm">): Model | undefined =>
  cdm !== undefined && isCdmEntity(cdm) ? cdmEntities[cdm] : undefined

/** The model of an entity's `unified`; `undefined` also for one that is unknown. */
export const unifiedModelOf = ({ unified }: Pick<EntityDefinition, "unified">): UnifiedEntity | undefined => {
  const [category = "", entity = "", ...more] = (unified ?? "").split("/")
  return more.length > 0 ? undefined : findUnifiedEntity(category, entity)
}
