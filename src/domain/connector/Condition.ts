/** A condition over JSON as data. Contract: condition AST. */
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
