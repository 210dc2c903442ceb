/** A connector's map with the overrides of the organisation and of a customer: pairs replaced, added and dropped by `to`. */
import type { FieldMap } from "./FieldMap.js"
import { reversedPairs } from "./ReversedPairs.js"

/** Who wrote a pair. */
export interface PairOrigin {
  readonly level: "connector" | "organisation" | "customer"
  /** Of the override; null for the connector's own map. */
  readonly fieldMapId: string | null
  readonly version: number | null
}

/** Pairs of an override. */
export interface MapOverride {
  readonly origin: PairOrigin
  readonly fields: ReadonlyArray<FieldMap>
  /** Members that the map does not fill any more. */
  readonly dropped: ReadonlyArray<string>
  /** For writing; null: `fields` in reverse where that is possible. */
  readonly fieldsOut: ReadonlyArray<FieldMap> | null
}

/** A pair with its origin. */
export interface OriginPair {
  readonly pair: FieldMap
  readonly origin: PairOrigin
}

/** The pairs that are in force. */
export interface EffectivePairs {
  readonly fields: ReadonlyArray<OriginPair>
  readonly fieldsOut: ReadonlyArray<OriginPair>
}

const connectorOrigin: PairOrigin = { level: "connector", fieldMapId: null, version: null }

/** Lays overrides over a connector's map, in their order. */
export const effectivePairs = (
  base: { readonly fields: ReadonlyArray<FieldMap>; readonly fieldsOut: ReadonlyArray<FieldMap> },
  overrides: ReadonlyArray<MapOverride>
): EffectivePairs =>
  overrides.reduce<EffectivePairs>(
    ({ fields, fieldsOut }, override) => {
      const { dropped, origin } = override
      const own = override.fieldsOut ?? reversedPairs(override.fields)
      const withOrigin = (pair: FieldMap): OriginPair => ({ pair, origin })
      const replaced = new Set([...override.fields.map(({ to }) => to), ...dropped])
      const written = new Set(own.map(({ to }) => to))
      return {
        fields: [...fields.filter(({ pair }) => !replaced.has(pair.to)), ...override.fields.map(withOrigin)],
        fieldsOut: [
          ...fieldsOut.filter(({ pair }) => !written.has(pair.to) && !replaced.has(pair.from ?? "")),
          ...own.map(withOrigin)
        ]
      }
    },
    {
      fields: base.fields.map((pair) => ({ pair, origin: connectorOrigin })),
      fieldsOut: base.fieldsOut.map((pair) => ({ pair, origin: connectorOrigin }))
    }
  )

/** The overrides that would be in force if one of them was another: a draft, or an earlier version. */
export const withOverride = (overrides: ReadonlyArray<MapOverride>, other: MapOverride): ReadonlyArray<MapOverride> => {
  const left = overrides.filter(({ origin }) => origin.level !== other.origin.level)
  return other.origin.level === "organisation" ? [other, ...left] : [...left, other]
}
