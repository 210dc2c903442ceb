/** Finds mistakes in entities and their field maps. */
import { cdmEntities, cdmFields, commonFields, isCdmEntity } from "../cdm/Entities.js"
import {
  duplicateMistakes,
  mistakesInEach,
  type Mistakes,
  pathMistakes,
  referenceMistakes,
  mistakeUnless,
  mistakeAt
} from "../expression/Checks.js"
import type { ConnectorDefinition, EntityDefinition, FieldMap } from "./Definition.js"
import { firstItemPath } from "../expression/Path.js"
import { parsePath } from "../expression/Parsing.js"
import { transformNames } from "../mapping/TransformScan.js"
import { Either } from "effect"

/** The mistakes in all entities. */
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
        `must be one of ${Object.keys(cdmEntities).join(", ")}`
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
      "must have as many lists ([*]) as from"
    ),
    ...mistakesInEach(`${at}.transforms`, field.transforms, (transform, place) => {
      const name =
        typeof transform === "string" ? (/^([A-Z]+)(?:\([^()]*\))?$/.exec(transform)?.[1] ?? "") : transform.fn
      return mistakeUnless(
        transformNames.some((known) => known === name),
        place,
        "UNKNOWN_NAME",
        `must be one of ${transformNames.join(", ")}`
      )
    })
  ])

/** The number of `[*]` in a path, plus one. */
const listCount = (path: string) => path.split("[*]").length

/** Checks that every pair leads to a member of the common entity. */
const targetMistakes = ({ cdm, fields }: EntityDefinition, path: string): Mistakes => {
  if (cdm === undefined || !isCdmEntity(cdm)) return []
  const fieldNames: ReadonlyArray<string> = [...cdmFields(cdm), ...commonFields]
  return mistakesInEach(`${path}.fields`, fields, ({ to }, at) =>
    Either.match(parsePath(firstItemPath(to)), {
      onLeft: () => [],
      onRight: ([member]) =>
        fieldNames.includes(String(member))
          ? []
          : mistakeAt(`${at}.to`, "UNKNOWN_NAME", `${cdm} has no member "${String(member)}"`)
    })
  )
}

/** Checks that amounts in minor units have a currency and no list of values. */
const amountMistakes = ({ fields, fieldsOut = [], minorUnits }: EntityDefinition, path: string): Mistakes => {
  const check = (field: FieldMap, at: string): Mistakes =>
    field.minorUnits !== true
      ? []
      : [
          ...mistakeUnless(
            minorUnits !== undefined,
            `${at}.minorUnits`,
            "REQUIRED",
            `needs ${path}.minorUnits with the path to a record's currency`
          ),
          ...mistakeUnless(field.enum === undefined, `${at}.enum`, "INVALID_VALUE", "cannot be used for an amount")
        ]
  return [
    ...pathMistakes(`${path}.minorUnits.currency`, minorUnits?.currency),
    ...mistakesInEach(`${path}.fields`, fields, check),
    ...mistakesInEach(`${path}.fieldsOut`, fieldsOut, check)
  ]
}

/** Checks that a map without `fieldsOut` can be reversed for writing. */
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
