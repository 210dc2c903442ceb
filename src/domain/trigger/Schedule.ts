/**
 * The ticks of schedules: the next one after a time, and what cannot fire. Local times are computed as if in UTC and then
 * placed in the zone: one that the zone skips fires once, at the next minute that exists; one that it repeats fires once,
 * at its first occurrence, except for a cron expression of every hour, which fires at both. Pure. Contract: trigger record
 * and states.
 */
import { Cron } from "croner"
import { DateTime, Duration, Option } from "effect"
import { memoize } from "../RecentMap.js"
import { type Mistakes, mistakeAt } from "../expression/Checks.js"
import { scheduleLimits } from "../Limits.js"
import type { ScheduleInput, ScheduleSettings } from "./Trigger.js"

/** What determines the ticks of a schedule. */
export type Ticks = Pick<ScheduleSettings, "mode" | "cron" | "every" | "timezone" | "startsAt" | "anchorAt">

/** The first tick later than `after`; both Unix milliseconds. `null`: there is none. */
export const nextAfter = (ticks: Ticks, after: number): number | null => {
  const zone = zoneOf(ticks.timezone)
  if (zone === undefined) return null
  if (ticks.mode === "cron") {
    const begin = ticks.startsAt === null ? after : Math.max(after, Date.parse(ticks.startsAt) - 1)
    return nextCron(ticks.cron ?? "", zone, begin)
  }
  const every = ticks.every ?? { n: 1, unit: "minutes" as const }
  const start = { at: Date.parse(ticks.startsAt ?? ticks.anchorAt), first: ticks.startsAt === null ? 1 : 0 }
  return ticks.mode === "interval" ? nextInterval(every, start, after) : nextCalendar(every, start, zone, after)
}

/** The mistakes in the settings of a schedule, with their paths. `now`: Unix milliseconds. */
export const scheduleMistakes = (input: ScheduleInput, now: number, path = "schedule"): Mistakes => {
  const zone = input.timezone === undefined ? undefined : zoneOf(input.timezone)
  return [
    ...(input.timezone === undefined || zone !== undefined
      ? []
      : mistakeAt(`${path}.timezone`, "INVALID_VALUE", "must be the name of a time zone, such as Europe/Berlin")),
    ...(input.mode === "cron" ? cronMistakes(input, now, path) : everyMistakes(input, path))
  ]
}

// --- Cron ---

/** Five fields of numbers, names, lists, ranges and steps; croner also reads other forms. */
const cronForm = /^[\d*/,A-Za-z-]+(?: +[\d*/,A-Za-z-]+){4}$/
const cronNames = /\b(?:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC|SUN|MON|TUE|WED|THU|FRI|SAT)\b/gi

const parseCron = (text: string): Cron | string => {
  const pattern = text.trim().replaceAll(/\s+/g, " ")
  if (!cronForm.test(pattern))
    return "must have five fields: minute, hour, day of month, month, day of week; each of numbers, names, *, lists, ranges and steps"
  if (/[A-Za-z]/.test(pattern.replaceAll(cronNames, "")))
    return "may contain the names of months and weekdays only; L, W and # are not supported"
  try {
    return new Cron(pattern, { mode: "5-part", timezone: "UTC", paused: true })
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^CronPattern: /, "") : "is not a cron expression"
  }
}

const cachedCron = memoize(parseCron, 5_000)

/** The most local times before one that is later: the minutes of the longest repetition or gap, a day. */
const maxRepeatedMinutes = 1_441

/** The hour field of an expression that names no hour: it goes on through the repeated hour. */
const everyHour = /^\s*\S+\s+\*(?:\/0*1)?\s/

const nextCron = (text: string, zone: DateTime.TimeZone.Named, after: number): number | null => {
  const cron = cachedCron(text)
  if (typeof cron === "string") return null
  const first = nextFirst(cron, zone, after)
  const second = everyHour.test(text) ? nextRepeated(cron, zone, after) : null
  return first === null || second === null ? (first ?? second) : Math.min(first, second)
}

/** The next tick later than `after` at the first occurrence of its local time. */
const nextFirst = (cron: Cron, zone: DateTime.TimeZone.Named, after: number): number | null => {
  let wall: Date | null = new Date(wallTime(zone, after))
  for (let i = 0; i < maxRepeatedMinutes; i++) {
    wall = cron.nextRun(wall)
    if (wall === null) return null
    const at = instantOf(zone, wall.getTime())
    if (at > after) return at
  }
  return null
}

/**
 * The next tick later than `after` at the second occurrence of a local time, if the zone repeats some around `after`. Of a
 * repetition that begins later, the next tick is a first occurrence.
 */
const nextRepeated = (cron: Cron, zone: DateTime.TimeZone.Named, after: number): number | null => {
  const repeated = repetitionAt(zone, after)
  if (repeated === undefined) return null
  const { begin, end, offset } = repeated
  const wall = cron.nextRun(new Date(Math.max(after, begin - 1) + offset))
  return wall !== null && wall.getTime() - offset < end ? wall.getTime() - offset : null
}

const cronMistakes = ({ cron: text, timezone, startsAt, every }: ScheduleInput, now: number, path: string) => {
  if (text === null || text === undefined) return mistakeAt(`${path}.cron`, "REQUIRED", "is required by the mode cron")
  const cron = cachedCron(text)
  if (typeof cron === "string") return mistakeAt(`${path}.cron`, "SYNTAX_ERROR", cron)
  const zone = zoneOf(timezone ?? "UTC")
  const from = Math.max(now, startsAt === null || startsAt === undefined ? now : Date.parse(startsAt))
  const next = zone === undefined ? from : nextCron(text, zone, from)
  return [
    ...(next === null || next > from + Duration.toMillis(scheduleLimits.horizon)
      ? mistakeAt(`${path}.cron`, "NEVER_FIRES", "names a time that never comes, such as 30 February")
      : []),
    ...(every === null || every === undefined
      ? []
      : mistakeAt(`${path}.every`, "NOT_ALLOWED", "must be absent in the mode cron"))
  ]
}

// --- Intervals and calendar ---

type Every = NonNullable<ScheduleSettings["every"]>
/** `first`: the index of the first tick, counted from `at`. */
interface Start {
  readonly at: number
  readonly first: number
}

const minute = 60_000
const day = 86_400_000
const unitMillis = { minutes: minute, hours: 3_600_000, days: day, weeks: 7 * day } as const

const nextInterval = ({ n, unit }: Every, { at, first }: Start, after: number): number | null => {
  if (unit === "months") return null
  const period = n * unitMillis[unit]
  return at + Math.max(first, Math.floor((after - at) / period) + 1) * period
}

const nextCalendar = ({ n, unit }: Every, { at, first }: Start, zone: DateTime.TimeZone.Named, after: number) => {
  const base = Math.floor(wallTime(zone, at) / minute) * minute
  const wallOf = (k: number) => (unit === "months" ? addMonths(base, k * n) : base + k * n * calendarMillis(unit))
  const length = unit === "months" ? 31 * day * n : n * calendarMillis(unit)
  // Two periods early, since months and days of the zone have different lengths.
  let k = Math.max(first, Math.floor((after - at) / length) - 2)
  for (;;) {
    const found = instantOf(zone, wallOf(k))
    if (found > after) return found
    k++
  }
}

const calendarMillis = (unit: Every["unit"]) => (unit === "weeks" ? 7 * day : day)

/** A day that the month lacks becomes the month's last day. */
const addMonths = (base: number, months: number): number => {
  const from = new Date(base)
  const month = from.getUTCMonth() + months
  const lastDay = new Date(Date.UTC(from.getUTCFullYear(), month + 1, 0)).getUTCDate()
  return Date.UTC(from.getUTCFullYear(), month, Math.min(from.getUTCDate(), lastDay)) + (base % day)
}

const unitsOf = {
  interval: ["minutes", "hours", "days", "weeks"],
  daily: ["days"],
  weekly: ["weeks"],
  monthly: ["months"]
} as const

const everyMistakes = ({ mode, every, cron }: ScheduleInput, path: string): Mistakes => {
  const units: ReadonlyArray<string> = mode === "cron" ? [] : unitsOf[mode]
  const unit = every?.unit
  return [
    ...(mode === "interval" && (every === null || every === undefined)
      ? mistakeAt(`${path}.every`, "REQUIRED", "is required by the mode interval")
      : []),
    ...(unit === undefined || units.includes(unit)
      ? []
      : mistakeAt(`${path}.every.unit`, "INVALID_VALUE", `must be ${units.join(", ")} in the mode ${mode}`)),
    ...(cron === null || cron === undefined
      ? []
      : mistakeAt(`${path}.cron`, "NOT_ALLOWED", "must be absent except in the mode cron"))
  ]
}

// --- Zones ---

const zoneOf = (name: string): DateTime.TimeZone.Named | undefined =>
  /^[A-Za-z]/.test(name) ? Option.getOrUndefined(DateTime.zoneMakeNamed(name)) : undefined

/** Zones change their offsets at whole quarters of an hour. */
const quarter = 15 * minute

const cachedOffset = memoize((key) => {
  const [name = "", at = ""] = key.split("|")
  const zone = zoneOf(name)
  return zone === undefined
    ? 0
    : DateTime.zonedOffset(DateTime.unsafeMakeZoned(Number(at) * quarter, { timeZone: zone }))
})

const offsetAt = (zone: DateTime.TimeZone.Named, at: number): number =>
  zone.id === "UTC" ? 0 : cachedOffset(`${zone.id}|${Math.floor(at / quarter)}`)

/** The local time at an instant, as if it were in UTC. */
const wallTime = (zone: DateTime.TimeZone.Named, at: number): number => at + offsetAt(zone, at)

/** Instants at which local times occur for the second time, with the offset they then have; all milliseconds. */
interface Repetition {
  readonly begin: number
  readonly end: number
  readonly offset: number
}

/** The repetition of local times that begins within a day of `at`, if there is one. */
const repetitionAt = (zone: DateTime.TimeZone.Named, at: number): Repetition | undefined => {
  const [before, offset] = [offsetAt(zone, at - day), offsetAt(zone, at + day)]
  if (before <= offset) return undefined
  let [earlier, begin] = [Math.floor((at - day) / minute) * minute, Math.ceil((at + day) / minute) * minute]
  while (begin - earlier > minute) {
    const middle = earlier + Math.floor((begin - earlier) / (2 * minute)) * minute
    if (offsetAt(zone, middle) === offset) begin = middle
    else earlier = middle
  }
  return { begin, end: begin + before - offset, offset }
}

/** The first instant of a local time; of one that the zone skips, the first minute after the gap. */
const instantOf = (zone: DateTime.TimeZone.Named, wall: number): number => {
  const before = wall - offsetAt(zone, wall - day)
  const after = wall - offsetAt(zone, wall + day)
  const [early, late] = before < after ? [before, after] : [after, before]
  if (wallTime(zone, early) === wall) return early
  if (wallTime(zone, late) === wall) return late
  let [skipped, valid] = [early, late]
  while (valid - skipped > minute) {
    const middle = skipped + Math.floor((valid - skipped) / (2 * minute)) * minute
    if (wallTime(zone, middle) >= wall) valid = middle
    else skipped = middle
  }
  return valid
}
