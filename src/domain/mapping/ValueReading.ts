/** Reads one value of a provider as the common member's: what a pair of a map says, step by step. */
import { isObject, type Json, type JsonObject } from "../Json.js"
import { asText, renderTemplate } from "../expression/Template.js"
import { enumKey, type ReadValue, readValue } from "../model/Coercion.js"
import { amountText, scanNumber } from "../model/Numbers.js"
import type { CompiledPair } from "./CompiledPair.js"
import { decimalOf, decimalText } from "./Decimal.js"
import { minorDecimals, type MinorUnits } from "./MinorUnits.js"
import { applyToValue } from "./TransformEvaluation.js"
import type { TransformStep } from "./TransformScan.js"

/** How the account writes its values. */
export interface AccountForm {
  readonly minorUnits: MinorUnits | undefined
  /** How the account writes numbers and dates, where a pair does not say. */
  readonly locale: string
}

/** The provider's record that a value is of, and how its account writes values. */
export interface ValueOrigin {
  readonly map: AccountForm
  readonly record: JsonObject
}

/** Is told each step of a value, with what it gives: the name of a transform, `enum`, `type` and the like. */
export type OnStep = (step: string, value: Json) => void

type JoinStep = Extract<TransformStep, { readonly fn: "CONCAT" }>

/**
 * The common value of a provider's. `source`: the record or the list's item, of which transforms read paths.
 */
export const readMappedValue = (
  pair: CompiledPair,
  raw: Json,
  source: Json,
  origin: ValueOrigin,
  onStep?: OnStep
): ReadValue => {
  if (isTooLong(pair, raw)) return tooLong
  const form = { locale: pair.locale ?? origin.map.locale, dateFormat: pair.dateFormat }
  const plain = plainValue(pair, raw, origin, onStep)
  const changed = "mistake" in plain ? plain : transformed(pair, source, plain.value, form.locale, onStep)
  const word = "mistake" in changed ? changed : wordValue(pair, changed.value, onStep)
  const read = "mistake" in word ? word : readValue(pair.type, word.value, form)
  if ("mistake" in read) return read
  if (read.value !== null) {
    onStep?.("type", read.value)
    return read
  }
  if (pair.default !== undefined) onStep?.("default", pair.default)
  return { value: pair.default ?? null }
}

/** Characters of a text that more is done with than hand it on. */
const longestText = 64 * 1024
const tooLong: ReadMistake = {
  mistake: `has more than ${longestText} characters, which only a plain text may have`,
  code: "INVALID_VALUE"
}

const isTooLong = ({ split, steps, type, words }: CompiledPair, raw: Json): boolean =>
  typeof raw === "string" &&
  raw.length > longestText &&
  (steps.length > 0 || words !== undefined || split !== undefined || (type.kind !== "text" && type.kind !== "any"))

type ReadMistake = Extract<ReadValue, { readonly mistake: string }>

/** The provider's value as an amount or a list, where the pair says so. */
const plainValue = (
  { isMinorUnits, split }: CompiledPair,
  raw: Json,
  origin: ValueOrigin,
  onStep: OnStep | undefined
): ReadValue => {
  if (isMinorUnits && raw !== null) {
    const value = amountOfMinor(origin, raw)
    if (value === undefined) return { mistake: "is no amount in the smallest unit", code: "INVALID_VALUE" }
    onStep?.("minorUnits", value)
    return { value }
  }
  if (split === undefined || typeof raw !== "string") return { value: raw }
  const value = splitText(raw, split)
  onStep?.("split", value)
  return { value }
}

const transformed = (
  { steps }: CompiledPair,
  source: Json,
  given: Json,
  locale: string,
  onStep: OnStep | undefined
): ReadValue => {
  let value = given
  const scope: JsonObject = isObject(source) ? source : {}
  for (const step of steps) {
    if (step.fn === "CONCAT") {
      const joined = joinedText(step, scope)
      if ("mistake" in joined) return joined
      value = joined.value
      onStep?.(step.fn, value)
      continue
    }
    const isNumeric = step.fn === "ROUND" || step.fn === "MULTIPLY" || step.fn === "ADD"
    const changed = applyToValue(isNumeric ? plainNumber(value, locale) : value, step, scope)
    if ("mistake" in changed) return { mistake: `cannot be read: ${changed.mistake}`, code: "INVALID_VALUE" }
    value = changed.value
    if (typeof value === "string" && value.length > longestText) return tooLong
    onStep?.(step.fn, value)
  }
  return { value }
}

/** The values of a transform's paths in one text, if that is not too long; null without any. */
const joinedText = ({ separator, sources }: JoinStep, scope: JsonObject): ReadValue => {
  const values = sources.map((source) => renderTemplate(source, scope)).filter((one) => one !== null)
  if (values.some((one) => typeof one === "object"))
    return { mistake: "cannot be joined: CONCAT joins single values", code: "INVALID_TYPE" }
  const texts = values.map(asText)
  if (texts.reduce((sum, text) => sum + text.length + separator.length, 0) > longestText) return tooLong
  const text = texts.join(separator)
  return { value: text === "" ? null : text }
}

const unmapped: ReadMistake = { mistake: "has a value that the enum of the map lacks", code: "UNMAPPED_ENUM" }

/** What a word of an enum stands for. */
const wordValue = ({ fallback, words }: CompiledPair, value: Json, onStep: OnStep | undefined): ReadValue => {
  if (words === undefined || value === null) return { value }
  const found = typeof value === "object" ? undefined : words.get(enumKey(String(value)))
  if (found === undefined && fallback === undefined) return unmapped
  const meant = found === undefined ? (fallback ?? null) : found
  onStep?.(found === undefined ? "fallback" : "enum", meant)
  return { value: meant }
}

/** A text with a number as plain decimal text, so that arithmetic can read it. */
const plainNumber = (value: Json, locale: string): Json => {
  if (typeof value !== "string") return value
  const decimal = scanNumber(value.trim(), locale)
  return decimal === undefined ? value : decimalText(decimal)
}

const splitText = (text: string, separator: string): ReadonlyArray<string> =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== "")

const amountOfMinor = ({ map, record }: ValueOrigin, raw: Json): string | undefined => {
  const decimal = typeof raw === "number" || typeof raw === "string" ? decimalOf(raw) : undefined
  if (decimal === undefined || map.minorUnits === undefined) return undefined
  const scale = minorDecimals(map.minorUnits, record)
  return amountText({ digits: decimal.digits, scale: decimal.scale + scale })
}
