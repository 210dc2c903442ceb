/** What can be wrong with a field map between a provider's records and the common ones. */
import { cdmEntities, cdmFields, commonFields, isCdmEntity } from "../cdm/Entities.js"
import {
  duplicateMistakes,
  mistakesInEach,
  type Mistakes,
  pathMistakes,
  referenceMistakes,
  mistakeUnless,
  mistakeAt
} from "./Checks.js"
import type { ConnectorDefinition, EntityDefinition, FieldMap } from "./Definition.js"
import { firstItemPath, parsePath } from "./Path.js"
import { Either } from "effect"

/** The functions that a value may pass through. Contract: CDM types, transforms. */
export const transformNames = ["UPPER", "LOWER", "TRIM", "ROUND", "MULTIPLY", "ADD", "CONCAT", "COALESCE"] as const

export const entityMistakes = (definition: ConnectorDefinition): Mistakes => {
  const actions = new Set(definition.actions.map(({ name }) => name))
  return [
    ...duplicateMistakes(
      "entities",
      "name",
      definition.entities.map(({ name }) => name)
    ),
    ...mistakesInEach("entities", definition.entities, (entity, path) => [
      ...(["read", "get", "create", "update", "delete"] as const).flatMap((verb) =>
        referenceMistakes(`${path}.${verb}`, entity[verb], actions, "action")
      ),
      ...mistakeUnless(
        entity.cdm === undefined || isCdmEntity(entity.cdm),
        `${path}.cdm`,
        "UNKNOWN_NAME",
        `there are ${Object.keys(cdmEntities).join(", ")}`
      ),
      ...mistakeUnless(
        entity.unified === undefined || /^[a-z-]+\/[a-z-]+$/.test(entity.unified),
        `${path}.unified`,
        "INVALID_VALUE",
        "must be category/entity"
      ),
      ...mapMistakes(entity.fields, `${path}.fields`),
      ...targetMistakes(entity, path),
      ...mapMistakes(entity.fieldsOut ?? [], `${path}.fieldsOut`),
      ...amountMistakes(entity, path),
      ...reverseMistakes(entity, path)
    ])
  ]
}

const mapMistakes = (fields: ReadonlyArray<FieldMap>, path: string): Mistakes =>
  mistakesInEach(path, fields, (field, at) => [
    ...pathMistakes(`${at}.from`, firstItemPath(field.from)),
    ...pathMistakes(`${at}.to`, firstItemPath(field.to)),
    ...mistakeUnless(
      listCount(field.from) === listCount(field.to),
      `${at}.to`,
      "INVALID_VALUE",
      "must stand for as many lists ([*]) as from does"
    ),
    ...mistakesInEach(`${at}.transforms`, field.transforms, (transform, place) => {
      const name =
        typeof transform === "string" ? (/^([A-Z]+)(?:\([^()]*\))?$/.exec(transform)?.[1] ?? "") : transform.fn
      return mistakeUnless(
        transformNames.some((known) => known === name),
        place,
        "UNKNOWN_NAME",
        `there are the transforms ${transformNames.join(", ")}`
      )
    })
  ])

/** Of how many lists a path tells every item. */
const listCount = (path: string) => path.split("[*]").length

/** Every pair leads to a member that the common entity has. */
const targetMistakes = ({ cdm, fields }: EntityDefinition, path: string): Mistakes => {
  if (cdm === undefined || !isCdmEntity(cdm)) return []
  const known: ReadonlyArray<string> = [...cdmFields(cdm), ...commonFields]
  return mistakesInEach(`${path}.fields`, fields, ({ to }, at) =>
    Either.match(parsePath(firstItemPath(to)), {
      onLeft: () => [],
      onRight: ([member]) =>
        known.includes(String(member))
          ? []
          : mistakeAt(`${at}.to`, "UNKNOWN_NAME", `${cdm} has no member "${String(member)}"`)
    })
  )
}

/** An amount in a smallest unit is a plain number of a currency that the record names. */
const amountMistakes = ({ fields, fieldsOut = [], minorUnits }: EntityDefinition, path: string): Mistakes => {
  const check = (field: FieldMap, at: string): Mistakes =>
    field.minorUnits !== true
      ? []
      : [
          ...mistakeUnless(
            minorUnits !== undefined,
            `${at}.minorUnits`,
            "REQUIRED",
            `needs ${path}.minorUnits, which tells where a record has its currency`
          ),
          ...mistakeUnless(field.enum === undefined, `${at}.enum`, "INVALID_VALUE", "an amount has no list of values")
        ]
  return [
    ...pathMistakes(`${path}.minorUnits.currency`, minorUnits?.currency),
    ...mistakesInEach(`${path}.fields`, fields, check),
    ...mistakesInEach(`${path}.fieldsOut`, fieldsOut, check)
  ]
}

/** Writing reads the pairs in reverse; what cannot be reversed needs a map of its own. */
const reverseMistakes = (entity: EntityDefinition, path: string): Mistakes => {
  if (entity.fieldsOut !== undefined || (entity.create === undefined && entity.update === undefined)) return []
  const first = entity.fields.findIndex(({ transforms }) => transforms.length > 0)
  return first < 0
    ? []
    : mistakeAt(
        `${path}.fieldsOut`,
        "REQUIRED",
        `is required: the transforms of fields[${first}] cannot be read in reverse to create or update`
      )
}
