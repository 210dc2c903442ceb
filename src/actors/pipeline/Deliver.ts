/**
 * Sends the deliveries that are due and have a place. A delivery whose attempt was not
 * settled, because the process died or Postgres was away, is claimed again when its lease expires.
 */
import { type Cause, Clock, Duration, Effect, FiberSet, Layer } from "effect"
import { decide, type Delivery, retrySchedule } from "../../domain/delivery/Delivery.js"
import { Deliveries, type DeliveryUse } from "../ports/delivery/Deliveries.js"
import { Faults } from "../ports/Faults.js"
import { Wakeups } from "../ports/run/Wakeups.js"
import { makeSweep } from "../LeasedWork.js"
import { OutwardPlaces, type Places } from "../Places.js"
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

/** The delivery is claimed again when its lease expires. */
const logUnsettled = ({ id, organisationId }: Delivery, cause: Cause.Cause<unknown>) =>
  Effect.annotateLogs(Effect.logWarning("delivery.not_settled", cause), { deliveryId: id, organisationId })

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
      wakeLatch
    }
    const { placed, repeat } = yield* makeSweep<Delivery>("deliveries.send")
    /** Claims and sends deliveries of one use until no place is free or none is due. */
    const sending = (use: DeliveryUse, places: Places) =>
      placed({
        places,
        work: {
          find: (room) => context.deliveries.find(use, room),
          lease: (found) => context.deliveries.claim(found.map(({ id }) => id))
        },
        run: (delivery) => attempt(context, delivery),
        onUnrecorded: logUnsettled
      })
    const sendDue = Effect.zipRight(
      yield* sending("deliveries", places),
      yield* sending("notifications", notifications)
    )
    const sweep = yield* repeat(sendDue, {
      interval: pollInterval,
      wakes: [wakeups.awaitDelivery, Effect.zipRight(wakeLatch.await, wakeLatch.close)],
      places: [places, notifications]
    })

    return { sendDue, sweep }
  })

export const layer = (options: DeliverOptions = {}) =>
  Layer.scopedDiscard(Effect.flatMap(make(options), ({ sweep }) => Effect.forkScoped(sweep)))
