/**
 * Times as text. Requests, filters and definitions send RFC 3339 only, and it becomes UTC with milliseconds at once, so
 * that whatever stores or casts it later meets one form. Providers send a few more forms. JavaScript's own reading of
 * dates accepts nearly any text (`https://[::1` is a day of the year 2001), and reads none of the two. Pure.
 */
import { ParseResult, Schema } from "effect"

const dateTime = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,20}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/
const fullDate = /^(\d{4})-(\d{2})-(\d{2})$/
/** ISO 8601 as providers write it: also with a blank, without seconds, with `+0100`, or without a zone, which means UTC. */
const providerDateTime =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,20}))?)?(?: ?(?:[Zz]|UTC|GMT|([+-])(\d{2}):?(\d{2})?))?)?$/
/** The three forms of HTTP, and that of mails, as in `Sun, 06 Nov 1994 08:49:37 GMT`. */
const httpDate =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? (?:\d{1,2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}:\d{2} (?:GMT|UTC|[+-]\d{4})|[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}(?: GMT)?)$/

const minute = 60_000

/** The Unix milliseconds of the years 1 to 9999, which Postgres and RFC 3339 share. */
const [earliest, latest] = [-62_135_596_800_000, 253_402_300_799_999]

/** Whether Unix milliseconds, of a provider or a request, are a time that can be stored. */
export const isStorableTime = (at: number): boolean => at >= earliest && at <= latest

/** The start of a day in UTC; `undefined` for one that does not exist. */
const dayOf = (year: number, month: number, date: number): number | undefined => {
  const day = new Date(new Date(0).setUTCFullYear(year, month - 1, date))
  return day.getUTCMonth() === month - 1 && day.getUTCDate() === date ? day.getTime() : undefined
}

/** How far a zone is ahead of UTC. */
const offsetOf = (sign = "+", hours = "0", minutes = "0"): number | undefined =>
  Number(hours) > 23 || Number(minutes) > 59
    ? undefined
    : (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -minute : minute)

/** The Unix milliseconds of the groups of a form; `undefined` for a day, hour or offset that does not exist. */
const instantOf = ([, ...groups]: RegExpExecArray): number | undefined => {
  const numbers = groups.slice(0, 6).map((group) => Number(group ?? 0))
  const [year = 0, month = 0, date = 0, hours = 0, minutes = 0, seconds = 0] = numbers
  const [fraction = "", ...zone] = groups.slice(6)
  const [day, offset] = [dayOf(year, month, date), offsetOf(...zone)]
  if (day === undefined || offset === undefined || hours > 23 || minutes > 59) return undefined
  const start = day + (hours * 60 + minutes) * minute - offset
  // A leap second is the first one of the next minute, as in Postgres.
  if (seconds > 59 && !(seconds === 60 && new Date(start).toISOString().slice(11, 16) === "23:59")) return undefined
  const at = start + seconds * 1_000 + Number(fraction.padEnd(3, "0").slice(0, 3))
  return isStorableTime(at) ? at : undefined
}

const readAs = (form: RegExp, text: string): number | undefined => {
  const groups = form.exec(text)
  return groups === null ? undefined : instantOf(groups)
}

/** The Unix milliseconds of an RFC 3339 date-time from the year 1 to the year 9999; `undefined` for other text. */
export const parseTime = (text: string): number | undefined => readAs(dateTime, text)

/** The same, also of a date, which means its start in UTC. */
export const parseTimeOrDate = (text: string): number | undefined => parseTime(text) ?? readAs(fullDate, text)

/** The Unix milliseconds of an HTTP date; `undefined` for other text. */
export const parseHttpDate = (text: string): number | undefined => {
  if (text.length > 64 || !httpDate.test(text)) return undefined
  // The form without a zone is in UTC, which `Date.parse` does not know.
  const at = Date.parse(/ \d{2}:\d{2}:\d{2} \d{4}$/.test(text) ? `${text} GMT` : text)
  return isStorableTime(at) ? at : undefined
}

/** The Unix milliseconds of a time that a provider sends, in ISO 8601 or as an HTTP date; `undefined` for other text. */
export const parseProviderTime = (text: string): number | undefined => {
  const trimmed = text.slice(0, 80).trim()
  return parseHttpDate(trimmed) ?? readAs(providerDateTime, trimmed)
}

/** The time so many seconds after `now`, at most the latest that can be stored; both Unix milliseconds. */
export const timeAfter = (now: number, seconds: number): number => Math.min(now + seconds * 1_000, latest)

/** Text that `parse` reads; it decodes to UTC with milliseconds. */
const timeSchema = (parse: (text: string) => number | undefined, description: string, message: string) =>
  Schema.transformOrFail(
    Schema.String.annotations({ jsonSchema: { type: "string", format: "date-time", description } }),
    Schema.String,
    {
      strict: true,
      decode: (text, _, ast) => {
        const at = parse(text)
        return at === undefined
          ? ParseResult.fail(new ParseResult.Type(ast, text, message))
          : ParseResult.succeed(new Date(at).toISOString())
      },
      encode: (text) => ParseResult.succeed(text)
    }
  )

const years = "from the year 1 to the year 9999"

/** A time of a request. */
export const Rfc3339 = timeSchema(
  parseTime,
  "RFC 3339, as in 2026-11-21T07:10:41Z",
  `must be a time of the form 2026-11-21T07:10:41Z, ${years}`
)

/** A time of a request where a day is usual: also a date, which means its start in UTC. */
export const TimeOrDate = timeSchema(
  parseTimeOrDate,
  "RFC 3339; a date means its start in UTC",
  `is not a time of the form 2026-11-21T07:10:41Z, nor a date, ${years}`
)

/** A bound in time as a query parameter. Empty: no bound. */
export const TimeBound = Schema.Union(Schema.Literal(""), TimeOrDate).annotations({
  jsonSchema: { type: "string", format: "date-time" }
})

/** A time in an answer. */
export const AnsweredTime = Schema.String.annotations({
  jsonSchema: { type: "string", format: "date-time", description: "RFC 3339, UTC" }
})

/** A time in an answer, or `null`. */
export const NullableTime = Schema.NullOr(AnsweredTime)
