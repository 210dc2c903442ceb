/** Finds the parts of overrides that do not fit a connector's version: it was changed since they were published. */
import type { EntityDefinition } from "../../connector/Entity.js"
import type { ConnectorDefinition } from "../../connector/Definition.js"
import { type EntityMap, mapsOf } from "../../connector/EntityMaps.js"
import type { FieldMap } from "../FieldMap.js"
import { fieldMapMistakes } from "../FieldMapChecks.js"
import { expandPairs } from "../ExpandedPairs.js"
import { effectivePairs, type MapOverride } from "../EffectiveMap.js"
import type { BrokenPair } from "../FieldMapRecord.js"
import { isDeclared } from "./DeclaredFields.js"
import { mistakeAt, type Mistakes, mistakeUnless } from "../../expression/Checks.js"

/** The most parts of one override that are named. */
const maxNamed = 20

/** The broken parts of overrides, which are laid over the entity's map in their order. */
export const brokenPairs = (
  entity: EntityDefinition,
  map: EntityMap,
  overrides: ReadonlyArray<MapOverride>
): ReadonlyArray<BrokenPair> =>
  overrides.flatMap((override, index) => {
    const fieldMapId = override.origin.fieldMapId ?? ""
    const below = new Set(effectivePairs(map, overrides.slice(0, index)).fields.map(({ pair }) => pair.to))
    return [
      ...overrideMistakes(entity, map, override),
      ...override.dropped.flatMap((to, at) =>
        mistakeUnless(below.has(to), `dropped[${at}]`, "UNKNOWN_NAME", `is not filled by the map below: ${to}`)
      )
    ]
      .slice(0, maxNamed)
      .map(({ code, message, path }) => ({ fieldMapId, path, code, message }))
  })

/** The mistakes in the pairs of an override. */
export const overrideMistakes = (
  entity: EntityDefinition,
  map: EntityMap,
  { fields, fieldsOut }: Pick<MapOverride, "fields" | "fieldsOut">
): Mistakes => [...pairMistakes(entity, map, fields, "in"), ...pairMistakes(entity, map, fieldsOut ?? [], "out")]

const pairMistakes = (
  entity: EntityDefinition,
  { model }: EntityMap,
  fields: ReadonlyArray<FieldMap>,
  direction: "in" | "out"
): Mistakes => {
  const at = direction === "in" ? "fields" : "fieldsOut"
  return [
    ...fieldMapMistakes(fields, { at, direction, model }),
    ...(entity.minorUnits === undefined
      ? expandPairs(fields, at).flatMap(({ at: place, pair }) =>
          pair.minorUnits === true
            ? mistakeAt(`${place}.minorUnits`, "REQUIRED", "needs the entity's minorUnits, which the connector lacks")
            : []
        )
      : [])
  ]
}

/** A published override with its place. */
export interface PlacedOverride {
  readonly entity: string
  readonly model: string
  readonly override: MapOverride
}

/** The broken parts of overrides whose entity is gone, or no longer becomes the model. */
export const strayOverrides = (
  definition: ConnectorDefinition,
  overrides: ReadonlyArray<PlacedOverride>
): ReadonlyArray<BrokenPair> =>
  overrides.flatMap(({ entity: name, model, override }) => {
    const entity = definition.entities.find((one) => one.name === name)
    const isServed = entity !== undefined && mapsOf(entity).some((map) => map.model.name === model)
    const [path, message] =
      entity === undefined
        ? ["entity", `is none of ${definition.slug} ${definition.version}: ${name}`]
        : ["model", `is not what ${name} of ${definition.slug} ${definition.version} becomes: ${model}`]
    return isServed ? [] : [{ fieldMapId: override.origin.fieldMapId ?? "", path, code: "UNKNOWN_NAME", message }]
  })

/** The pairs of an override that read fields which the version before declared and this one does not. */
export const goneFields = (
  before: ConnectorDefinition,
  after: ConnectorDefinition,
  { entity: name, override }: PlacedOverride
): ReadonlyArray<BrokenPair> => {
  const [old, now] = [before, after].map(({ entities }) => entities.find((one) => one.name === name))
  if (old === undefined || now === undefined) return []
  return expandPairs(override.fields, "fields")
    .filter(
      ({ pair: { from } }) =>
        from !== undefined && isDeclared(before, old, from) === true && isDeclared(after, now, from) === false
    )
    .slice(0, maxNamed)
    .map(({ at, pair }) => ({
      fieldMapId: override.origin.fieldMapId ?? "",
      path: `${at}.from`,
      code: "FIELD_GONE",
      message: `is no field that ${after.slug} ${after.version} declares of ${name}: ${pair.from ?? ""}`
    }))
}
