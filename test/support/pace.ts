/** Bounds on time in measurements: multiples of a fixed loop that is timed in the same measurement. */
import { assertFigure } from "./figures.js"
import { spin, spinMillis } from "./growth.js"

const rounds = 5

/** What the loop takes now, beside everything else that this machine does: the median. */
const presentMillis = (): number => {
  const times = Array.from({ length: rounds }, () => {
    const started = performance.now()
    spin()
    return performance.now() - started
  })
  return times.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? spinMillis
}

/** Measures that it took less than `millis`, paced. The loop, a quarter of a second, is timed only if it took more. */
export const assertWithin = (took: number, millis: number, of = ""): void =>
  assertFigure({ of, value: took, bound: took < millis ? millis : paced(millis), unit: "ms" })

/**
 * Measures that `measure` resolves to less than `millis`, paced, in one of three rounds: a delay that the service itself
 * causes is in each of them, one that the machine adds is not.
 */
export const assertOnceWithin = async (millis: number, of: string, measure: () => Promise<number>): Promise<void> => {
  let least = Infinity
  for (let round = 0; round < 3 && !(least < millis); round++) least = Math.min(least, await measure())
  assertWithin(least, millis, of)
}

/** What takes `millis` on a machine at rest, in milliseconds of this machine as it is now: more where it is slower or busy. */
export const paced = (millis: number): number => millis * Math.max(1, presentMillis() / spinMillis)

/** How long a measure of the machine's pace is good enough for `pacedLately`, in milliseconds. */
const latelyMillis = 10_000
let lately = { at: -Infinity, pace: 1 }

/**
 * As `paced`, by a measure of the last ten seconds: for a process that others wait for, which stands still while it times the
 * loop.
 */
export const pacedLately = (millis: number): number => {
  if (performance.now() - lately.at > latelyMillis) lately = { pace: paced(1), at: performance.now() }
  return millis * lately.pace
}
