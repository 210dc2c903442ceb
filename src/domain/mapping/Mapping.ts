/** The schema of a mapping. `MappingEvaluation.ts` evaluates it, `MappingChecks.ts` finds its mistakes. */
import { Schema } from "effect"
import { Json } from "../Json.js"
import { Transform } from "./Transform.js"

/** A value by its path, with transforms from left to right, and what stands in for null. */
export const MappedValue = Schema.Struct({
  from: Schema.String.annotations({ description: "A path, such as steps.order.output.total, or {{path ?? path}}." }),
  transforms: Schema.optionalWith(Schema.Array(Transform), { exact: true }).annotations({
    description: "UPPER, LOWER, TRIM, ROUND, MULTIPLY, ADD, CONCAT, COALESCE; applied from left to right."
  }),
  default: Schema.optionalWith(Json, { exact: true }).annotations({
    description: "The value instead of null. Every string in it is a template."
  })
}).annotations({ identifier: "MappedValue" })

/** Values by the paths of their targets. */
export const Mapping = Schema.Record({
  key: Schema.String.annotations({ description: "The path of the target, such as customer.emails[0]." }),
  value: Schema.Union(MappedValue, Json).annotations({
    description: "A value with from, or any other value, in which every string is a template."
  })
}).annotations({ identifier: "Mapping" })
/** A mapping that is decoded. */
export type Mapping = typeof Mapping.Type
