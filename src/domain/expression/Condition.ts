/** Conditions over JSON values, written as data. Contract: condition AST. `ConditionEvaluation.ts` evaluates them. */
import { Schema } from "effect"
import { Json } from "../Json.js"

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

/** The patterns of a condition, as they are written. */
export const patternsOf = (condition: Condition, found: Set<string> = new Set()): Set<string> => {
  if ("all" in condition) for (const one of condition.all) patternsOf(one, found)
  else if ("any" in condition) for (const one of condition.any) patternsOf(one, found)
  else if ("not" in condition) patternsOf(condition.not, found)
  else if (condition.op === "matches" && typeof condition.value === "string") found.add(condition.value)
  return found
}
