/** Reads a provider's quota from its headers, in all forms in use. Pure. */
import { parseProviderTime } from "../../Time.js"
import type { ConnectorDefinition } from "../Definition.js"
import { headerOf, type ProviderHeaders } from "./ProviderAnswer.js"
import type { ProviderQuota } from "../../connection/CallLimits.js"

/** The quota in the headers of an answer. `now`: Unix milliseconds. */
export const readRateHeaders = (
  definition: Pick<ConnectorDefinition, "rateLimit">,
  headers: ProviderHeaders,
  now: number
): ProviderQuota => {
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

/** The time of a `Retry-After`: seconds, also with a fraction or unit, or an HTTP date. */
export const retryAfterAt = (text: string | undefined, now: number): number | null => {
  if (text === undefined) return null
  const seconds = /^(\d+(?:\.\d+)?)\s*(ms|s|sec(?:ond)?s?)?$/i.exec(text.trim())
  if (seconds !== null) {
    return (
      now + Math.min(Math.ceil(Number(seconds[1]) * (seconds[2]?.toLowerCase() === "ms" ? 1 : 1000)), maxAheadMillis)
    )
  }
  return parseInstant(text, now)
}

/** Times further ahead are taken for mistakes and cut to a day. */
const maxAheadMillis = 86_400_000

/** Parses a number that may be followed by a policy: `100, 100;w=60`. */
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
  // Some providers send a date although they document a number.
  if (number === null) return parseInstant(text, now)
  const value = Number(number[1])
  const at = format === "seconds" ? now + value * 1000 : format === "ms" ? value : value * 1000
  return at - now > maxAheadMillis ? now + maxAheadMillis : Math.ceil(at)
}

const units: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 }

/** The end of a duration such as `1d2h3m4.5s` or `12ms`; a number alone is seconds. */
const instantAfter = (text: string, now: number): number | null => {
  const trimmed = text.trim().slice(0, 64)
  const parts = [...trimmed.matchAll(/(\d{1,12}(?:\.\d{1,12})?)(ms|[dhms])?/gi)]
  if (parts.length === 0 || parts.map(([whole]) => whole).join("") !== trimmed) return null
  const millis = parts.reduce((sum, [, value, unit = "s"]) => sum + Number(value) * (units[unit.toLowerCase()] ?? 1), 0)
  return now + Math.min(Math.ceil(millis), maxAheadMillis)
}

const parseInstant = (text: string, now: number): number | null => {
  const at = parseProviderTime(text)
  return at === undefined ? null : Math.min(at, now + maxAheadMillis)
}
