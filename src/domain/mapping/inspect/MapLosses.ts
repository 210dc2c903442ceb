/**
 * Finds the members of a map that are not read again as they were written: a record that has every member is written and read
 * again, with each word of enums. A computing worker runs it, since a tenant chooses the map.
 */
import { actionsOf, type EntityDefinition } from "../../connector/Entity.js"
import { type EntityPlan, entityPlan } from "../../connector/EntityPlan.js"
import { type Path, readPath } from "../../expression/Path.js"
import { isObject, type Json, type JsonObject } from "../../Json.js"
import type { FieldType } from "../../model/FieldType.js"
import { findModel } from "../../model/Models.js"
import type { CompiledPair } from "../CompiledPair.js"
import type { FieldMap } from "../FieldMap.js"
import type { MapLoss } from "../FieldMapRecord.js"
import type { ItemPath } from "../ItemPath.js"
import { MapCost } from "../MapCost.js"
import { Overlay } from "../Overlay.js"
import { readRecord } from "../RecordReading.js"
import { isSameJson, writeNewRecord } from "../RecordWriting.js"

/** A map of an entity, with the model's name. */
export interface LossyMap {
  readonly entity: EntityDefinition
  readonly model: string
  readonly fields: ReadonlyArray<FieldMap>
  readonly fieldsOut: ReadonlyArray<FieldMap>
}

/** The losses of each map; none of those whose records cannot be written. */
export const mapLosses = (maps: ReadonlyArray<LossyMap>): ReadonlyArray<ReadonlyArray<MapLoss>> =>
  maps.map(({ entity, model: name, ...pairs }) => {
    const model = findModel(name)
    const isWritten = actionsOf(entity, "create").length > 0 || actionsOf(entity, "update").length > 0
    return model === undefined || !isWritten ? [] : lossesOf(entityPlan(entity, model, pairs, "en"))
  })

/** The most words of an enum that are tried. */
const maxRounds = 50

/** The losses of a map. */
export const lossesOf = (plan: EntityPlan): ReadonlyArray<MapLoss> => {
  const losses = new Map<string, MapLoss>()
  const written = plan.writing.pairs.filter(({ from }) => from !== undefined)
  const probes = written.map((pair) => ({ pair, values: probesOf(plan, pair) }))
  const rounds = Math.min(maxRounds, Math.max(0, ...probes.map(({ values }) => values(0).length)))
  for (let round = 0; round < rounds; round += 1) {
    const overlay = new Overlay({})
    for (const { pair, values } of probes)
      for (const { nth, path } of placesOf(pair.from ?? [])) {
        const of = values(nth)
        overlay.set(path, of[round % of.length] ?? null)
      }
    const common = isObject(overlay.value) ? overlay.value : {}
    const { mistakes, record } = writeNewRecord(plan.writing, common)
    for (const { message, path } of mistakes) {
      const pair = written.find(({ fromText }) => fromText === path || fromText === path.replace(/\[\d+\]/g, "[*]"))
      if (pair !== undefined && !losses.has(pair.fromText))
        losses.set(pair.fromText, { path: pair.fromText, code: "REFUSED", message: `can have a value that ${message}` })
    }
    const again = readAgain(plan, record)
    for (const pair of written) {
      const loss = losses.has(pair.fromText) ? undefined : lossOf(pair, common, again)
      if (loss !== undefined) losses.set(pair.fromText, loss)
    }
  }
  return [...new Set(written.map(({ fromText }) => fromText))].flatMap((path) => losses.get(path) ?? [])
}

const readAgain = ({ reading }: EntityPlan, record: JsonObject): JsonObject => {
  const work = readRecord(reading, record, new MapCost())
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value.record
  }
}

const lossOf = (pair: CompiledPair, common: JsonObject, again: JsonObject): MapLoss | undefined => {
  for (const { path } of placesOf(pair.from ?? [])) {
    const written = readPath(common, path) ?? null
    const found = readPath(again, path) ?? null
    if (isHeld(written, found)) continue
    return found === null
      ? {
          path: pair.fromText,
          code: "NOT_READ",
          message: `is written to ${pair.toText}, from where it is not read again`
        }
      : { path: pair.fromText, code: "CHANGED", message: `${shown(written)} is read again as ${shown(found)}` }
  }
  return undefined
}

/** Characters of a value in a message. */
const maxShown = 100

const shown = (value: Json): string => {
  const text = JSON.stringify(value)
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text
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

/** The places of a path, in two items of each list. */
const placesOf = (
  [first = [], ...rest]: ItemPath,
  above: Path = [],
  nth = 0
): ReadonlyArray<{ readonly path: Path; readonly nth: number }> => {
  const path = [...above, ...first]
  return rest.length === 0 ? [{ path, nth }] : [0, 1].flatMap((at) => placesOf(rest, [...path, at], at))
}

// --- Values to write ---

/** The values that are tried of a pair: the words of its member, of the pair that reads it and of its own, else one. */
const probesOf = ({ reading }: EntityPlan, pair: CompiledPair): ((nth: number) => ReadonlyArray<Json>) => {
  const name = String(pair.from?.flat().findLast((segment) => typeof segment === "string"))
  const reader = reading.pairs.find(({ toText }) => toText === pair.fromText)
  const read = [...(reader?.words?.values() ?? [])].filter((one) => one !== null)
  const words = read.length > 0 ? read : [...(pair.words?.keys() ?? [])]
  const isFree = pair.type.kind === "text" || pair.type.kind === "any"
  return isFree && words.length > 0 ? () => words : (nth) => samples(pair.type, name, nth)
}

const samples = (type: FieldType, name: string, nth: number): ReadonlyArray<Json> => {
  switch (type.kind) {
    case "enum":
      return type.values
    case "email":
      return [`${name.toLowerCase().replace(/\W/g, "")}${nth}@example.com`]
    case "phone":
      return [`+1514254601${nth}`]
    case "country":
      return ["CA"]
    case "currency":
      return ["EUR"]
    case "money":
      return ["1500.5"]
    case "integer":
      return [7]
    case "number":
      return [1.5]
    case "share":
      return [0.25]
    case "boolean":
      return [true, false]
    case "dateTime":
      return ["2026-11-05T09:30:00.000Z"]
    case "json":
      return [{ own: nth }]
    case "list":
      return samples(type.of, name, nth).map((one) => [one])
    default:
      return [`${name} ${nth}`]
  }
}
