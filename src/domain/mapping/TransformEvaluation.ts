/**
 * Applies transforms from left to right. Null stays null, but for `CONCAT`, which skips it, and `COALESCE`. Amounts that
 * are decimal strings stay decimal strings, exact to the last digit; numbers stay numbers. Guests run this module, so that
 * it imports no library.
 */
import type { Json, JsonObject } from "../Json.js"
import type { Parsed } from "../expression/Path.js"
import { asText, renderTemplate } from "../expression/Template.js"
import { addDecimals, type Decimal, decimalOf, decimalText, multiplyDecimals, roundDecimal } from "./Decimal.js"
import { scanTransform, type TransformStep } from "./TransformScan.js"

/** The value after all transforms; the mistake names the transform that cannot be applied to what it is given. */
export const applyTransforms = (value: Json, transforms: ReadonlyArray<Json>, scope: JsonObject): Parsed<Json> => {
  let current = value
  for (const transform of transforms) {
    const step = scanTransform(transform)
    if ("mistake" in step) return step
    const changed = applyStep(current, step.value, scope)
    if ("mistake" in changed) return changed
    current = changed.value
  }
  return { value: current }
}

const applyStep = (value: Json, step: TransformStep, scope: JsonObject): Parsed<Json> => {
  if (step.fn === "CONCAT") return { value: joinSources(step, scope, value) }
  return applyToValue(value, step, scope)
}

/** The texts of the piped values and of a transform's paths, without those that are null. */
export const joinSources = (
  { separator, sources }: Extract<TransformStep, { readonly fn: "CONCAT" }>,
  scope: JsonObject,
  ...piped: ReadonlyArray<Json>
): string =>
  [...piped, ...sources.map((source) => renderTemplate(source, scope))]
    .filter((one) => one !== null)
    .map(asText)
    .join(separator)

/** The value after a transform other than `CONCAT`. */
export const applyToValue = (
  value: Json,
  step: Exclude<TransformStep, { readonly fn: "CONCAT" }>,
  scope: JsonObject
): Parsed<Json> => {
  if (step.fn === "COALESCE") {
    if (value !== null) return { value }
    for (const source of step.sources) {
      const found = renderTemplate(source, scope)
      if (found !== null) return { value: found }
    }
    return { value: null }
  }
  if (value === null) return { value: null }
  switch (step.fn) {
    case "UPPER":
      return changeText(step.fn, value, (text) => text.toUpperCase())
    case "LOWER":
      return changeText(step.fn, value, (text) => text.toLowerCase())
    case "TRIM":
      return changeText(step.fn, value, (text) => text.trim())
    case "ROUND":
      return changeNumber(step.fn, value, (decimal) => roundDecimal(decimal, step.places))
    case "MULTIPLY":
      return changeNumber(step.fn, value, (decimal) => multiplyDecimals(decimal, step.operand))
    case "ADD":
      return changeNumber(step.fn, value, (decimal) => addDecimals(decimal, step.operand))
  }
}

/** Texts, and numbers and booleans as text. */
const changeText = (fn: string, value: Json, change: (text: string) => string): Parsed<Json> =>
  typeof value === "object" ? { mistake: `${fn} needs a text` } : { value: change(asText(value)) }

const changeNumber = (fn: string, value: Json, change: (decimal: Decimal) => Decimal): Parsed<Json> => {
  const decimal = typeof value === "number" || typeof value === "string" ? decimalOf(value) : undefined
  if (decimal === undefined) return { mistake: `${fn} needs a number, or an amount such as "12.50"` }
  const text = decimalText(change(decimal))
  if (typeof value === "string") return { value: text }
  const number = Number(text)
  return Number.isFinite(number) ? { value: number } : { mistake: `${fn} gives a number that is too large` }
}
