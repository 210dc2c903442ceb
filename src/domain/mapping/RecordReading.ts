/**
 * Reads a provider's record as a common one by a map. A record is never dropped: a value that cannot be read is null, and
 * named in a warning. Contract: CDM types; unified API.
 */
import type { Json, JsonObject } from "../Json.js"
import { isList } from "../expression/List.js"
import { type Path, placeBelow, readPath, setMember } from "../expression/Path.js"
import type { Model } from "../model/FieldType.js"
import { maxIndex } from "../model/ModelPath.js"
import type { CompiledPair } from "./CompiledPair.js"
import type { MapCost, Sliced } from "./MapCost.js"
import { type AccountForm, readMappedValue } from "./ValueReading.js"

/** What a map for reading needs. */
export interface ReadingMap extends AccountForm {
  readonly model: Model
  readonly pairs: ReadonlyArray<CompiledPair>
}

/** A value that could not be read. */
export interface ReadWarning {
  /** The common member, such as `lineItems[2].quantity`. */
  readonly path: string
  readonly code: "INVALID_TYPE" | "INVALID_VALUE" | "UNMAPPED_ENUM"
  readonly message: string
}

/** The most warnings of one record. */
const maxWarnings = 20

interface Reader {
  readonly map: ReadingMap
  readonly record: JsonObject
  readonly cost: MapCost
  readonly warnings: Array<ReadWarning>
}

/** Reads a record; yields where other work may go on. Stops where the cost is exceeded. */
export function* readRecord(
  map: ReadingMap,
  record: JsonObject,
  cost: MapCost
): Sliced<{ readonly record: JsonObject; readonly warnings: ReadonlyArray<ReadWarning> }> {
  const reader: Reader = { map, record, cost, warnings: [] }
  const result: { [member: string]: Json } = {}
  for (const name of Object.keys(map.model.fields)) if (name !== "raw") result[name] = null
  for (const pair of map.pairs) {
    if (pair.from === undefined) continue
    if (pair.to.length === 1) {
      if (cost.count()) yield
      setAt(result, pair.to[0] ?? [], readOne(reader, pair, record, pair.from[0] ?? [], pair.toText))
    } else {
      yield* readList(reader, pair, record, result, 0, "")
    }
    if (cost.isExceeded) break
  }
  for (const name of filledByParts(map)) result[name] = withoutEmpty(result[name] ?? null)
  for (const pair of map.pairs) if (pair.from === undefined) setConstant(result, pair)
  return { record: result, warnings: reader.warnings }
}

/** Members, by map, that pairs fill member by member or item by item. */
const cachedParts = new WeakMap<ReadingMap, ReadonlyArray<string>>()

const filledByParts = (map: ReadingMap): ReadonlyArray<string> => {
  const found =
    cachedParts.get(map) ??
    Object.entries(map.model.fields).flatMap(([name, { type }]) =>
      type.kind !== "json" &&
      map.pairs.some(({ to }) => to.length === 1 && (to[0]?.length ?? 0) > 1 && to[0]?.[0] === name)
        ? [name]
        : []
    )
  cachedParts.set(map, found)
  return found
}

/** An object without a value is null; a list ends with its last item that has one. */
const withoutEmpty = (value: Json): Json => {
  if (typeof value !== "object" || value === null) return value
  if (isList(value)) {
    let length = value.length
    while (length > 0 && isEmpty(value[length - 1] ?? null)) length -= 1
    return length === 0 ? null : value.slice(0, length)
  }
  const members = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutEmpty(member)]))
  return isEmpty(members) ? null : members
}

const isEmpty = (value: Json): boolean =>
  value === null || (typeof value === "object" && Object.values(value).every((member) => isEmpty(member)))

/** Sets the value of a pair without a source: of a member of the record, or of an object that the record has. */
const setConstant = (result: Members, { default: value = null, to }: CompiledPair): void => {
  const path = to[0] ?? []
  if (to.length > 1) return
  const container = path.length === 1 ? result : readPath(result, path.slice(0, -1))
  if (typeof container === "object" && container !== null) setAt(result, path, value)
}

/** Reads the items of the list of part `level` of a pair's paths into those of the common list. */
function* readList(
  reader: Reader,
  pair: CompiledPair,
  source: Json,
  target: { [member: string]: Json },
  level: number,
  place: string
): Sliced<void> {
  const items = readPath(source, pair.from?.[level] ?? [])
  if (items === undefined || items === null || !isList(items)) return
  const [list, listPlace] = listAt(target, pair.to[level] ?? [], place)
  if (list === undefined) return
  const from = pair.from?.[level + 1] ?? []
  const to = pair.to[level + 1] ?? []
  const isLast = level + 2 >= pair.to.length
  for (let index = 0; index < items.length && !reader.cost.isExceeded; index += 1) {
    if (reader.cost.count()) yield
    const item = items[index] ?? null
    const at = `${listPlace}[${index}]`
    if (isLast && to.length === 0) {
      list[index] = readOne(reader, pair, item, from, at)
      continue
    }
    const into = objectAt(list, index)
    if (isLast) setAt(into, to, readOne(reader, pair, item, from, placeBelow(at, to)))
    else yield* readList(reader, pair, item, into, level + 1, at)
  }
}

// --- One value ---

const readOne = (reader: Reader, pair: CompiledPair, source: Json, from: Path, place: string): Json => {
  const raw = pair.from === undefined ? null : (readPath(source, from) ?? null)
  if (raw === null && pair.steps.length === 0) return pair.default ?? null
  const read = readMappedValue(pair, raw, source, reader)
  if (!("mistake" in read)) {
    reader.cost.spend(read.value)
    return read.value
  }
  if (reader.warnings.length < maxWarnings)
    reader.warnings.push({ path: place, code: read.code, message: `${pair.fromText} ${read.mistake}` })
  return null
}

// --- The common record ---

type Members = { [member: string]: Json }

/** Sets a value in a record that is being made; objects and lists on the way are made. */
const setAt = (target: Members, path: Path, value: Json): void => {
  const last = path.length - 1
  let at: Members | Array<Json> = target
  for (let index = 0; index < last; index += 1) {
    const next = childOf(at, path[index] ?? "", typeof path[index + 1] === "number")
    if (next === undefined) return
    at = next
  }
  const segment = path[last] ?? ""
  if (Array.isArray(at)) {
    if (typeof segment !== "number" || segment > maxIndex) return
    while (at.length < segment) at.push(null)
    at[segment] = value
  } else {
    setMember(at, String(segment), value)
  }
}

const childOf = (
  container: Members | Array<Json>,
  segment: string | number,
  isListWanted: boolean
): Members | Array<Json> | undefined => {
  const isArray = Array.isArray(container)
  if (isArray && (typeof segment !== "number" || segment > maxIndex)) return undefined
  const found = isArray
    ? container[Number(segment)]
    : Object.hasOwn(container, String(segment))
      ? container[String(segment)]
      : undefined
  // Containers of a record that is being made are its own.
  if (typeof found === "object" && found !== null) return found as Members | Array<Json>
  const made: Members | Array<Json> = isListWanted ? [] : {}
  if (isArray) {
    while (container.length < Number(segment)) container.push(null)
    container[Number(segment)] = made
  } else {
    setMember(container, String(segment), made)
  }
  return made
}

/** The list at a path of a record that is being made, with its place. */
const listAt = (target: Members, path: Path, place: string): readonly [Array<Json> | undefined, string] => {
  let at: Members | Array<Json> | undefined = target
  for (let index = 0; index < path.length && at !== undefined; index += 1) {
    const isListNext = index === path.length - 1 || typeof path[index + 1] === "number"
    at = childOf(at, path[index] ?? "", isListNext)
  }
  return [Array.isArray(at) ? at : undefined, placeBelow(place, path)]
}

const objectAt = (list: Array<Json>, index: number): Members => {
  const found = list[index]
  if (typeof found === "object" && found !== null && !isList(found)) return found as Members
  const made: Members = {}
  list[index] = made
  return made
}
