/** How much of a common record a field map fills. */
import { Schema } from "effect"
import type { ModelFields, Model } from "../model/FieldType.js"
import { commonFields } from "../cdm/Entities.js"
import { commonUnifiedFields } from "../unified/Entities.js"
import type { FieldMap } from "./FieldMap.js"
import { firstMember, scanItemPath } from "./ItemPath.js"

const Texts = Schema.Array(Schema.String)

/**
 * `score`: mapped members divided by all members, required ones counted twice; from 0 to 1 with two decimals. Members that
 * every record has, such as `createdAt`, are not counted.
 */
export const Coverage = Schema.Struct({ score: Schema.Number, mapped: Texts, missing: Texts })

/** The coverage of a model by a map for reading. */
export const coverageOf = (model: Model, fields: ReadonlyArray<FieldMap>): typeof Coverage.Type => {
  const filled = new Set(
    fields.flatMap(({ to }) => {
      const path = scanItemPath(to)
      return "mistake" in path ? [] : [firstMember(path.value)]
    })
  )
  const counted = Object.entries(countedFields(model))
  const weight = (one: ReadonlyArray<readonly [string, { readonly isRequired: boolean }]>) =>
    one.reduce((sum, [, { isRequired }]) => sum + (isRequired ? 2 : 1), 0)
  const names = counted.map(([name]) => name)
  const score = weight(counted.filter(([name]) => filled.has(name))) / Math.max(1, weight(counted))
  return {
    score: Math.round(score * 100) / 100,
    mapped: names.filter((name) => filled.has(name)),
    missing: names.filter((name) => !filled.has(name))
  }
}

/** The members that are the model's own; an id counts for the entities of the common data model. */
const countedFields = ({ fields, name }: Model): ModelFields =>
  Object.fromEntries(
    Object.entries(fields).filter(
      ([member]) => !Object.hasOwn(name.includes(".") ? commonUnifiedFields : commonFields, member)
    )
  )
