/**
 * Tells subscribers of committed changes: turns domain events into deliveries for the subscribed endpoints. An event
 * leaves the outbox in the statement that adds its deliveries, so that none is lost or told twice, on any number of nodes.
 */
import { Duration, Effect, Layer } from "effect"
import { outboundBody } from "../../domain/OutboundEvent.js"
import { backgroundTask } from "../BackgroundTask.js"
import type { DomainEvent } from "../ports/ConnectionStore.js"
import { DomainEvents, type PublishedEvent } from "../ports/DomainEvents.js"
import { EndpointSubscriptions } from "../ports/EndpointSubscriptions.js"
import { Identifiers } from "../ports/Identifiers.js"
import { Wakeups } from "../ports/Wakeups.js"

const pollInterval = Duration.seconds(1)
/** Events of one statement. */
const batchSize = 200

/** Makes the task: `publishPending` is one pass, `sweep` repeats it. */
const make = Effect.gen(function* () {
  const events = yield* DomainEvents
  const { subscribed } = yield* EndpointSubscriptions
  const identifiers = yield* Identifiers
  const wakeups = yield* Wakeups

  const published = Effect.fnUntraced(function* (event: DomainEvent) {
    const endpoints = yield* subscribed(event.organisationId, event.type)
    const payload = endpoints.length === 0 ? "" : outboundBody(event.type, event.at, event.payload)
    return {
      event,
      deliveries: endpoints.map((endpoint) => ({ id: identifiers.next("dlv"), endpoint, payload }))
    } satisfies PublishedEvent
  })

  const publishPending = Effect.gen(function* () {
    for (;;) {
      const pending = yield* events.pending(batchSize)
      if (pending.length === 0) return
      const batch = yield* Effect.forEach(pending, published)
      yield* events.publish(batch)
      if (batch.some(({ deliveries }) => deliveries.length > 0)) wakeups.signalDelivery()
      if (pending.length < batchSize) return
    }
  })

  const task = yield* backgroundTask("events.publish", publishPending)
  return { sweep: Effect.forever(Effect.zipRight(task.run, Effect.sleep(pollInterval))) }
})

export const layer = Layer.scopedDiscard(
  Effect.flatMap(make, ({ sweep }) => Effect.forkScoped(Effect.interruptible(sweep)))
)
