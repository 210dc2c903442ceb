/** Scalars of requests, bounded to what Postgres can store. */
import { Schema } from "effect"

const largestInt4 = 2_147_483_647

/** The version of a record, or another counter that fits an int4. */
export const Counter = Schema.Int.pipe(
  Schema.between(0, largestInt4, { message: () => `must be a whole number from 0 to ${largestInt4}` })
)

/** Whether a value is a counter. */
export const isCounter = Schema.is(Counter)

/** A text, or `null`. */
export const NullableText = Schema.NullOr(Schema.String)
