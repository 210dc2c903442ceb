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
import { makeSender } from "./DeliverySender.js"

/** Fallback: usually the sweep of the runs wakes this task when a delivery is due. */
const pollInterval = Duration.seconds(10)

export interface DeliverOptions {
  /** The pauses after failed attempts. Default: the contract's. */
  readonly schedule?: ReadonlyArray<Duration.Duration>
}

/** The delivery is claimed again when its lease expires. */
const logUnsettled = ({ id, organisationId }: Delivery, cause: Cause.Cause<unknown>) =>
  Effect.annotateLogs(Effect.logWarning("delivery.not_settled", cause), { deliveryId: id, organisationId })

/** Makes the task: `sendDue` is one pass, `sweep` repeats it. */
export const make = Effect.fnUntraced(function* (options: DeliverOptions = {}) {
  const wakeups = yield* Wakeups
  const { deliveries: places, notifications } = yield* OutwardPlaces
  const wakeLatch = yield* Effect.makeLatch(false)
  const deliveries = yield* Deliveries
  const send = yield* makeSender
  const faults = yield* Faults
  const pauses = options.schedule ?? retrySchedule
  const fibers = yield* FiberSet.make<void>()

  const attempt = Effect.fn("Deliver.attempt")(function* (delivery: Delivery) {
    yield* faults.at("beforeEffect")
    const [duration, answer] = yield* Effect.timed(send(delivery))
    yield* faults.at("effected")
    const verdict = decide(delivery.scheduledAttempt, answer, yield* Clock.currentTimeMillis, pauses)
    yield* deliveries.settle(delivery, verdict, duration)
    if (verdict._tag === "Retry" && Duration.lessThan(verdict.after, pollInterval))
      yield* FiberSet.run(fibers, Effect.delay(wakeLatch.open, verdict.after))
  })

  const { placed, repeat } = yield* makeSweep<Delivery>("deliveries.send")
  /** Claims and sends deliveries of one use until no place is free or none is due. */
  const sending = (use: DeliveryUse, places: Places) =>
    placed({
      places,
      work: {
        find: (room) => deliveries.find(use, room),
        lease: (found) => deliveries.claim(found.map(({ id }) => id))
      },
      run: attempt,
      onUnrecorded: logUnsettled
    })
  const sendDue = Effect.zipRight(yield* sending("deliveries", places), yield* sending("notifications", notifications))
  const sweep = yield* repeat(sendDue, {
    interval: pollInterval,
    wakes: [wakeups.awaitDelivery, Effect.zipRight(wakeLatch.await, wakeLatch.close)],
    places: [places, notifications]
  })

  return { sendDue, sweep }
})

export const layer = (options: DeliverOptions = {}) =>
  Layer.scopedDiscard(Effect.flatMap(make(options), ({ sweep }) => Effect.forkScoped(sweep)))
