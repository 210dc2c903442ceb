/** Scalars of requests, bounded to what Postgres can store. */
import { Schema } from "effect"

const largestInt4 = 2_147_483_647

/** The version of a record, or another counter that fits an int4. */
export const Counter = Schema.Int.pipe(
  Schema.between(0, largestInt4, { message: () => `must be a whole number from 0 to ${largestInt4}` })
)

/** Whether a value is a counter. */
export const isCounter = Schema.is(Counter)

/** The range of times that Postgres and RFC 3339 share. */
const earliest = Date.parse("0001-01-01T00:00:00.000Z")
const latest = Date.parse("9999-12-31T23:59:59.999Z")

/** The Unix milliseconds of a time from the year 1 to the year 9999; `undefined` for other text. */
export const timeWithin = (text: string): number | undefined => {
  const at = Date.parse(text)
  return at >= earliest && at <= latest ? at : undefined
}

/** A bound in time as a query parameter; empty: no bound. */
export const TimeBound = Schema.String.pipe(
  Schema.filter((text) => text === "" || timeWithin(text) !== undefined, {
    message: () => "is not a time of the form 2026-11-21T07:10:41Z, from the year 1 to the year 9999"
  })
).annotations({ description: "RFC 3339" })
