/** What a provider tells of its limits in headers, in every form that is in use. Pure. */
import type { ConnectorDefinition } from "./Definition.js"
import { headerOf, type ProviderHeaders } from "./ProviderAnswer.js"

/** Null: not told. Instants in Unix milliseconds. */
export interface RateReading {
  readonly limit: number | null
  readonly remaining: number | null
  readonly resetAt: number | null
  /** Before this instant the provider wants no further request. */
  readonly retryAfterAt: number | null
}

/** What the headers of one answer tell. `now`: Unix milliseconds. */
export const readRateHeaders = (
  definition: Pick<ConnectorDefinition, "rateLimit">,
  headers: ProviderHeaders,
  now: number
): RateReading => {
  const named = definition.rateLimit?.headers
  const text = (name: string | undefined) => (name === undefined ? undefined : headerOf(headers, name))
  const usage = /^\s*(\d+)\s*\/\s*(\d+)/.exec(text(named?.usage) ?? "")
  const limit = parseCount(text(named?.limit)) ?? (usage === null ? null : Number(usage[2]))
  return {
    limit,
    remaining:
      parseCount(text(named?.remaining)) ?? (usage === null ? null : Math.max(0, Number(usage[2]) - Number(usage[1]))),
    resetAt: parseReset(text(named?.reset), named?.resetFormat ?? "unix", now),
    retryAfterAt: retryAfterAt(text(named?.retryAfter ?? "retry-after"), now)
  }
}

/** `Retry-After` as seconds, with a fraction or a unit too, or as an HTTP date. */
export const retryAfterAt = (text: string | undefined, now: number): number | null => {
  if (text === undefined) return null
  const seconds = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|sec(?:ond)?s?)?\s*$/i.exec(text)
  if (seconds !== null) {
    return (
      now + Math.min(Math.ceil(Number(seconds[1]) * (seconds[2]?.toLowerCase() === "ms" ? 1 : 1000)), maxAheadMillis)
    )
  }
  return parseInstant(text, now)
}

/** Nobody waits longer than a day for a limit; what tells more is a mistake. */
const maxAheadMillis = 86_400_000

/** Numbers may be followed by a policy: `100, 100;w=60`. */
const parseCount = (text: string | undefined): number | null => {
  const found = /^\s*(\d{1,15})(?:\.\d+)?(?![\d.])/.exec(text ?? "")
  return found === null ? null : Number(found[1])
}

type Format = "unix" | "seconds" | "ms" | "duration" | "http-date" | "iso"

const parseReset = (text: string | undefined, format: Format, now: number): number | null => {
  if (text === undefined) return null
  const number = /^\s*(\d{1,18}(?:\.\d+)?)/.exec(text)
  if (format === "http-date" || format === "iso") return parseInstant(text, now)
  if (format === "duration") return instantAfter(text, now)
  // There are providers that send a date where a number was promised.
  if (number === null) return parseInstant(text, now)
  const value = Number(number[1])
  const at = format === "seconds" ? now + value * 1000 : format === "ms" ? value : value * 1000
  return at - now > maxAheadMillis ? now + maxAheadMillis : Math.ceil(at)
}

const units: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 }

/** `1d2h3m4.5s`, `12ms`; a lone number is seconds. Read part by part: the text is the provider's. */
const instantAfter = (text: string, now: number): number | null => {
  const trimmed = text.trim().slice(0, 64)
  const parts = [...trimmed.matchAll(/(\d{1,12}(?:\.\d{1,12})?)(ms|[dhms])?/gi)]
  if (parts.length === 0 || parts.map(([whole]) => whole).join("") !== trimmed) return null
  const millis = parts.reduce((sum, [, value, unit = "s"]) => sum + Number(value) * (units[unit.toLowerCase()] ?? 1), 0)
  return now + Math.min(Math.ceil(millis), maxAheadMillis)
}

const parseInstant = (text: string, now: number): number | null => {
  // A lone number is a year to `Date.parse`.
  const at = /^\s*-?[\d.]+\s*$/.test(text) ? Number.NaN : Date.parse(text)
  return Number.isNaN(at) ? null : Math.min(at, now + maxAheadMillis)
}
