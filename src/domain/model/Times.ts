/** Reads times as providers write them, and writes them as providers want them. Contract: CDM types, coercion. */
import type { DateFormat } from "../mapping/FieldMap.js"
import { localeForm } from "./Numbers.js"

const latest = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** The time of Unix milliseconds in RFC 3339; `undefined` beyond the years 0 to 9999. */
const timeText = (millis: number): string | undefined =>
  Number.isFinite(millis) && millis >= -62_167_219_200_000 && millis <= latest
    ? new Date(millis).toISOString()
    : undefined

const isoForm =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|z|[+-]\d{2}:?(?:\d{2})?)?)?$/
/** How services of .NET write a time in JSON: Unix milliseconds; the zone behind them is only where it was written. */
const dotNetForm = /^\/Date\((-?\d{1,15})(?:[+-]\d{4})?\)\/$/
const partsForm = /^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})$/

/**
 * The time that a number or text means, in RFC 3339 and UTC; `undefined` if it is none. Ten digits are Unix seconds, thirteen
 * milliseconds, unless the format says which. A time without a zone is in UTC.
 */
export const scanTime = (
  value: string | number,
  { dateFormat, locale }: { readonly dateFormat: DateFormat | undefined; readonly locale: string }
): string | undefined => {
  const text = String(value).trim()
  const usual = usualTime(text)
  if (usual !== undefined) return usual
  if (/^-?\d+(\.\d+)?$/.test(text) && text.length <= 20) return timeText(millisOf(text, dateFormat))
  const iso = isoForm.exec(text)
  if (iso !== null) return isoTime(iso)
  const dotNet = dotNetForm.exec(text)
  if (dotNet !== null) return timeText(Number(dotNet[1]))
  const parts = partsForm.exec(text)
  return parts === null ? undefined : timeOfParts(parts, dateFormat, locale)
}

/** A time as most providers write it, `2026-01-31T12:00:00Z` with or without milliseconds, which V8 reads quickest. */
const usualTime = (text: string): string | undefined => {
  if (!text.endsWith("Z") || (text.length !== 20 && text.length !== 24) || text[10] !== "T") return undefined
  const read = new Date(text)
  if (Number.isNaN(read.getTime())) return undefined
  const written = read.toISOString()
  return written.startsWith(text.slice(0, -1)) ? written : undefined
}

const millisOf = (text: string, format: DateFormat | undefined): number => {
  const number = Number(text)
  if (format === "unix") return Math.round(number * 1000)
  if (format === "ms") return Math.round(number)
  const digits = text.replace("-", "").replace(/\..*$/, "").length
  return digits === 10 ? Math.round(number * 1000) : digits === 13 ? Math.round(number) : Number.NaN
}

const isoTime = ([
  ,
  year,
  month,
  day,
  hour = "00",
  minute = "00",
  second = "00",
  fraction = "",
  zone = "Z"
]: ReadonlyArray<string | undefined>): string | undefined => {
  if (!isDay(Number(year), Number(month), Number(day))) return undefined
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return undefined
  const [, sign = "+", hours = "00", minutes = "00"] = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone ?? "") ?? []
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === "-" ? -1 : 1)
  const millis = Number((fraction ?? "").slice(0, 3).padEnd(3, "0"))
  return timeText(
    utc(Number(year), Number(month), Number(day)) +
      ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000 +
      millis -
      offset
  )
}

/** `NN-NN-YYYY`: the format says which part is the day, else the locale; a first part above twelve is the day. */
const timeOfParts = (
  [, first, second, year]: ReadonlyArray<string | undefined>,
  format: DateFormat | undefined,
  locale: string
): string | undefined => {
  const isDayFirst =
    Number(first) > 12 || (format === "MM-DD-YYYY" ? false : format === "DD-MM-YYYY" || localeForm(locale).isDayFirst)
  const [day, month] = isDayFirst ? [Number(first), Number(second)] : [Number(second), Number(first)]
  return isDay(Number(year), month, day) ? timeText(utc(Number(year), month, day)) : undefined
}

const isDay = (year: number, month: number, day: number): boolean =>
  month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()

/** Midnight in UTC, also of the first hundred years. */
const utc = (year: number, month: number, day: number): number => {
  const date = new Date(Date.UTC(2000, month - 1, day))
  date.setUTCFullYear(year, month - 1, day)
  return date.getTime()
}

/** A time in RFC 3339 as the provider writes it; without a format as it is. */
export const writeTime = (time: string, format: DateFormat | undefined): string | number => {
  const millis = Date.parse(time)
  const [year = "", month = "", day = ""] = time.slice(0, 10).split("-")
  switch (format) {
    case "unix":
      return Math.floor(millis / 1000)
    case "ms":
      return millis
    case "date":
      return time.slice(0, 10)
    case "MM-DD-YYYY":
      return `${month}-${day}-${year}`
    case "DD-MM-YYYY":
      return `${day}-${month}-${year}`
    case "iso":
    case undefined:
      return time
  }
}
