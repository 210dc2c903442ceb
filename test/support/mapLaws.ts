/**
 * The laws of an entity's maps, on random records: reading and then writing changes nothing, and writing and then reading gives
 * what was written. The provider's own part is left out, so that what only a provider computes breaks the second law.
 */
import { FastCheck } from "effect"
import type { EntityDefinition } from "../../src/domain/connector/Entity.js"
import type { EntityMap } from "../../src/domain/connector/EntityMaps.js"
import { type EntityPlan, entityPlan } from "../../src/domain/connector/EntityPlan.js"
import { readPath } from "../../src/domain/expression/Path.js"
import { isObject, type Json, type JsonObject } from "../../src/domain/Json.js"
import type { CompiledPair } from "../../src/domain/mapping/CompiledPair.js"
import type { ItemPath } from "../../src/domain/mapping/ItemPath.js"
import { MapCost } from "../../src/domain/mapping/MapCost.js"
import { runAtOnce } from "./RunAtOnce.js"
import { readRecord } from "../../src/domain/mapping/RecordReading.js"
import { isSameJson, writeChange, writeNewRecord } from "../../src/domain/mapping/RecordWriting.js"
import { Overlay } from "../../src/domain/mapping/Overlay.js"
import type { FieldType } from "../../src/domain/model/FieldType.js"

/** Records that are tried of each map: each word of an enum occurs, as good as surely. */
const records = 150

type Values = FastCheck.Arbitrary<Json>

/** Random values of a type, in the common form. Times are whole seconds, which every provider has. */
const valuesOf = (type: FieldType): Values => {
  switch (type.kind) {
    case "enum":
      return FastCheck.constantFrom(...type.values)
    case "email":
      return FastCheck.stringMatching(/^[a-z]{1,8}@[a-z]{1,8}\.com$/)
    case "phone":
      return FastCheck.stringMatching(/^\+1[2-9]\d{9}$/)
    case "country":
      return FastCheck.constantFrom("CA", "DE", "GB", "US")
    case "currency":
      return FastCheck.constantFrom("EUR", "USD")
    case "money":
      return FastCheck.tuple(FastCheck.integer({ min: 1, max: 99_999 }), FastCheck.integer({ min: 1, max: 9 })).map(
        ([whole, tenth]) => `${whole}.${tenth}`
      )
    case "integer":
      return FastCheck.integer({ min: 1, max: 1_000_000 })
    case "number":
      return FastCheck.integer({ min: 1, max: 9_999 }).map((one) => one / 4)
    case "share":
      return FastCheck.integer({ min: 1, max: 99 }).map((one) => one / 100)
    case "boolean":
      return FastCheck.boolean()
    case "dateTime":
      return FastCheck.integer({ min: 1_500_000_000, max: 1_900_000_000 }).map((unix) =>
        new Date(unix * 1000).toISOString()
      )
    case "json":
      return FastCheck.record({ own: FastCheck.nat() })
    case "list":
      return valuesOf(type.of).map((one) => [one])
    default:
      return FastCheck.stringMatching(/^[A-Z][a-z]{2,6} [A-Z][a-z]{2,6} \d{1,3}$/)
  }
}

/** The words that stand for a text, if its pairs have some. */
const wordsOf = ({ reading }: EntityPlan, pair: CompiledPair): Values => {
  const read = reading.pairs.find(({ toText }) => toText === pair.fromText)
  const words = [...(read?.words?.values() ?? pair.words?.keys() ?? [])].filter((one) => one !== null)
  const isFree = pair.type.kind === "text" || pair.type.kind === "any"
  return isFree && words.length > 0 ? FastCheck.constantFrom(...words) : valuesOf(pair.type)
}

/** The places of a path, in two items of each list. */
const placesOf = ([first = [], ...rest]: ItemPath, above: ReadonlyArray<string | number> = []) => {
  const at: ReadonlyArray<string | number> = [...above, ...first]
  return rest.length === 0
    ? [at]
    : [0, 1].flatMap((nth): Array<ReadonlyArray<string | number>> => placesOf(rest, [...at, nth]))
}

/** The pairs that break the second law, by their common path, and what breaks the first. */
export const lawsOf = (
  entity: EntityDefinition,
  map: EntityMap
): { readonly lossy: ReadonlyArray<string>; readonly changes: JsonObject } => {
  const plan = entityPlan(entity, map.model, map, "en")
  const read = (provider: JsonObject) => runAtOnce(readRecord(plan.reading, provider, new MapCost())).record
  const pairs = plan.writing.pairs.filter(({ from }) => from !== undefined)
  const places = pairs.flatMap((pair) => placesOf(pair.from ?? []).map((path) => ({ pair, path })))
  const values = FastCheck.tuple(...places.map(({ pair }) => wordsOf(plan, pair)))
  const lossy = new Set<string>()
  let changes: JsonObject = {}
  for (const drawn of FastCheck.sample(values, { numRuns: records, seed: 23 })) {
    const overlay = new Overlay({})
    for (const [index, { path }] of places.entries()) overlay.set(path, drawn[index] ?? null)
    const common = isObject(overlay.value) ? overlay.value : {}
    const { record } = writeNewRecord(plan.writing, common)
    const again = read(record)
    for (const { pair, path } of places)
      if (!isHeld(readPath(common, path) ?? null, readPath(again, path) ?? null)) lossy.add(pair.fromText)
    const change = writeChange(plan.writing, again, { provider: record, common: again })
    changes = { ...changes, ...change.record }
  }
  return { lossy: [...lossy].sort(), changes }
}

/** Whether what was written is in what is read; objects may have further members, which the map sets. */
const isHeld = (written: Json, found: Json): boolean => {
  if (Array.isArray(written))
    return (
      Array.isArray(found) && written.every((item: Json, index) => isHeld(item, (found as Array<Json>)[index] ?? null))
    )
  if (isObject(written))
    return isObject(found) && Object.entries(written).every(([name, value]) => isHeld(value, found[name] ?? null))
  return isSameJson(written, found)
}
