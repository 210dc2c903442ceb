/** Decides which of the due ticks of a schedule fire, and which are skipped. Pure. Contract: trigger record and states. */
import { Duration } from "effect"
import { scheduleLimits } from "../Limits.js"
import { nextAfter, type Ticks } from "./Schedule.js"
import type { ScheduleSettings } from "./Trigger.js"

/** Ticks in a row that do not fire. */
export interface SkippedTicks {
  /** How many; `null`: more than are counted. */
  readonly count: number | null
  /** Unix milliseconds. */
  readonly from: number
  readonly to: number
}

/** What to do with the due ticks of a schedule. Times are Unix milliseconds. */
export interface DueTicks {
  /** Older ticks, which were missed and are not caught up. */
  readonly skipped: SkippedTicks | null
  /** In their order; each fires once. */
  readonly firing: ReadonlyArray<number>
  /** The first tick that is not due yet; `null`: there is none. */
  readonly next: number | null
}

/** Missed ticks that are counted one by one. */
const maxCounted = scheduleLimits.catchUp

/** Whether a tick was missed: the service was away when it was due. */
export const isMissed = (tick: number, now: number): boolean => now - tick > Duration.toMillis(scheduleLimits.grace)

/**
 * The due ticks of a schedule. `first`: the oldest one that was not handled; `now` is at least that. The delay of the
 * schedule does not count here.
 */
export const dueTicks = (schedule: Ticks & Pick<ScheduleSettings, "catchUp">, first: number, now: number): DueTicks => {
  const next = nextAfter(schedule, now)
  const last = lastTicks(schedule, first, now, schedule.catchUp === "all" ? scheduleLimits.catchUp : 1)
  const firing = schedule.catchUp === "none" ? last.filter((tick) => !isMissed(tick, now)) : last
  return { skipped: skippedBefore(schedule, first, firing[0] ?? now + 1), firing, next }
}

/** The last ticks from `first` to `now`, at most `count`; at least one, since `first` is a tick. */
const lastTicks = (schedule: Ticks, first: number, now: number, count: number): ReadonlyArray<number> => {
  // Ticks may lie densely anywhere: the window grows until it has enough of them, and shrinks if it has too many.
  const whole = now - first
  let [few, many, span] = [0, Number.POSITIVE_INFINITY, Math.min(whole, minimumSpan)]
  for (;;) {
    const found = ticksIn(schedule, first, now - span, now, count + slack)
    if (found === "too many") many = span
    else if (found.length >= count || span >= whole) return found.slice(-count)
    else few = span
    span = many === Number.POSITIVE_INFINITY ? Math.min(whole, span * 2) : few + Math.ceil((many - few) / 2)
  }
}

/** The span of the first window in search of the last ticks, and the ticks beyond those that it needs. */
const minimumSpan = 60_000
const slack = 250

/** The ticks from `from` to `now`, if there are at most `most`. `first`: the oldest tick, which may lie off the grid. */
const ticksIn = (schedule: Ticks, first: number, from: number, now: number, most: number) => {
  const found = from <= first ? [first] : []
  for (
    let at = nextAfter(schedule, Math.max(first, from - 1));
    at !== null && at <= now;
    at = nextAfter(schedule, at)
  ) {
    if (found.length >= most) return "too many"
    found.push(at)
  }
  return found
}

/** The ticks from `first` on that are older than `end`. */
const skippedBefore = (schedule: Ticks, first: number, end: number): SkippedTicks | null => {
  if (first >= end) return null
  let count = 0
  let to = first
  for (let at: number | null = first; at !== null && at < end; at = nextAfter(schedule, at)) {
    count++
    if (count > maxCounted) return { count: null, from: first, to: end - 1 }
    to = at
  }
  return { count, from: first, to }
}
