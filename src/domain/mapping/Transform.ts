/** The schema of a transform of a mapped value. `TransformEvaluation.ts` applies it. Contract: CDM types, transforms. */
import { Schema } from "effect"
import { Json } from "../Json.js"

/** A transform: `{fn, args}`, or the short form, such as `TRIM` or `ROUND(2)`. */
export const Transform = Schema.Union(
  Schema.String,
  Schema.Struct({
    fn: Schema.String,
    args: Schema.optionalWith(Schema.Array(Json), { default: () => [] }).annotations({ default: [] })
  }).annotations({ identifier: "TransformCall" })
)
/** A transform that is decoded. */
export type Transform = typeof Transform.Type
