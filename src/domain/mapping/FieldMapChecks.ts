/** Finds the mistakes of field maps, each with its place. */
import { didYouMean } from "../ClosestName.js"
import { mistakeAt, type Mistakes, mistakesInEach, mistakeUnless } from "../expression/Checks.js"
import { readValue } from "../model/Coercion.js"
import type { FieldType, Model } from "../model/FieldType.js"
import { kindText, typeAt } from "../model/ModelPath.js"
import type { Json } from "../Json.js"
import { expandPairs, type PlacedPair } from "./ExpandedPairs.js"
import { type ItemPath, listCount, scanItemPath } from "./ItemPath.js"
import { readsPlainPaths, scanTransform, transformNames } from "./TransformScan.js"

/** The most pairs of a map, with those of items. */
export const maxPairs = 1_000
/** The most transforms of a pair. */
const maxTransforms = 32
/** The most words of an enum. */
const maxWords = 1_000

/** Whether a map is for reading the provider's records, or for writing them. */
export type MapDirection = "in" | "out"

/**
 * The mistakes of a map. `model`: of the common records, `undefined` where the definition names none. `at`: the map's place.
 */
export const fieldMapMistakes = (
  fields: ReadonlyArray<PlacedPair["pair"]>,
  { at, direction, model }: { readonly at: string; readonly direction: MapDirection; readonly model: Model | undefined }
): Mistakes => {
  const pairs = expandPairs(fields, at)
  if (pairs.length > maxPairs) return mistakeAt(at, "OUT_OF_RANGE", `has more than ${maxPairs} pairs`)
  return [...pairs.flatMap((one) => pairMistakes(one, direction, model)), ...duplicateTargets(pairs)]
}

const duplicateTargets = (pairs: ReadonlyArray<PlacedPair>): Mistakes => {
  const seen = new Map<string, string>()
  return pairs.flatMap(({ at, pair }) => {
    const path = scanItemPath(pair.to)
    if ("mistake" in path) return []
    const key = JSON.stringify(path.value.map((part) => part.map(String)))
    const other = seen.get(key)
    seen.set(key, other ?? at)
    return other === undefined ? [] : mistakeAt(`${at}.to`, "DUPLICATE", `fills the same member as ${other}`)
  })
}

const pairMistakes = ({ at, pair }: PlacedPair, direction: MapDirection, model: Model | undefined): Mistakes => {
  const from = pair.from === undefined ? undefined : scanItemPath(pair.from)
  const to = scanItemPath(pair.to)
  const pathMistake = (member: string, text: string, path: ReturnType<typeof scanItemPath> | undefined): Mistakes =>
    path !== undefined && "mistake" in path
      ? mistakeAt(`${at}.${member}`, "INVALID_PATH", `"${text}" ${path.mistake}`)
      : []
  const mistakes = [
    ...pathMistake("from", pair.from ?? "", from),
    ...pathMistake("to", pair.to, to),
    ...mistakeUnless(
      from !== undefined || pair.default !== undefined || pair.defaultNow === true,
      `${at}.from`,
      "REQUIRED",
      "is required, unless the pair has a default, which is then its value"
    ),
    ...transformMistakes(pair.transforms, `${at}.transforms`)
  ]
  if ("mistake" in to || (from !== undefined && "mistake" in from)) return mistakes
  return [
    ...mistakes,
    ...mistakeUnless(
      from === undefined || listCount(from.value) === listCount(to.value),
      `${at}.to`,
      "INVALID_VALUE",
      "must have as many lists ([*]) as from"
    ),
    ...mistakeUnless(
      pair.defaultNow !== true || (direction === "out" && listCount(to.value) === 0),
      `${at}.defaultNow`,
      "INVALID_VALUE",
      "is only for a map for writing, and for no list"
    ),
    ...(model === undefined
      ? []
      : modelMistakes({ at, pair }, direction, model, direction === "in" ? to.value : from?.value))
  ]
}

const transformMistakes = (transforms: PlacedPair["pair"]["transforms"], at: string): Mistakes => [
  ...mistakeUnless(transforms.length <= maxTransforms, at, "OUT_OF_RANGE", `has more than ${maxTransforms} transforms`),
  ...mistakesInEach(at, transforms, (transform, place) => {
    const step = scanTransform(transform)
    if (!("mistake" in step))
      return mistakeUnless(readsPlainPaths(step.value), place, "INVALID_VALUE", "must read plain paths, without {{}}")
    const name = typeof transform === "string" ? /^\s*([A-Z]+)/.exec(transform)?.[1] : transform.fn
    return mistakeAt(place, transformNames.some((one) => one === name) ? "INVALID_VALUE" : "UNKNOWN_NAME", step.mistake)
  })
]

/** The mistakes of a pair in view of the common member that it reads or fills. */
const modelMistakes = (
  { at, pair }: PlacedPair,
  direction: MapDirection,
  model: Model,
  common: ItemPath | undefined
): Mistakes => {
  if (common === undefined) return []
  const found = typeAt(model, common)
  if ("mistake" in found) return mistakeAt(`${at}.${direction === "in" ? "to" : "from"}`, "UNKNOWN_NAME", found.mistake)
  const { type } = found
  const only = (
    member: "minorUnits" | "split" | "dateFormat" | "defaultNow" | "enum",
    holds: boolean,
    words: string
  ): Mistakes =>
    mistakeUnless(pair[member] === undefined || holds, `${at}.${member}`, "INVALID_VALUE", `is only for ${words}`)
  return [
    ...only("minorUnits", type.kind === "money" || type.kind === "any", "amounts"),
    ...only("split", type.kind === "list" && type.of.kind !== "object", "lists of texts"),
    ...only("dateFormat", type.kind === "dateTime" || type.kind === "any", "times"),
    ...only("defaultNow", type.kind === "dateTime" || type.kind === "any", "times"),
    ...only("enum", type.kind !== "object" && type.kind !== "list", "single values"),
    ...mistakeUnless(
      pair.minorUnits !== true || pair.enum === undefined,
      `${at}.enum`,
      "INVALID_VALUE",
      "cannot be used for an amount"
    ),
    ...(direction === "in" ? valueMistakes(pair, type, at) : wordMistakes(pair, type, at))
  ]
}

/** Values that a map for reading names must be of the member's type. */
const valueMistakes = (pair: PlacedPair["pair"], type: FieldType, at: string): Mistakes => {
  const check = (value: Json | undefined, place: string): Mistakes => {
    if (value === undefined || value === null) return []
    const read = readValue(type, value)
    return "mistake" in read ? mistakeAt(place, "INVALID_VALUE", `must be a ${kindText(type)}`) : []
  }
  const words = Object.entries(pair.enum ?? {})
  const checkedWords = words.slice(0, maxWords)
  return [
    ...mistakeUnless(words.length <= maxWords, `${at}.enum`, "OUT_OF_RANGE", `has more than ${maxWords} words`),
    ...checkedWords.flatMap(([word, value]) => check(value, `${at}.enum[${JSON.stringify(word)}]`)),
    ...check(pair.fallback, `${at}.fallback`),
    ...check(pair.default, `${at}.default`)
  ]
}

/** The words of an enum for writing are those of the model. */
const wordMistakes = (pair: PlacedPair["pair"], type: FieldType, at: string): Mistakes =>
  type.kind !== "enum"
    ? []
    : Object.keys(pair.enum ?? {})
        .slice(0, maxWords)
        .flatMap((word) =>
          mistakeUnless(
            type.values.includes(word),
            `${at}.enum[${JSON.stringify(word)}]`,
            "UNKNOWN_NAME",
            `must be one of ${type.values.join(", ")}.${didYouMean(word, type.values)}`
          )
        )
