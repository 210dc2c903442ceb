/** Lets other requests go on between two long steps of one request. */
import { Effect } from "effect"

/** A run of a neighbour needs dozens of turns of the event loop: in this time a short one passes as a whole. */
const pauseMillis = 20

/** Before and after a body of so many bytes is parsed, others are served. */
export const largeBody = 128 * 1024

/** Waits a moment in which others are served. */
export const pauseForOthers: Effect.Effect<void> = Effect.async((resume) => {
  const timer = setTimeout(() => resume(Effect.void), pauseMillis)
  return Effect.sync(() => clearTimeout(timer))
})
