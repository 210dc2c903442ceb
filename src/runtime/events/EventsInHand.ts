/** The events that this node dispatches now. Renews their leases until they are finished. */
import { Duration, Effect } from "effect"
import { backgroundTask, repeatEvery } from "../../actors/BackgroundTask.js"
import { type LeasedEvent, StartQueue } from "../../actors/ports/run/StartQueue.js"
import type { EventId } from "../../domain/Ids.js"

/** A third of the lease, so that one failed pass loses none. */
const renewInterval = Duration.seconds(3)

export interface EventsInHand {
  readonly add: (events: ReadonlyArray<LeasedEvent>) => void
  readonly has: (event: Pick<LeasedEvent, "id" | "claims">) => boolean
  readonly remove: (event: Pick<LeasedEvent, "id" | "claims">) => void
}

/** `onLost`: called with events whose leases were lost, because they were settled elsewhere or renewed too late. */
export const make = Effect.fnUntraced(function* (
  onLost: (events: ReadonlyArray<LeasedEvent>) => void = () => undefined
) {
  const queue = yield* StartQueue
  const events = new Map<EventId, LeasedEvent>()

  const renew = Effect.gen(function* () {
    const before = [...events.values()]
    if (before.length === 0) return
    const kept = new Set(yield* queue.renew(before.map(({ id }) => id)))
    const lost = before.filter((event) => !kept.has(event.id) && events.get(event.id) === event)
    for (const { id } of lost) events.delete(id)
    if (lost.length > 0) onLost(lost)
  })
  const task = yield* backgroundTask("events.renew_leases", renew)
  yield* repeatEvery(renewInterval, task.run)

  return {
    add: (added) => {
      for (const event of added) events.set(event.id, event)
    },
    has: ({ claims, id }) => events.get(id)?.claims === claims,
    remove: ({ claims, id }) => {
      if (events.get(id)?.claims === claims) events.delete(id)
    }
  } satisfies EventsInHand
})
