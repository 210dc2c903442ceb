/** The port `Wakeups` as latches of this process: its commits wake its sweeps at once; other nodes poll. */
import { Effect, Layer } from "effect"
import { Wakeups } from "../../actors/ports/Wakeups.js"
import type { OrganisationId } from "../../domain/Ids.js"

/** A latch for one waiter. A signal without a waiter is kept for the next one. */
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
  let signals = 0
  let emptyAt = 0
  /** Organisations at their limit. Each has a run here, whose end removes it. */
  const full = new Set<OrganisationId>()
  const hasQueued = () => signals > emptyAt
  return Wakeups.of({
    signalQueued: () => {
      signals++
      queue.raise()
    },
    signalSlot: (organisation) => {
      const isAwaited = organisation !== undefined && full.delete(organisation)
      if (isAwaited || hasQueued()) queue.raise()
    },
    awaitSlotsOf: (organisations) => {
      for (const organisation of organisations) full.add(organisation)
    },
    hasQueued,
    queuedSignals: () => signals,
    clearQueued: (at) => {
      emptyAt = Math.max(emptyAt, at)
    },
    awaitQueued: queue.untilRaised,
    signalDelivery: deliveries.raise,
    awaitDelivery: deliveries.untilRaised
  })
})
