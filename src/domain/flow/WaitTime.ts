/**
 * Points in time as a wait's `until` reads them: RFC 3339, a date (its beginning in UTC), Unix seconds or milliseconds. Guests run
 * this module, so that it imports no library. Contract: amendments, C9.
 */
import type { Json } from "../Json.js"

const form =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?)([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/
const number = /^\d{1,16}$/

/** Less are seconds. */
const leastMillis = 100_000_000_000

/** Milliseconds since 1970; `NaN`: the value is no time. */
export const timeOf = (value: Json): number => {
  if (typeof value === "string") return number.test(value) ? timeOf(Number(value)) : timeOfText(value)
  if (typeof value !== "number") return Number.NaN
  // Beyond the times that exist it is none.
  return new Date(value < leastMillis ? value * 1000 : value).getTime()
}

const timeOfText = (text: string): number => {
  const [, date = "", clock, zone = ""] = form.exec(text) ?? []
  const midnight = Date.parse(`${date}T00:00:00Z`)
  // A day that its month does not have is the next month's, or none.
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== date) return Number.NaN
  return clock === undefined ? midnight : Date.parse(`${date}T${clock}${zone.toUpperCase()}`)
}
