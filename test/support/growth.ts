/** Measures what a function costs as its input grows, in units of a fixed loop that is timed in the same process. */

/** The fixed loop: about 50 ms on the machine that this code was written on. */
const turns = 32_000_000

const spin = (): number => {
  let mixed = 1
  for (let at = 0; at < turns; at++) {
    mixed = (Math.imul(mixed, 31) + at) | 0
    mixed ^= mixed >>> 7
  }
  return mixed
}

const millisOf = (work: () => unknown): number => {
  const started = performance.now()
  work()
  return performance.now() - started
}

/** The least of several measurements: what the work costs when nothing else has the processor. */
const leastMillis = (work: () => unknown, rounds: number): number => {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round++) least = Math.min(least, millisOf(work))
  return least
}

let calibrated: number | undefined

/** What a calibrated 50 ms take in this process. */
export const calibratedMillis = (): number => (calibrated ??= leastMillis(spin, 5))

/** Costs of one function for its input at a quarter, a half and the whole of the accepted size. */
export interface Growth {
  readonly quarter: number
  readonly half: number
  readonly whole: number
  /** The cost of the whole in calibrated 50 ms. */
  readonly share: number
}

/** Costs below this part of a calibrated 50 ms are noise of the clock and the collector. */
const noise = 1 / 25

/** Measures `work` with inputs of a quarter, a half and the whole of `most`. */
export const measureGrowth = <A>(make: (size: number) => A, work: (input: A) => unknown, most: number): Growth => {
  const cost = (size: number): number => {
    const input = make(size)
    const first = millisOf(() => work(input))
    // A slow input is not repeated as often: its noise is small beside it.
    return Math.min(
      first,
      leastMillis(() => work(input), first > calibratedMillis() * 4 ? 1 : 5)
    )
  }
  const [quarter, half, whole] = [cost(Math.floor(most / 4)), cost(Math.floor(most / 2)), cost(most)]
  return { quarter, half, whole, share: whole / calibratedMillis() }
}

/** Whether the cost grew about as the input did: four times the input, at most six times the cost. */
export const isProportional = ({ quarter, whole }: Growth): boolean =>
  whole <= 6 * Math.max(quarter, noise * calibratedMillis())
