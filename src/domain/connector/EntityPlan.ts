/** An entity that is ready to be read and written: its maps compiled, and the names of the fields that they read. */
import { cachedPath, type Path } from "../expression/Path.js"
import type { Condition } from "../expression/Condition.js"
import { meetsCondition } from "../expression/ConditionEvaluation.js"
import { StepBudget } from "../expression/StepBudget.js"
import type { Template } from "../expression/Template.js"
import type { JsonObject } from "../Json.js"
import { compilePairs, type CompiledPair } from "../mapping/CompiledPair.js"
import type { FieldMap } from "../mapping/FieldMap.js"
import { firstMember } from "../mapping/ItemPath.js"
import type { ReadingMap } from "../mapping/RecordReading.js"
import type { WritingMap } from "../mapping/RecordWriting.js"
import type { Model } from "../model/FieldType.js"
import type { EntityDefinition } from "./Entity.js"

/** An entity with the maps of one model. */
export interface EntityPlan {
  readonly entity: EntityDefinition
  readonly model: Model
  readonly reading: ReadingMap
  readonly writing: WritingMap
  /** The provider's names of the fields that the map reads. */
  readonly providerFields: ReadonlyArray<string>
}

/** Compiles the maps of an entity. `locale`: of the account. */
export const entityPlan = (
  entity: EntityDefinition,
  model: Model,
  { fields, fieldsOut }: { readonly fields: ReadonlyArray<FieldMap>; readonly fieldsOut: ReadonlyArray<FieldMap> },
  locale: string
): EntityPlan => {
  const pairs = compilePairs(fields, model, "in")
  const fieldsAt = pathOf(entity.fieldsAt)
  return {
    entity,
    model,
    reading: { model, pairs, minorUnits: entity.minorUnits, locale },
    writing: {
      pairs: compilePairs(fieldsOut, model, "out").filter((pair) => isWritten(model, pair)),
      minorUnits: entity.minorUnits,
      fieldsAt
    },
    providerFields: providerFieldsOf(entity, pairs)
  }
}

/** The steps of one record's condition. */
const conditionSteps = 10_000

/** Whether a provider's record is one of the entity's. A definition's conditions on records have no patterns. */
export const isOfEntity = ({ where }: EntityDefinition, raw: JsonObject): boolean =>
  where === undefined ||
  meetsCondition(where, raw, { patterns: () => undefined, budget: new StepBudget(conditionSteps) })

/** The plan for reading these members of the common record only. */
export const narrowPlan = (plan: EntityPlan, members: ReadonlySet<string>): EntityPlan => {
  const { pairs } = plan.reading
  const wanted = pairs.filter(({ to }) => members.has(firstMember(to)))
  const currency = plan.entity.minorUnits?.currency
  const needed = wanted.some(({ isMinorUnits }) => isMinorUnits)
    ? pairs.filter((pair) => wanted.includes(pair) || pair.fromText === currency)
    : wanted
  return {
    ...plan,
    reading: { ...plan.reading, pairs: needed },
    providerFields: providerFieldsOf(plan.entity, needed)
  }
}

/** The fields that pairs read, and the entity's condition. */
const providerFieldsOf = (entity: EntityDefinition, pairs: ReadonlyArray<CompiledPair>): ReadonlyArray<string> => {
  const fieldsAt = pathOf(entity.fieldsAt)
  const compared = entity.where === undefined ? [] : conditionPaths(entity.where)
  return [
    ...new Set([
      ...pairs.flatMap((pair) => fieldNames(pathsOf(pair), fieldsAt)),
      ...fieldNames(compared.map(pathOf), fieldsAt)
    ])
  ]
}

const conditionPaths = (condition: Condition): ReadonlyArray<string> => {
  if ("all" in condition) return condition.all.flatMap(conditionPaths)
  if ("any" in condition) return condition.any.flatMap(conditionPaths)
  return "not" in condition ? conditionPaths(condition.not) : [condition.path]
}

/** Members that the provider sets are never written. */
const isWritten = ({ fields }: Model, { from }: CompiledPair): boolean =>
  from === undefined || fields[firstMember(from)]?.isReadOnly !== true

const pathOf = (text: string | undefined): Path => {
  const parsed = cachedPath(text ?? "$")
  return "mistake" in parsed ? [] : parsed.value
}

/** The paths into the provider's record that a pair reads, up to the first list. */
const pathsOf = (pair: CompiledPair): ReadonlyArray<Path> => {
  const isInList = pair.to.length > 1
  const sources = isInList ? [] : pair.steps.flatMap((step) => ("sources" in step ? step.sources.flatMap(pathsIn) : []))
  return [...(pair.from === undefined ? [] : [pair.from[0] ?? []]), ...sources]
}

const fieldNames = (paths: ReadonlyArray<Path>, fieldsAt: Path): ReadonlyArray<string> =>
  paths.flatMap((path) => {
    const isBelow = fieldsAt.every((segment, index) => String(segment) === String(path[index]))
    const name = isBelow ? path[fieldsAt.length] : fieldsAt.length > 0 ? undefined : path[0]
    return typeof name === "string" ? [name] : []
  })

const pathsIn = (template: Template): ReadonlyArray<Path> =>
  template.flatMap((part) =>
    part._tag === "Text" ? [] : part.operands.flatMap((operand) => (operand._tag === "Path" ? [operand.path] : []))
  )
