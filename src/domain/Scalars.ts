/** Scalars that every request shares, within the bounds of what can be stored and computed with. */
import { Schema } from "effect"

const largestInt4 = 2_147_483_647

/** The counter of a record or a version. */
export const Counter = Schema.Int.pipe(
  Schema.between(0, largestInt4, { message: () => `must be a whole number from 0 to ${largestInt4}` })
)

export const isCounter = Schema.is(Counter)

/** Times that Postgres and RFC 3339 both have. */
const earliest = Date.parse("0001-01-01T00:00:00.000Z")
const latest = Date.parse("9999-12-31T23:59:59.999Z")

/** Unix milliseconds of a time from the year 1 to the year 9999; `undefined` of anything else. */
export const timeWithin = (text: string): number | undefined => {
  const at = Date.parse(text)
  return at >= earliest && at <= latest ? at : undefined
}

/** A bound in time, as a query parameter; nothing where it is empty. */
export const TimeBound = Schema.String.pipe(
  Schema.filter((text) => text === "" || timeWithin(text) !== undefined, {
    message: () => "is not a time of the form 2026-11-21T07:10:41Z, from the year 1 to the year 9999"
  })
).annotations({ description: "RFC 3339" })
