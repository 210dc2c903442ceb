/**
 * Traces a record through a map: each value's steps from the provider to the common record and back. A computing worker runs
 * it, since a tenant chooses map and record.
 */
import { type EntityPlan, entityPlan } from "../../connector/EntityPlan.js"
import type { EntityDefinition } from "../../connector/Entity.js"
import { isList } from "../../expression/List.js"
import { type Path, placeBelow, readPath } from "../../expression/Path.js"
import type { Detail } from "../../Failure.js"
import type { Json, JsonObject } from "../../Json.js"
import { findModel } from "../../model/Models.js"
import type { CompiledPair } from "../CompiledPair.js"
import type { EffectivePairs, OriginPair, PairOrigin } from "../EffectiveMap.js"
import { MapCost } from "../MapCost.js"
import { readRecord } from "../RecordReading.js"
import { currencyOf, isSameJson, writeNewRecord } from "../RecordWriting.js"
import { readMappedValue } from "../ValueReading.js"
import { writeMappedValue } from "../ValueWriting.js"
import { type MapTrace, maxTestedCharacters, type TracedRead, type TracedWrite } from "./MapTest.js"

/** A map, and the record to trace. */
export interface MapTraceInput {
  readonly entity: EntityDefinition
  /** The model's name. */
  readonly model: string
  readonly pairs: EffectivePairs
  readonly locale: string
  readonly record: JsonObject
}

/** A trace, or why the record is not traced. */
export type MapTraceResult =
  | { readonly ok: true; readonly value: MapTrace }
  | { readonly ok: false; readonly mistakes: ReadonlyArray<Detail> }

/** The most values that are shown of a trace, their characters, and the most items of one list. */
const maxShown = 2_000
const maxShownCharacters = 1024 * 1024
const maxItems = 20
/** Characters of one value that is shown. */
const maxCharacters = 1_000

/** Traces the record. */
export const traceMap = ({ entity, locale, model: name, pairs, record }: MapTraceInput): MapTraceResult => {
  const model = findModel(name)
  if (model === undefined) return refused("model", "UNKNOWN_NAME", "names no model")
  if (JSON.stringify(record).length > maxTestedCharacters) return tooLarge("the record that is tested")
  const plan = entityPlan(
    entity,
    model,
    { fields: pairs.fields.map(({ pair }) => pair), fieldsOut: pairs.fieldsOut.map(({ pair }) => pair) },
    locale
  )
  const cost = new MapCost()
  const read = runToEnd(readRecord(plan.reading, record, cost))
  if (cost.isExceeded || JSON.stringify(read.record).length > maxTestedCharacters) return tooLarge("the common record")
  const { mistakes, record: written } = writeNewRecord(plan.writing, read.record)
  if (JSON.stringify(written).length > maxTestedCharacters) return tooLarge("the record that is written")
  const room = new Room()
  const groups = new Map<string | null, { read: Array<TracedRead>; write: Array<TracedWrite> }>()
  const groupOf = (common: string | null) => {
    const found = groups.get(common) ?? { read: [], write: [] }
    groups.set(common, found)
    return found
  }
  for (const pair of plan.reading.pairs)
    groupOf(pair.toText).read.push(...tracedReads(plan, pair, originOf(pairs.fields, pair), record, room))
  for (const pair of plan.writing.pairs) {
    const origin = originOf(pairs.fieldsOut, pair)
    const group = groupOf(pair.from === undefined ? null : pair.fromText)
    group.write.push(...tracedWrites(plan, pair, origin, { common: read.record, provider: record }, room))
  }
  return {
    ok: true,
    value: {
      pairs: [...groups].map(([common, group]) => ({ common, ...group })),
      isComplete: room.isComplete,
      record: read.record,
      warnings: read.warnings,
      written,
      mistakes: mistakes.map(({ code, message, path }) => ({ path, code, message }))
    }
  }
}

const refused = (path: string, code: string, message: string): MapTraceResult => ({
  ok: false,
  mistakes: [{ path, code, message }]
})

const tooLarge = (what: string): MapTraceResult =>
  refused("sample", "OUT_OF_RANGE", `is too large to test: ${what} has more than ${maxTestedCharacters} characters`)

const runToEnd = <A>(work: Generator<void, A, void>): A => {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

/** Who wrote a pair, by its place in the map. */
const originOf = (fields: ReadonlyArray<OriginPair>, { at }: CompiledPair): PairOrigin =>
  fields[Number(/^fields\[(\d+)\]/.exec(at)?.[1] ?? "0")]?.origin ?? {
    level: "connector",
    fieldMapId: null,
    version: null
  }

// --- One pair ---

/** A value of a pair: what it is read from, and its places. */
interface Occurrence {
  readonly source: Json
  readonly value: Json
  readonly from: string | null
  readonly to: string
  readonly target: Path
}

/** The values that a pair moves: one, or one for each item of its lists. */
function* occurrences(
  pair: CompiledPair,
  source: Json,
  room: Room,
  level = 0,
  from = "",
  target: Path = []
): Generator<Occurrence> {
  const part = pair.from?.[level] ?? []
  const path = [...target, ...(pair.to[level] ?? [])]
  const isLast = level + 1 >= pair.to.length
  if (isLast || pair.from === undefined) {
    const value = pair.from === undefined ? null : (readPath(source, part) ?? null)
    const place = pair.from === undefined ? null : placeBelow(from, part)
    yield { source, value, from: place, to: placeBelow("", path), target: path }
    return
  }
  const items = readPath(source, part)
  if (!isList(items)) return
  if (items.length > maxItems) room.isComplete = false
  for (const [index, item] of items.slice(0, maxItems).entries())
    yield* occurrences(pair, item, room, level + 1, `${placeBelow(from, part)}[${index}]`, [...path, index])
}

const tracedReads = (
  { reading }: EntityPlan,
  pair: CompiledPair,
  origin: PairOrigin,
  record: JsonObject,
  room: Room
): ReadonlyArray<TracedRead> => {
  const traced: Array<TracedRead> = []
  for (const { from, source, to, value } of occurrences(pair, record, room)) {
    if (room.isFull) break
    const steps: Array<TracedRead["steps"][number]> = []
    const onStep = (step: string, given: Json) => steps.push(room.show(step, given))
    let problem: TracedRead["problem"] = null
    if (from === null) onStep("default", pair.default ?? null)
    else {
      onStep("provider", value)
      const read = readMappedValue(pair, value, source, { map: reading, record }, onStep)
      if ("mistake" in read) problem = { code: read.code, message: `${pair.fromText} ${read.mistake}` }
    }
    traced.push({ origin, from, to, steps, problem })
  }
  return traced
}

const tracedWrites = (
  { writing }: EntityPlan,
  pair: CompiledPair,
  origin: PairOrigin,
  { common, provider }: { readonly common: JsonObject; readonly provider: JsonObject },
  room: Room
): ReadonlyArray<TracedWrite> => {
  const traced: Array<TracedWrite> = []
  const currency = () => currencyOf(writing, common, undefined)
  for (const { from, source, target, to, value } of occurrences(pair, common, room)) {
    if (room.isFull) break
    // What is null is not written, unless the pair has a value of its own.
    if (value === null && pair.steps.length === 0 && from !== null) continue
    const steps: Array<TracedWrite["steps"][number]> = []
    const onStep = (step: string, given: Json) => steps.push(room.show(step, given))
    if (from !== null) onStep("common", value)
    const written = writeMappedValue(pair, source, value, writing.minorUnits, currency, onStep)
    const problem = "mistake" in written ? { code: written.code, message: written.mistake } : null
    const isSame = "value" in written && isAlike(written.value ?? null, readPath(provider, target) ?? null)
    traced.push({ origin, from, to, steps, problem, isSame })
  }
  return traced
}

/** Whether two values are the same to a provider: arguments take the type of the action's schema. */
const isAlike = (one: Json, other: Json): boolean =>
  isSameJson(one, other) || (typeof one !== "object" && typeof other !== "object" && String(one) === String(other))

// --- What is shown ---

/** Shows values as long as there is room. */
class Room {
  isComplete = true
  private shown = 0
  private characters = 0

  get isFull(): boolean {
    const isFull = this.shown >= maxShown || this.characters >= maxShownCharacters
    if (isFull) this.isComplete = false
    return isFull
  }

  show(step: string, value: Json): TracedRead["steps"][number] {
    this.shown += 1
    const length = lengthOf(value)
    const isCut = length > maxCharacters
    this.characters += Math.min(length, maxCharacters)
    if (!isCut) return { step, value, isCut }
    return { step, value: typeof value === "string" ? value.slice(0, maxCharacters) : null, isCut }
  }
}

/** About the characters of a value; those of an object are counted until it is too long to be shown. */
const lengthOf = (value: Json, limit = maxCharacters): number => {
  if (typeof value === "string") return value.length
  if (typeof value !== "object" || value === null) return 8
  let length = 2
  for (const [name, member] of Object.entries<Json>(value)) {
    length += name.length + 4 + lengthOf(member, limit - length)
    if (length > limit) break
  }
  return length
}
