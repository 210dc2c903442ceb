/** Latches in this process: what is committed here is acted on at once; other nodes find it by their polls. */
import { Effect, Layer } from "effect"
import { Wakeups } from "../../actors/ports/Wakeups.js"

/** A flag that one waiter takes down; raised while nobody waits, it is not lost. */
const flag = () => {
  const latch = Effect.unsafeMakeLatch(false)
  return {
    raise: () => {
      latch.unsafeOpen()
    },
    untilRaised: Effect.zipLeft(
      latch.await,
      Effect.sync(() => latch.unsafeClose())
    )
  }
}

export const layer = Layer.sync(Wakeups, () => {
  const queue = flag()
  const deliveries = flag()
  return Wakeups.of({
    signalQueued: queue.raise,
    awaitQueued: queue.untilRaised,
    signalDelivery: deliveries.raise,
    awaitDelivery: deliveries.untilRaised
  })
})
