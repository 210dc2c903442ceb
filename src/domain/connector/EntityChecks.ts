/** Finds mistakes in entities: the actions that they name, the arguments of these, and their field maps. */
import { cdmEntities, isCdmEntity } from "../cdm/Entities.js"
import {
  conditionMistakes,
  duplicateMistakes,
  mistakeAt,
  type Mistakes,
  mistakesInEach,
  mistakeUnless,
  pathMistakes,
  referenceMistakes,
  templatesIn
} from "../expression/Checks.js"
import type { Path } from "../expression/Path.js"
import type { FieldMap } from "../mapping/FieldMap.js"
import { fieldMapMistakes } from "../mapping/FieldMapChecks.js"
import type { Model } from "../model/FieldType.js"
import { unifiedEntities } from "../unified/Entities.js"
import type { ConnectorDefinition } from "./Definition.js"
import { cdmModelOf, unifiedModelOf } from "./EntityModels.js"
import { actionsOf, type EntityDefinition, entityOperations } from "./Entity.js"

/** The mistakes in all entities. */
export const entityMistakes = (definition: ConnectorDefinition): Mistakes => [
  ...duplicateMistakes(
    "entities",
    "name",
    definition.entities.map(({ name }) => name)
  ),
  ...variantMistakes(definition.entities),
  ...mistakesInEach("entities", definition.entities, (entity, path) => [
    ...actionMistakes(definition, entity, path),
    ...mistakeUnless(
      entity.cdm === undefined || isCdmEntity(entity.cdm),
      `${path}.cdm`,
      "UNKNOWN_NAME",
      `must be one of ${Object.keys(cdmEntities).join(", ")}`
    ),
    ...mistakeUnless(
      entity.unified === undefined || unifiedModelOf(entity) !== undefined,
      `${path}.unified`,
      "UNKNOWN_NAME",
      `must be one of ${unifiedEntities.map((one) => `${one.category}/${one.entity}`).join(", ")}`
    ),
    ...conditionMistakes(`${path}.where`, entity.where, () => "cannot be used here: compare values"),
    ...pathMistakes(`${path}.record`, entity.record),
    ...pathMistakes(`${path}.fieldsAt`, entity.fieldsAt),
    ...descriptionMistakes(definition, entity, path),
    ...mapsMistakes(entity, path),
    ...amountMistakes(entity, path)
  ])
]

// --- Actions and their arguments ---

/** The roots of templates of arguments. */
const roots = ["query", "id", "record", "before", "results"]

const rootMistake = ([root]: Path): string | undefined =>
  roots.includes(String(root)) ? undefined : `must begin with one of ${roots.join(", ")}`

const actionMistakes = (definition: ConnectorDefinition, entity: EntityDefinition, path: string): Mistakes => {
  const known = new Set(definition.actions.map(({ name }) => name))
  return entityOperations.flatMap((operation) => {
    const actions = actionsOf(entity, operation)
    const args = entity.args[operation]
    return [
      ...actions.flatMap((action) => referenceMistakes(`${path}.${operation}`, action, known, "action")),
      ...templatesIn(`${path}.args.${operation}`, args, rootMistake),
      ...mistakeUnless(
        args === undefined || actions.length > 0,
        `${path}.args.${operation}`,
        "INVALID_VALUE",
        `belongs to no action: ${path}.${operation} is missing`
      ),
      ...mistakeUnless(
        args === undefined || !Array.isArray(args) || args.length === actions.length,
        `${path}.args.${operation}`,
        "INVALID_VALUE",
        "must have arguments for each of the actions"
      )
    ]
  })
}

const descriptionMistakes = (definition: ConnectorDefinition, { describe }: EntityDefinition, path: string): Mistakes =>
  describe === undefined
    ? []
    : [
        ...referenceMistakes(
          `${path}.describe.action`,
          describe.action,
          new Set(definition.actions.map(({ name }) => name)),
          "action"
        ),
        ...(["items", "name", "title", "type"] as const).flatMap((member) =>
          pathMistakes(`${path}.describe.${member}`, describe[member])
        ),
        ...(["required", "readOnly", "custom"] as const).flatMap((member) =>
          conditionMistakes(`${path}.describe.${member}`, describe[member], () => "cannot be used here: compare values")
        )
      ]

/** Entities that share a unified entity are told apart by their variants. */
const variantMistakes = (entities: ReadonlyArray<EntityDefinition>): Mistakes => {
  const seen = new Set<string>()
  return mistakesInEach("entities", entities, (entity, path) => {
    const model = unifiedModelOf(entity)
    if (model === undefined) return []
    const key = `${model.name}:${entity.variant ?? ""}`
    const isTaken = seen.has(key)
    const shares = entities.filter((one) => unifiedModelOf(one) === model).length > 1
    seen.add(key)
    return shares && (isTaken || entity.variant === undefined)
      ? mistakeAt(`${path}.variant`, "REQUIRED", `is required, and different for each of the entities of ${model.name}`)
      : []
  })
}

// --- Maps ---

const mapsMistakes = (entity: EntityDefinition, path: string): Mistakes => {
  const check = (
    member: "fields" | "fieldsOut" | "unifiedFields" | "unifiedFieldsOut",
    fields: ReadonlyArray<FieldMap> | undefined,
    model: Model | undefined
  ): Mistakes =>
    fields === undefined
      ? []
      : fieldMapMistakes(fields, {
          at: `${path}.${member}`,
          direction: member.endsWith("Out") ? "out" : "in",
          model
        })
  const common = cdmModelOf(entity)
  const unified = unifiedModelOf(entity)
  return [
    ...check("fields", entity.fields, common),
    ...check("fieldsOut", entity.fieldsOut, common),
    ...check("unifiedFields", entity.unifiedFields, unified),
    ...check("unifiedFieldsOut", entity.unifiedFieldsOut, unified),
    ...(entity.cdm === undefined ? [] : reverseMistakes(entity, path, "fields")),
    ...(entity.unifiedFields === undefined ? [] : reverseMistakes(entity, path, "unifiedFields"))
  ]
}

/** Checks that a map without its twin for writing can be reversed. */
const reverseMistakes = (entity: EntityDefinition, path: string, member: "fields" | "unifiedFields"): Mistakes => {
  const isWritten = actionsOf(entity, "create").length > 0 || actionsOf(entity, "update").length > 0
  if (entity[`${member}Out`] !== undefined || !isWritten) return []
  const first = (entity[member] ?? []).findIndex(({ transforms }) => transforms.length > 0)
  return first < 0
    ? []
    : mistakeAt(
        `${path}.${member}Out`,
        "REQUIRED",
        `is required: the transforms of ${member}[${first}] cannot be read in reverse to create or update`
      )
}

/** Checks that amounts in minor units have a currency. */
const amountMistakes = (entity: EntityDefinition, path: string): Mistakes => {
  const maps = ["fields", "fieldsOut", "unifiedFields", "unifiedFieldsOut"] as const
  return [
    ...pathMistakes(`${path}.minorUnits.currency`, entity.minorUnits?.currency),
    ...maps.flatMap((member) =>
      mistakesInEach(`${path}.${member}`, entity[member] ?? [], (field, at) =>
        mistakeUnless(
          field.minorUnits !== true || entity.minorUnits !== undefined,
          `${at}.minorUnits`,
          "REQUIRED",
          `needs ${path}.minorUnits with the path to a record's currency`
        )
      )
    )
  ]
}
