/** Lets other requests go on between two long steps of one request. */
import { Effect } from "effect"

/** One turn of the event loop: what arrived meanwhile is handled first. */
export const awaitEventLoop: Effect.Effect<void> = Effect.async((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})
