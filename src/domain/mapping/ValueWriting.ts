/** Writes one common value as the provider's: what a pair of a map for writing says, step by step. */
import { isList } from "../expression/List.js"
import { isObject, type Json, type JsonObject } from "../Json.js"
import { enumKey } from "../model/Coercion.js"
import { localeForm } from "../model/Numbers.js"
import { writeTime } from "../model/Times.js"
import type { CompiledPair } from "./CompiledPair.js"
import { addDecimals, decimalOf, decimalText, roundDecimal } from "./Decimal.js"
import { decimalsOf, type MinorUnits } from "./MinorUnits.js"
import { applyToValue, joinSources } from "./TransformEvaluation.js"
import type { OnStep } from "./ValueReading.js"

/** A provider's value, or why there is none. */
export type WrittenValue =
  | { readonly value: Json | undefined }
  | { readonly mistake: string; readonly code: "INVALID_VALUE" | "UNMAPPED_ENUM" | "REQUIRED" }

/** The provider's value of a common one. `source`: the record or the list's item, of which transforms read paths. */
export const writeMappedValue = (
  pair: CompiledPair,
  source: Json,
  given: Json,
  minorUnits: MinorUnits | undefined,
  currencyOf: () => Json | undefined,
  onStep?: OnStep
): WrittenValue => {
  let value = given
  const scope: JsonObject = isObject(source) ? source : {}
  for (const step of pair.steps) {
    const changed = step.fn === "CONCAT" ? { value: joinSources(step, scope) } : applyToValue(value, step, scope)
    if ("mistake" in changed) return { mistake: changed.mistake, code: "INVALID_VALUE" }
    value = changed.value
    onStep?.(step.fn, value)
  }
  const [step, written] = inProvidersForm(pair, value, minorUnits, currencyOf)
  if (onStep !== undefined && step !== undefined && "value" in written) onStep(step, written.value ?? null)
  return written
}

/** The value as the pair writes it, and the member of the pair that says how. */
const inProvidersForm = (
  pair: CompiledPair,
  value: Json,
  minorUnits: MinorUnits | undefined,
  currencyOf: () => Json | undefined
): readonly [step: string | undefined, WrittenValue] => {
  if (value === null) return ["default", { value: pair.default ?? null }]
  if (pair.words !== undefined) return wordOf(pair.words, pair.fallback, value)
  if (pair.split !== undefined && isList(value))
    return ["split", { value: value.map(String).join(joinerOf(pair.split)) }]
  if (pair.isMinorUnits) return ["minorUnits", writeMinor(value, minorUnits, currencyOf())]
  if (pair.type.kind === "dateTime" && typeof value === "string")
    return ["dateFormat", { value: writeTime(value, pair.dateFormat) }]
  if (pair.locale !== undefined && (pair.type.kind === "money" || pair.type.kind === "number"))
    return ["locale", { value: String(value).replace(".", localeForm(pair.locale).decimal) }]
  return [undefined, { value }]
}

const wordOf = (
  words: NonNullable<CompiledPair["words"]>,
  fallback: Json | undefined,
  value: Json
): readonly [step: string, WrittenValue] => {
  const found = typeof value === "object" ? undefined : words.get(enumKey(String(value)))
  if (found !== undefined) return ["enum", { value: found }]
  return fallback === undefined
    ? ["enum", { mistake: `cannot be written: the map has ${[...words.keys()].join(", ")}`, code: "UNMAPPED_ENUM" }]
    : ["fallback", { value: fallback }]
}

/** A comma is followed by a space, as people and providers write lists. */
const joinerOf = (separator: string): string => (separator === "," ? ", " : separator)

const writeMinor = (value: Json, minorUnits: MinorUnits | undefined, currency: Json | undefined): WrittenValue => {
  const decimal = typeof value === "string" || typeof value === "number" ? decimalOf(value) : undefined
  if (decimal === undefined || minorUnits === undefined) return { mistake: "is no amount", code: "INVALID_VALUE" }
  if (typeof currency !== "string") return { mistake: "needs the record's currency", code: "REQUIRED" }
  const places = decimalsOf(minorUnits.decimals, currency)
  const minor = roundDecimal(decimal, places)
  if (addDecimals(decimal, { digits: -minor.digits, scale: places }).digits !== 0n)
    return { mistake: `has more than the ${places} decimals of ${currency}`, code: "INVALID_VALUE" }
  return { value: Number(decimalText({ digits: minor.digits, scale: 0 })) }
}
