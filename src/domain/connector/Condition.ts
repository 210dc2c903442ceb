/** Conditions over JSON values, written as data. Contract: condition AST. */
import { Schema } from "effect"
import { canonicalJson, Json, isList } from "../Json.js"
import { valueAt } from "./Path.js"
import { matchesPattern } from "./Pattern.js"

export const Comparison = Schema.Literal(
  "eq",
  "neq",
  "gt",
  "gte",
  "lt",
  "lte",
  "in",
  "nin",
  "contains",
  "startsWith",
  "endsWith",
  "matches",
  "exists"
)
export type Comparison = typeof Comparison.Type

/** A condition: a comparison, or a combination of conditions. */
export type Condition =
  | { readonly all: ReadonlyArray<Condition> }
  | { readonly any: ReadonlyArray<Condition> }
  | { readonly not: Condition }
  | { readonly path: string; readonly op: Comparison; readonly value?: Json }

export const Condition: Schema.Schema<Condition> = Schema.suspend((): Schema.Schema<Condition> =>
  Schema.Union(
    Schema.Struct({ all: Schema.Array(Condition) }),
    Schema.Struct({ any: Schema.Array(Condition) }),
    Schema.Struct({ not: Condition }),
    Schema.Struct({
      path: Schema.String,
      op: Comparison,
      value: Schema.optionalWith(Json, { exact: true })
    })
  )
).annotations({ identifier: "Condition" })

/** Whether a value meets a condition. A path without a value meets only `exists: false`, `neq` and `nin`. */
export const meetsCondition = (condition: Condition, value: Json | undefined): boolean => {
  if ("all" in condition) return condition.all.every((one) => meetsCondition(one, value))
  if ("any" in condition) return condition.any.some((one) => meetsCondition(one, value))
  if ("not" in condition) return !meetsCondition(condition.not, value)
  return compare(condition.op, valueAt(value, condition.path), condition.value)
}

const isSame = (a: Json | undefined, b: Json | undefined) =>
  a !== undefined && b !== undefined && canonicalJson(a) === canonicalJson(b)

/** Compares numbers, and strings that are numbers, as numbers; other strings by code units. `undefined`: not comparable. */
const compareValues = (a: Json | undefined, b: Json | undefined): number | undefined => {
  if ((typeof a !== "number" && typeof a !== "string") || (typeof b !== "number" && typeof b !== "string")) return
  const numbers = [a, b].map((one) => (one === "" ? Number.NaN : Number(one)))
  const [left = Number.NaN, right = Number.NaN] = numbers
  if (!Number.isNaN(left) && !Number.isNaN(right)) return left - right
  return typeof a === "string" && typeof b === "string" ? (a < b ? -1 : a > b ? 1 : 0) : undefined
}

const compare = (op: Comparison, found: Json | undefined, value: Json | undefined): boolean => {
  const text = typeof found === "string" ? found : undefined
  const expected = typeof value === "string" ? value : undefined
  const texts = (test: (a: string, b: string) => boolean) =>
    text !== undefined && expected !== undefined && test(text, expected)
  const ordered = (test: (difference: number) => boolean) => {
    const difference = compareValues(found, value)
    return difference !== undefined && test(difference)
  }
  switch (op) {
    case "exists":
      return (found !== undefined) === (value !== false)
    case "eq":
      return isSame(found, value)
    case "neq":
      return !isSame(found, value)
    case "gt":
      return ordered((difference) => difference > 0)
    case "gte":
      return ordered((difference) => difference >= 0)
    case "lt":
      return ordered((difference) => difference < 0)
    case "lte":
      return ordered((difference) => difference <= 0)
    case "in":
      return isList(value) && value.some((one) => isSame(found, one))
    case "nin":
      return !isList(value) || !value.some((one) => isSame(found, one))
    case "contains":
      return isList(found) ? found.some((one) => isSame(one, value)) : texts((a, b) => a.includes(b))
    case "startsWith":
      return texts((a, b) => a.startsWith(b))
    case "endsWith":
      return texts((a, b) => a.endsWith(b))
    case "matches":
      return texts((a, b) => matchesPattern(b, a))
  }
}
