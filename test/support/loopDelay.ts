/** Runs an effect and measures the longest delay of this process's event loop meanwhile, in milliseconds. */
import { Effect } from "effect"
import { monitorEventLoopDelay } from "node:perf_hooks"

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
