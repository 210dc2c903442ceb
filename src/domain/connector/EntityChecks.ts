/** What can be wrong with a field map between a provider's records and the common ones. */
import { cdmEntities, cdmFields, commonFields, isCdmEntity } from "../cdm/Entities.js"
import { duplicates, each, type Mistakes, pathMistakes, reference, unless, wrong } from "./Checks.js"
import type { ConnectorDefinition, EntityDefinition, FieldMap } from "./Definition.js"
import { firstOf, parsePath } from "./Path.js"
import { Either } from "effect"

/** The functions that a value may pass through. Contract: CDM types, transforms. */
export const transformNames = ["UPPER", "LOWER", "TRIM", "ROUND", "MULTIPLY", "ADD", "CONCAT", "COALESCE"] as const

export const entityMistakes = (definition: ConnectorDefinition): Mistakes => {
  const actions = new Set(definition.actions.map(({ name }) => name))
  return [
    ...duplicates(
      "entities",
      "name",
      definition.entities.map(({ name }) => name)
    ),
    ...each("entities", definition.entities, (entity, path) => [
      ...(["read", "get", "create", "update", "delete"] as const).flatMap((verb) =>
        reference(`${path}.${verb}`, entity[verb], actions, "action")
      ),
      ...unless(
        entity.cdm === undefined || isCdmEntity(entity.cdm),
        `${path}.cdm`,
        "UNKNOWN_NAME",
        `there are ${Object.keys(cdmEntities).join(", ")}`
      ),
      ...unless(
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
  each(path, fields, (field, at) => [
    ...pathMistakes(`${at}.from`, firstOf(field.from)),
    ...pathMistakes(`${at}.to`, firstOf(field.to)),
    ...unless(
      lists(field.from) === lists(field.to),
      `${at}.to`,
      "INVALID_VALUE",
      "must stand for as many lists ([*]) as from does"
    ),
    ...each(`${at}.transforms`, field.transforms, (transform, place) => {
      const name =
        typeof transform === "string" ? (/^([A-Z]+)(?:\([^()]*\))?$/.exec(transform)?.[1] ?? "") : transform.fn
      return unless(
        transformNames.some((known) => known === name),
        place,
        "UNKNOWN_NAME",
        `there are the transforms ${transformNames.join(", ")}`
      )
    })
  ])

/** Of how many lists a path tells every item. */
const lists = (path: string) => path.split("[*]").length

/** Every pair leads to a member that the common entity has. */
const targetMistakes = ({ cdm, fields }: EntityDefinition, path: string): Mistakes => {
  if (cdm === undefined || !isCdmEntity(cdm)) return []
  const known: ReadonlyArray<string> = [...cdmFields(cdm), ...commonFields]
  return each(`${path}.fields`, fields, ({ to }, at) =>
    Either.match(parsePath(firstOf(to)), {
      onLeft: () => [],
      onRight: ([member]) =>
        known.includes(String(member))
          ? []
          : wrong(`${at}.to`, "UNKNOWN_NAME", `${cdm} has no member "${String(member)}"`)
    })
  )
}

/** An amount in a smallest unit is a plain number of a currency that the record names. */
const amountMistakes = ({ fields, fieldsOut = [], minorUnits }: EntityDefinition, path: string): Mistakes => {
  const check = (field: FieldMap, at: string): Mistakes =>
    field.minorUnits !== true
      ? []
      : [
          ...unless(
            minorUnits !== undefined,
            `${at}.minorUnits`,
            "REQUIRED",
            `needs ${path}.minorUnits, which tells where a record has its currency`
          ),
          ...unless(field.enum === undefined, `${at}.enum`, "INVALID_VALUE", "an amount has no list of values")
        ]
  return [
    ...pathMistakes(`${path}.minorUnits.currency`, minorUnits?.currency),
    ...each(`${path}.fields`, fields, check),
    ...each(`${path}.fieldsOut`, fieldsOut, check)
  ]
}

/** Writing reads the pairs in reverse; what cannot be reversed needs a map of its own. */
const reverseMistakes = (entity: EntityDefinition, path: string): Mistakes => {
  if (entity.fieldsOut !== undefined || (entity.create === undefined && entity.update === undefined)) return []
  const first = entity.fields.findIndex(({ transforms }) => transforms.length > 0)
  return first < 0
    ? []
    : wrong(
        `${path}.fieldsOut`,
        "REQUIRED",
        `is required: the transforms of fields[${first}] cannot be read in reverse to create or update`
      )
}
