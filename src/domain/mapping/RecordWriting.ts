/**
 * Writes a common record as a provider's by a map for writing. Of a change only what the caller changed is written: null
 * clears, lists are replaced whole, and what already means the same is left out. Contract: unified API.
 */
import { mistakeAt, type Mistakes } from "../expression/Checks.js"
import { isList } from "../expression/List.js"
import { type Path, placeBelow, readPath, valueAt } from "../expression/Path.js"
import { isObject, type Json, type JsonObject } from "../Json.js"
import { type CompiledPair, sourcePaths } from "./CompiledPair.js"
import { MapCost } from "./MapCost.js"
import type { MinorUnits } from "./MinorUnits.js"
import { Overlay } from "./Overlay.js"
import { writeMappedValue } from "./ValueWriting.js"

/** What a map for writing needs. */
export interface WritingMap {
  readonly pairs: ReadonlyArray<CompiledPair>
  readonly minorUnits: MinorUnits | undefined
  /** The member of the provider's record with its fields; empty: the record itself. */
  readonly fieldsAt: Path
}

/** A record as it is: at the provider, and as its map reads it. */
export interface RecordBefore {
  readonly provider: JsonObject
  readonly common: JsonObject
}

/** The provider's record, or of a change what is to be changed. */
export interface WrittenByMap {
  readonly record: JsonObject
  readonly mistakes: Mistakes
}

/** Writes a record that is to be created. `now`: the time of pairs with `defaultNow`, in RFC 3339. */
export const writeNewRecord = (map: WritingMap, common: JsonObject, now?: string): WrittenByMap =>
  write(
    map,
    common,
    map.pairs.filter(
      (pair) => pair.from === undefined || hasValue(common, pair) || (pair.isDefaultNow && now !== undefined)
    ),
    undefined,
    now
  )

/** Writes the change of a record: the pairs whose common value differs from before. */
export const writeChange = (map: WritingMap, common: JsonObject, before: RecordBefore): WrittenByMap =>
  write(
    map,
    common,
    map.pairs.filter((pair) => pair.from !== undefined && isChanged(pair, common, before.common)),
    before.provider
  )

/** The value that decides whether a pair is written: of pairs in a list, the list. */
const decidingValue = (common: JsonObject, { from }: CompiledPair): Json => readPath(common, from?.[0] ?? []) ?? null

const hasValue = (common: JsonObject, pair: CompiledPair): boolean =>
  decidingValue(common, pair) !== null || sourcesOf(pair).some((path) => (readPath(common, path) ?? null) !== null)

const isChanged = (pair: CompiledPair, after: JsonObject, before: JsonObject): boolean =>
  !isSameJson(decidingValue(after, pair), decidingValue(before, pair)) ||
  sourcesOf(pair).some((path) => !isSameJson(readPath(after, path) ?? null, readPath(before, path) ?? null))

/** What else of the record a pair writes; transforms of a pair in a list read its items. */
const sourcesOf = (pair: CompiledPair): ReadonlyArray<Path> => (pair.to.length > 1 ? [] : sourcePaths(pair))

/** Whether two values are the same; the order of members does not count, and an absent member is null. */
export const isSameJson = (one: Json, other: Json): boolean => {
  if (one === other) return true
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false
  if (isList(one) || isList(other))
    return (
      isList(one) &&
      isList(other) &&
      one.length === other.length &&
      one.every((item, index) => isSameJson(item, other[index] ?? null))
    )
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...names].every((name) => isSameJson(memberOf(one, name), memberOf(other, name)))
}

const memberOf = (value: JsonObject, name: string): Json => (Object.hasOwn(value, name) ? (value[name] ?? null) : null)

/** The currency of a record that is written: of the common record, else of the provider's as it is. */
export const currencyOf = (map: WritingMap, common: JsonObject, before: JsonObject | undefined): Json | undefined => {
  const path = map.minorUnits?.currency
  const pair = path === undefined ? undefined : map.pairs.find(({ toText }) => toText === path)
  const written = pair === undefined ? undefined : readPath(common, pair.from?.[0] ?? [])
  return written ?? (path === undefined ? undefined : valueAt(before, path))
}

const write = (
  map: WritingMap,
  common: JsonObject,
  pairs: ReadonlyArray<CompiledPair>,
  before: JsonObject | undefined,
  now?: string
): WrittenByMap => {
  const overlay = new Overlay({})
  const cost = new MapCost(maxWritten)
  const mistakes: Array<Mistakes[number]> = []
  const based = new Set<string>()
  const currency = () => currencyOf(map, common, before)
  const set = (path: Path, value: Json) => {
    keepBeside(overlay, map.fieldsAt, path, before, based)
    const why = overlay.set(path, value)
    if (why !== undefined) mistakes.push(...mistakeAt(path.join("."), "OUT_OF_RANGE", why))
  }
  const one = (pair: CompiledPair, source: Json, value: Json, path: Path, at: string) => {
    cost.count()
    const written = writeMappedValue(pair, source, value, map.minorUnits, currency)
    if ("value" in written) cost.spend(written.value ?? null)
    if ("mistake" in written) mistakes.push(...mistakeAt(at, written.code, written.mistake))
    else if (written.value !== undefined) set(path, written.value)
  }
  const isFull = () => cost.isExceeded || mistakes.length >= maxMistakes
  for (const pair of pairs) {
    if (isFull()) break
    if (pair.to.length === 1) {
      const given = pair.from === undefined ? null : (readPath(common, pair.from[0] ?? []) ?? null)
      const value = given === null && pair.isDefaultNow ? (now ?? null) : given
      if (value !== null || pair.steps.length > 0 || pair.from === undefined || before !== undefined)
        one(pair, common, value, pair.to[0] ?? [], pair.fromText)
    } else {
      writeList(pair, common, 0, [], "", { set, one, isFull, isChange: before !== undefined })
    }
  }
  if (cost.isExceeded)
    mistakes.unshift(
      ...mistakeAt("$", "OUT_OF_RANGE", `gives more than ${maxWritten} values, or too much text, by the map`)
    )
  return { record: isObject(overlay.value) ? overlay.value : {}, mistakes }
}

/** The most values of a record that is written, and the most mistakes that are told. */
const maxWritten = 50_000
const maxMistakes = 50

interface ListWriter {
  readonly set: (path: Path, value: Json) => void
  readonly one: (pair: CompiledPair, source: Json, value: Json, path: Path, at: string) => void
  readonly isChange: boolean
  /** Whether to stop. */
  readonly isFull: () => boolean
}

/** Writes the items of the common list of part `level` of a pair's paths. A list without items is cleared by a change. */
const writeList = (
  pair: CompiledPair,
  source: Json,
  level: number,
  above: Path,
  place: string,
  writer: ListWriter
): void => {
  const part = pair.from?.[level] ?? []
  const listPath = [...above, ...(pair.to[level] ?? [])]
  const items = readPath(source, part)
  if (!isList(items) || items.length === 0) {
    if (writer.isChange && level === 0) writer.set(listPath, [])
    return
  }
  const at = placeBelow(place, part)
  const isLast = level + 2 >= pair.to.length
  for (const [index, item] of items.entries()) {
    if (writer.isFull()) return
    const itemPath = [...listPath, index]
    if (isLast) writeItem(pair, item, itemPath, `${at}[${index}]`, writer)
    else writeList(pair, item, level + 1, itemPath, `${at}[${index}]`, writer)
  }
}

const writeItem = (pair: CompiledPair, item: Json, path: Path, place: string, writer: ListWriter): void => {
  const from = pair.from?.at(-1) ?? []
  const value = readPath(item, from) ?? null
  if (value !== null) writer.one(pair, item, value, [...path, ...(pair.to.at(-1) ?? [])], placeBelow(place, from))
}

/**
 * Lays the fields of an object that a change reaches into over those that it has, once: providers replace such an object as
 * a whole. The object with all fields, and lists, are not completed.
 */
const keepBeside = (
  overlay: Overlay,
  fieldsAt: Path,
  path: Path,
  before: JsonObject | undefined,
  based: Set<string>
): void => {
  if (before === undefined) return
  const isBelow = fieldsAt.every((segment, index) => String(segment) === String(path[index]))
  const unit = path.slice(0, isBelow ? fieldsAt.length + 1 : 1)
  const key = JSON.stringify(unit)
  if (unit.length >= path.length || based.has(key)) return
  based.add(key)
  const found = readPath(before, unit)
  if (isObject(found)) overlay.set(unit, found)
}
