/** The port `Wakeups` as latches of this process: its commits wake its sweeps at once; other nodes poll. */
import { Effect, Layer } from "effect"
import { Wakeups } from "../../actors/ports/run/Wakeups.js"
import type { EventPriority } from "../../domain/event/Event.js"
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
  /** The number of signals of each class, and its value before the last read that found nothing of the class. */
  const signals: [number, number, number, number] = [0, 0, 0, 0]
  const emptyAt = [0, 0, 0, 0]
  /** Accounts at their limit. Each has a run here, whose end removes it. */
  const full = new Set<OrganisationId>()
  const hasQueued = (priority: EventPriority = 4) =>
    signals.some((count, i) => i < priority && count > (emptyAt[i] ?? 0))
  const listeners: Array<(priority: EventPriority, shard: number) => void> = []
  const changeListeners: Array<(organisations: ReadonlySet<OrganisationId>) => void> = []
  const commitListeners: Array<(organisations: ReadonlySet<OrganisationId>) => void> = []
  const awaitListeners: Array<() => void> = []
  const signalChanged = (organisations: ReadonlySet<OrganisationId>) => {
    for (const listener of changeListeners) listener(organisations)
  }
  return Wakeups.of({
    onChanged: (listener) => void changeListeners.push(listener),
    signalChanged,
    onCommitted: (listener) => void commitListeners.push(listener),
    noteCommitted: (organisations) => {
      for (const listener of commitListeners) listener(organisations)
      signalChanged(organisations)
    },
    onAwaited: (listener) => void awaitListeners.push(listener),
    noteAwaited: () => {
      for (const listener of awaitListeners) listener()
    },
    onQueued: (listener) => void listeners.push(listener),
    noteQueued: (priority, shard) => {
      for (const listener of listeners) listener(priority, shard)
    },
    signalQueued: (priority = 1) => {
      signals[priority - 1] = (signals[priority - 1] ?? 0) + 1
      queue.raise()
    },
    signalSlot: (account) => {
      const isAwaited = account !== undefined && full.delete(account)
      if (isAwaited || hasQueued()) queue.raise()
    },
    awaitSlotsOf: (accounts) => {
      for (const account of accounts) full.add(account)
    },
    hasQueued,
    queuedSignals: () => [...signals],
    clearQueued: (at, firstWaiting) => {
      at.slice(0, (firstWaiting ?? 5) - 1).forEach((count, i) => (emptyAt[i] = Math.max(emptyAt[i] ?? 0, count)))
    },
    awaitQueued: queue.untilRaised,
    signalDelivery: deliveries.raise,
    awaitDelivery: deliveries.untilRaised
  })
})
