/**
 * Sends the deliveries that are due and have a place. A delivery whose attempt was not
 * settled, because the process died or Postgres was away, is claimed again when its lease expires.
 */
import { Cause, Clock, Duration, Effect, FiberSet, Layer } from "effect"
import { decide, type Delivery, retrySchedule } from "../../domain/Delivery.js"
import { Deliveries, type DeliveryUse } from "../ports/Deliveries.js"
import { Faults } from "../ports/Faults.js"
import { Wakeups } from "../ports/Wakeups.js"
import { backgroundTask } from "../BackgroundTask.js"
import { makePlacedWork } from "../PlacedWork.js"
import { OutwardPlaces, type Places } from "../Places.js"
import { makeStoredJobs, type StoredJobs } from "../StoredJobs.js"
import { makeSender, type Sender } from "./DeliverySender.js"

/** Fallback: usually the sweep of the runs wakes this task when a delivery is due. */
const pollInterval = Duration.seconds(10)

export interface DeliverOptions {
  /** The pauses after failed attempts. Default: the contract's. */
  readonly schedule?: ReadonlyArray<Duration.Duration>
}

/** What sending needs. */
interface DeliverContext {
  readonly deliveries: Deliveries["Type"]
  readonly send: Sender
  readonly faults: Faults["Type"]
  /** The pauses after failed attempts. */
  readonly pauses: ReadonlyArray<Duration.Duration>
  readonly fibers: FiberSet.FiberSet<void, unknown>
  readonly jobs: StoredJobs<Delivery>
  /** Opened when a retry becomes due. */
  readonly wakeLatch: Effect.Latch
}

const attempt = Effect.fn("Deliver.attempt")(function* (context: DeliverContext, delivery: Delivery) {
  yield* context.faults.at("beforeEffect")
  const [duration, answer] = yield* Effect.timed(context.send(delivery))
  yield* context.faults.at("effected")
  const verdict = decide(delivery.scheduledAttempt, answer, yield* Clock.currentTimeMillis, context.pauses)
  yield* context.deliveries.settle(delivery, verdict, duration)
  if (verdict._tag === "Retry" && Duration.lessThan(verdict.after, pollInterval))
    yield* FiberSet.run(context.fibers, Effect.delay(context.wakeLatch.open, verdict.after))
})

/** Records a failure; the delivery is claimed again when its lease expires. */
const attemptAndRecord = (context: DeliverContext, delivery: Delivery) =>
  context.jobs.attempt(delivery, attempt(context, delivery)).pipe(
    Effect.asVoid,
    Effect.catchAllCause((cause) =>
      Cause.isInterruptedOnly(cause)
        ? Effect.void
        : Effect.annotateLogs(Effect.logWarning("delivery.not_settled", cause), {
            deliveryId: delivery.id,
            organisationId: delivery.organisationId
          })
    )
  )

/** Makes the effect that claims and sends deliveries of one use until no place is free or none is due. */
const makeSending = (context: DeliverContext, use: DeliveryUse, places: Places) =>
  makePlacedWork({
    places,
    find: (room) => context.deliveries.find(use, room),
    lease: (found) => context.deliveries.claim(found.map(({ id }) => id)),
    idOf: ({ id }) => id,
    run: (delivery) => attemptAndRecord(context, delivery)
  })

/** Makes the task: `sendDue` is one pass, `sweep` repeats it. */
export const make = (options: DeliverOptions = {}) =>
  Effect.gen(function* () {
    const wakeups = yield* Wakeups
    const { deliveries: places, notifications } = yield* OutwardPlaces
    const wakeLatch = yield* Effect.makeLatch(false)
    const context: DeliverContext = {
      deliveries: yield* Deliveries,
      send: yield* makeSender,
      faults: yield* Faults,
      pauses: options.schedule ?? retrySchedule,
      fibers: yield* FiberSet.make<void>(),
      jobs: yield* makeStoredJobs("deliveries.send", ({ id, organisationId }: Delivery) => ({ id, organisationId })),
      wakeLatch
    }
    const sendDue = Effect.zipRight(
      yield* makeSending(context, "deliveries", places),
      yield* makeSending(context, "notifications", notifications)
    )

    const task = yield* backgroundTask("deliveries.send", sendDue)
    const sweep = task.run.pipe(
      Effect.zipRight(task.reportWaiting(false)),
      Effect.zipRight(
        Effect.raceAll([
          wakeups.awaitDelivery,
          Effect.zipRight(wakeLatch.await, wakeLatch.close),
          places.freed,
          notifications.freed,
          Effect.sleep(pollInterval)
        ])
      ),
      Effect.zipRight(task.reportWaiting(true)),
      Effect.forever
    )

    return { sendDue, sweep }
  })

export const layer = (options: DeliverOptions = {}) =>
  Layer.scopedDiscard(Effect.flatMap(make(options), ({ sweep }) => Effect.forkScoped(Effect.interruptible(sweep))))
