/** Pairs of a field map, read once: paths parsed, transforms and words of enums looked up. */
import type { Json } from "../Json.js"
import type { Path } from "../expression/Path.js"
import { templatePaths } from "../expression/Template.js"
import { enumKey } from "../model/Coercion.js"
import type { FieldType, Model } from "../model/FieldType.js"
import { typeAt } from "../model/ModelPath.js"
import { expandPairs } from "./ExpandedPairs.js"
import type { DateFormat, FieldMap } from "./FieldMap.js"
import { type ItemPath, listCount, scanItemPath } from "./ItemPath.js"
import { readsPlainPaths, scanTransform, type TransformStep } from "./TransformScan.js"

/** The paths that the transforms of a pair read, besides its own. */
export const sourcePaths = ({ steps }: CompiledPair): ReadonlyArray<Path> =>
  steps.flatMap((step) => ("sources" in step ? step.sources.flatMap((source) => templatePaths(source)) : []))

/** A pair that can be applied. */
export interface CompiledPair {
  /** The place in the map, such as `fields[2]`. */
  readonly at: string
  /** `undefined`: the value is always `default`. */
  readonly from: ItemPath | undefined
  readonly to: ItemPath
  /** As the map writes them. */
  readonly fromText: string
  readonly toText: string
  /** The type of the common member. */
  readonly type: FieldType
  readonly steps: ReadonlyArray<TransformStep>
  /** Values by the word that stands for them; `undefined` without an enum. */
  readonly words: ReadonlyMap<string, Json> | undefined
  readonly fallback: Json | undefined
  readonly default: Json | undefined
  /** Whether a new record without the value gets the time. */
  readonly isDefaultNow: boolean
  readonly split: string | undefined
  readonly locale: string | undefined
  readonly dateFormat: DateFormat | undefined
  readonly isMinorUnits: boolean
}

/**
 * The pairs of a map for reading (`in`) or writing (`out`). Pairs that are mistaken are left out: saving a map refuses them,
 * so that they can only come from an override that a new version of the connector broke.
 */
export const compilePairs = (
  fields: ReadonlyArray<FieldMap>,
  model: Model,
  direction: "in" | "out"
): ReadonlyArray<CompiledPair> =>
  expandPairs(fields, "fields").flatMap(({ at, pair }) => {
    const from = pair.from === undefined ? undefined : scanItemPath(pair.from)
    const to = scanItemPath(pair.to)
    if ("mistake" in to || (from !== undefined && "mistake" in from)) return []
    if (from !== undefined && listCount(from.value) !== listCount(to.value)) return []
    const common = direction === "in" ? to.value : from?.value
    const found = common === undefined ? { type: { kind: "any" } as const } : typeAt(model, common)
    if ("mistake" in found) return []
    const steps = pair.transforms.map(scanTransform)
    if (steps.some((step) => "mistake" in step || !readsPlainPaths(step.value))) return []
    return [
      {
        at,
        from: from?.value,
        to: to.value,
        fromText: pair.from ?? "",
        toText: pair.to,
        type: found.type,
        steps: steps.flatMap((step) => ("mistake" in step ? [] : [step.value])),
        words:
          pair.enum === undefined
            ? undefined
            : new Map(Object.entries(pair.enum).map(([word, value]) => [enumKey(word), value])),
        fallback: pair.fallback,
        default: pair.default,
        isDefaultNow: pair.defaultNow === true,
        split: pair.split,
        locale: pair.locale,
        dateFormat: pair.dateFormat,
        isMinorUnits: pair.minorUnits === true
      }
    ]
  })
