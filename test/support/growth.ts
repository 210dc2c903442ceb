/** Measures what a function costs as its input grows, in units of a fixed loop that is timed in the same process. */

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
 * Whether a quarter and the whole are well within the bounds by few measurements: most inputs need no more. The quarter
 * is measured twice, since a first call that is slow would hide growth. The memory is timed only if the costs are above
 * the bounds of a machine at rest.
 */
const isWellWithin = <A>(make: (size: number) => A, work: (input: A) => unknown, most: number): boolean => {
  let [quarter, whole] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let attempt = 0; attempt < 3; attempt++) {
    quarter = Math.min(quarter, leastCost(make, work, Math.floor(most / 4), 2))
    whole = Math.min(whole, leastCost(make, work, most, 1))
    const isWithin = (slowness: number) =>
      whole <= 0.9 * slowness * calibratedMillis() && isProportional({ quarter, whole, slowness })
    if (isWithin(1) || isWithin(memorySlowness())) return true
  }
  return false
}

/**
 * Whether the cost grew about as the input did: four times the input, at most six times the cost. A quarter may fit into
 * the processor's own memory where the whole does not, so that only the whole is slowed.
 */
const isProportional = ({ quarter, slowness, whole }: Pick<Growth, "quarter" | "slowness" | "whole">): boolean =>
  whole <= 6 * slowness * Math.max(quarter, noise * calibratedMillis())

/** How often a cost that exceeds its bounds is measured again: another program may have had the processor. */
const attempts = 5

/** Why the function costs too much for its input, by the least of several measurements; `undefined` if it does not. */
export const findExcess = <A>(make: (size: number) => A, work: (input: A) => unknown, most: number) => {
  if (isWellWithin(make, work, most)) return undefined
  let excess: string | undefined
  for (let attempt = 0; attempt < attempts; attempt++) {
    const growth = measureGrowth(make, work, most)
    const isLong = growth.share >= 1
    if (!isLong && isProportional(growth)) return undefined
    excess = `${isLong ? "holds the main loop too long" : "costs more than its input"}: ${JSON.stringify(growth)}`
    // No other program makes it ten times as slow.
    if (growth.share > 10) break
  }
  return excess
}
