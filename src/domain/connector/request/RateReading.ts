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
  const usage = readUsage(text(named?.usage))
  return {
    limit: parseCount(text(named?.limit)) ?? usage?.limit ?? null,
    remaining: parseCount(text(named?.remaining)) ?? usage?.remaining ?? null,
    resetAt: parseReset(text(named?.reset), named?.resetFormat ?? "unix", now),
    retryAfterAt: retryAfterAt(text(named?.retryAfter ?? "retry-after"), now)
  }
}

/** The header with the reset of an exhausted quota that cannot be read, or is more than a day away in every unit. */
export const ignoredReset = (
  { rateLimit }: Pick<ConnectorDefinition, "rateLimit">,
  headers: ProviderHeaders,
  { remaining, resetAt }: ProviderQuota
): string | undefined => {
  const name = rateLimit?.headers?.reset
  const isIgnored = remaining === 0 && resetAt === null && name !== undefined && headerOf(headers, name) !== undefined
  return isIgnored ? name : undefined
}

/** A quota as `used/limit`. */
export const readUsage = (
  text: string | undefined
): { readonly limit: number; readonly remaining: number } | undefined => {
  const usage = /^\s*(\d+)\s*\/\s*(\d+)/.exec(text ?? "")
  if (usage === null) return undefined
  const limit = Number(usage[2])
  return { limit, remaining: Math.max(0, limit - Number(usage[1])) }
}

/**
 * The time of a `Retry-After`: seconds, also with a fraction or unit, or an HTTP date. Some providers send a Unix time: a
 * number without unit from 10^9 on is one, in seconds, or from 10^12 on in milliseconds.
 */
export const retryAfterAt = (text: string | undefined, now: number): number | null => {
  if (text === undefined) return null
  const found = /^(\d+(?:\.\d+)?)\s*(ms|s|sec(?:ond)?s?)?$/i.exec(text.trim())
  if (found === null) return parseInstant(text, now)
  const value = Number(found[1])
  if (found[2] === undefined && value >= 1e9)
    return Math.min(Math.ceil(value >= 1e12 ? value : value * 1000), now + dayMillis)
  return now + Math.min(Math.ceil(value * (found[2]?.toLowerCase() === "ms" ? 1 : 1000)), dayMillis)
}

/** The longest wait; a number that is further away than this has another unit. */
const dayMillis = 86_400_000

/** Parses a number that may be followed by a policy: `100, 100;w=60`. */
const parseCount = (text: string | undefined): number | null => {
  const found = /^\s*(\d{1,15})(?:\.\d+)?(?![\d.])/.exec(text ?? "")
  return found === null ? null : Number(found[1])
}

type Format = "unix" | "seconds" | "ms" | "duration" | "http-date" | "iso"

const readers: { readonly [unit in "unix" | "seconds" | "ms"]: (value: number, now: number) => number } = {
  unix: (value) => value * 1000,
  seconds: (value, now) => now + value * 1000,
  ms: (value) => value
}

/** The readings of a number in each format: the documented one, then those for which it is mistaken. */
const readings = {
  unix: [readers.unix, readers.ms, readers.seconds],
  seconds: [readers.seconds, readers.unix, readers.ms],
  ms: [readers.ms, readers.unix]
} as const

/** The time of a reset; null if it cannot be read, or is a number that is more than a day ahead or ago in every unit. */
const parseReset = (text: string | undefined, format: Format, now: number): number | null => {
  if (text === undefined) return null
  const number = /^\s*(\d{1,18}(?:\.\d+)?)/.exec(text)
  if (format === "http-date" || format === "iso") return parseInstant(text, now)
  if (format === "duration") return instantAfter(text, now)
  // Some providers send a date although they document a number.
  if (number === null) return parseInstant(text, now)
  const value = Number(number[1])
  const times = readings[format].map((read) => Math.ceil(read(value, now)))
  return times.find((at) => Math.abs(at - now) <= dayMillis) ?? null
}

const units: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 }

/** The end of a duration such as `1d2h3m4.5s` or `12ms`; a number alone is seconds. */
const instantAfter = (text: string, now: number): number | null => {
  const trimmed = text.trim().slice(0, 64)
  const parts = [...trimmed.matchAll(/(\d{1,12}(?:\.\d{1,12})?)(ms|[dhms])?/gi)]
  if (parts.length === 0 || parts.map(([whole]) => whole).join("") !== trimmed) return null
  const millis = parts.reduce((sum, [, value, unit = "s"]) => sum + Number(value) * (units[unit.toLowerCase()] ?? 1), 0)
  return now + Math.min(Math.ceil(millis), dayMillis)
}

const parseInstant = (text: string, now: number): number | null => {
  const at = parseProviderTime(text)
  return at === undefined ? null : Math.min(at, now + dayMillis)
}
