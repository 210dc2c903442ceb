/** All common models, by name. Contract: CDM types; unified API. */
import { cdmEntities } from "../cdm/Entities.js"
import { kebabOf, unifiedEntities } from "../unified/Entities.js"
import type { Model } from "./FieldType.js"

/** All models: those of the common data model, then those of the unified API. */
export const models: ReadonlyArray<Model> = [...Object.values(cdmEntities), ...unifiedEntities]

const byName = new Map(models.map((model) => [model.name.toLowerCase(), model]))

/** Finds a model by its name, such as `CDMOrder` or `crm.contact`; upper and lower case are the same. */
export const findModel = (name: string): Model | undefined =>
  byName.get(name.toLowerCase()) ?? byName.get(name.split(".").map(kebabOf).join("."))
