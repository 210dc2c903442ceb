/** Runs an effect and measures the longest delay of this process's event loop meanwhile, in milliseconds. */
import { Effect } from "effect"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { assertOnceWithin } from "./pace.js"

const resolution = 10

export const measureLoopDelay = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const histogram = monitorEventLoopDelay({ resolution })
      histogram.enable()
      return histogram
    }),
    (histogram) => Effect.map(effect, (value) => ({ value, worst: Math.max(0, histogram.max / 1e6 - resolution) })),
    (histogram) => Effect.sync(() => histogram.disable())
  )

/**
 * Measures that the work delays this process's event loop by less than `millis`, paced, in one of three rounds: the work is
 * done once, and again only if it took more.
 */
export const assertLoopWithin = (
  millis: number,
  work: () => Promise<unknown>,
  of = "the longest delay of the main loop"
): Promise<void> =>
  assertOnceWithin(millis, of, async () => (await Effect.runPromise(measureLoopDelay(Effect.promise(work)))).worst)
