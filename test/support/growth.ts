/** Measures what a function costs as its input grows, in units of a fixed loop that is timed in the same process. */
import { assertFigure } from "./figures.js"

const turns = 32_000_000
/** What the fixed loop takes on the machine that this code was written on. */
export const spinMillis = 50

/** The fixed loop. */
export const spin = (): number => {
  let mixed = 1
  for (let at = 0; at < turns; at++) {
    mixed = (Math.imul(mixed, 31) + at) | 0
    mixed ^= mixed >>> 7
  }
  return mixed
}

/**
 * The time that the work took, or that this process computed meanwhile if that is less: while other programs have the
 * processor the first is too long, while the collector's threads help the second is.
 */
const millisOf = (work: () => unknown): number => {
  const started = performance.now()
  const before = process.cpuUsage()
  work()
  const { system, user } = process.cpuUsage(before)
  return Math.min(performance.now() - started, (user + system) / 1_000)
}

/** The least of several measurements: what the work costs when nothing else has the processor. */
const leastMillis = (work: () => unknown, rounds: number): number => {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round++) least = Math.min(least, millisOf(work))
  return least
}

/** A fixed text whose parsing takes `parseMillis` where the fixed loop takes `spinMillis`, with nothing else on the machine. */
const fixedText = JSON.stringify(Array.from({ length: 30_000 }, (_, at) => ({ at, name: `name ${at}`, of: [at] })))
const parseMillis = 10

/**
 * How much longer than the fixed loop says work takes that fills memory, at least 1: other programs, or other machines
 * on the same processor, may have the memory while they leave the loop at its pace.
 */
const memorySlowness = (): number =>
  Math.max(1, leastMillis(() => JSON.parse(fixedText), 3) / ((parseMillis / spinMillis) * calibratedMillis()))

let calibrated: number | undefined

/** What a calibrated 50 ms take in this process at its best. */
export const calibratedMillis = (): number => (calibrated ??= leastMillis(spin, 5))

/** Costs of one function for its input at a quarter and the whole of the accepted size. */
export interface Growth {
  readonly quarter: number
  readonly whole: number
  /** The cost of the whole in calibrated 50 ms. */
  readonly share: number
  /** What was beside this measurement: see `memorySlowness`. */
  readonly slowness: number
}

/** Costs below this part of a calibrated 50 ms are noise of the clock and the collector. */
const noise = 1 / 25

/** The least cost of a size in some rounds. Each input is new: the engine remembers texts that it has parsed. */
const leastCost = <A>(make: (size: number) => A, work: (input: A) => unknown, size: number, rounds: number): number => {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds && (round === 0 || least < 4 * calibratedMillis()); round++) {
    const input = make(size)
    least = Math.min(
      least,
      millisOf(() => work(input))
    )
  }
  return least
}

/** Measures `work` with inputs of a quarter and the whole of `most`. */
export const measureGrowth = <A>(make: (size: number) => A, work: (input: A) => unknown, most: number): Growth => {
  const before = memorySlowness()
  const quarter = leastCost(make, work, Math.floor(most / 4), 4)
  const whole = leastCost(make, work, most, 4)
  const slowness = Math.max(before, memorySlowness())
  const now = slowness * Math.max(calibratedMillis(), leastMillis(spin, 2))
  return { quarter, whole, share: whole / now, slowness }
}

/**
 * The growth if a quarter and the whole are well within the bounds by few measurements: most inputs need no more. The quarter
 * is measured twice, since a first call that is slow would hide growth. The memory is timed only if the costs are above
 * the bounds of a machine at rest.
 */
const growthWellWithin = <A>(
  make: (size: number) => A,
  work: (input: A) => unknown,
  most: number
): Growth | undefined => {
  let [quarter, whole] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let attempt = 0; attempt < 3; attempt++) {
    quarter = Math.min(quarter, leastCost(make, work, Math.floor(most / 4), 2))
    whole = Math.min(whole, leastCost(make, work, most, 1))
    const at = (slowness: number): Growth => ({
      quarter,
      whole,
      share: whole / (slowness * calibratedMillis()),
      slowness
    })
    const isWithin = (growth: Growth) => growth.share <= 0.9 && isProportional(growth)
    const atRest = at(1)
    if (isWithin(atRest)) return atRest
    const slowed = at(memorySlowness())
    if (isWithin(slowed)) return slowed
  }
  return undefined
}

/**
 * How many times the cost grew while the input grew fourfold. A quarter may fit into
 * the processor's own memory where the whole does not, so that only the whole is slowed.
 */
const growthOf = ({ quarter, slowness, whole }: Pick<Growth, "quarter" | "slowness" | "whole">): number =>
  whole / (slowness * Math.max(quarter, noise * calibratedMillis()))

/** Four times the input may cost so many times as much. */
const mostGrowth = 6

const isProportional = (growth: Pick<Growth, "quarter" | "slowness" | "whole">): boolean =>
  growthOf(growth) <= mostGrowth

/** How often a cost that exceeds its bounds is measured again: another program may have had the processor. */
const attempts = 5

/**
 * Measures that the function costs at most a calibrated 50 ms, and about as much as its input is long, by the least of several
 * measurements. `at`: which of the inputs of a test it is.
 */
export const assertGrowth = <A>(make: (size: number) => A, work: (input: A) => unknown, most: number, at?: string) => {
  const found = leastGrowth(make, work, most)
  const input = at === undefined ? {} : { at }
  assertFigure({ ...input, of: "calibrated 50 ms", value: found.share, bound: 1, unit: "times" })
  assertFigure({ ...input, of: "cost of fourfold input", value: growthOf(found), bound: mostGrowth, unit: "times" })
}

const leastGrowth = <A>(make: (size: number) => A, work: (input: A) => unknown, most: number): Growth => {
  const fast = growthWellWithin(make, work, most)
  if (fast !== undefined) return fast
  for (let attempt = 1; ; attempt++) {
    const growth = measureGrowth(make, work, most)
    const isWithin = growth.share < 1 && isProportional(growth)
    // No other program makes it ten times as slow.
    if (isWithin || attempt === attempts || growth.share > 10) return growth
  }
}
