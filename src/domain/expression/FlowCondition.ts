/**
 * Conditions of flows, whose `value` may be one reference, so that two fields compare. Patterns stay as they are written, and so
 * do values in the filters of triggers. Guests run this module, so that it imports no library. Contract: amendments, C9.
 */
import type { Json, JsonObject } from "../Json.js"
import type { Condition } from "./Condition.js"
import { cachedTemplate, render } from "./Template.js"

/** Whether the value of a comparison is one reference, such as `{{input.b}}`. */
export const isReference = (op: string, value: Json | undefined): value is string => {
  if (op === "matches" || typeof value !== "string" || !value.startsWith("{{")) return false
  const [only, ...others] = cachedTemplate(value)
  return only?._tag === "Expression" && others.length === 0
}

/** The condition with the values of its references. */
export const withValues = (condition: Condition, scope: JsonObject): Condition => {
  const each = (all: ReadonlyArray<Condition>) => all.map((one) => withValues(one, scope))
  if ("all" in condition) return { all: each(condition.all) }
  if ("any" in condition) return { any: each(condition.any) }
  if ("not" in condition) return { not: withValues(condition.not, scope) }
  const { op, path, value } = condition
  return isReference(op, value) ? { path, op, value: render(value, scope) } : condition
}

/** The comparisons whose value has braces and is no reference, with their places: they compare with the text as it is written. */
export const literalBraces = (condition: Condition, at: string): ReadonlyArray<string> => {
  const each = (name: string, all: ReadonlyArray<Condition>) =>
    all.flatMap((one, index) => literalBraces(one, `${at}.${name}[${index}]`))
  if ("all" in condition) return each("all", condition.all)
  if ("any" in condition) return each("any", condition.any)
  if ("not" in condition) return literalBraces(condition.not, `${at}.not`)
  const { op, value } = condition
  const isLiteral = op !== "matches" && JSON.stringify(value ?? null).includes("{{") && !isReference(op, value)
  return isLiteral ? [`${at}.value`] : []
}
