/**
 * Sends the deliveries that are due and have a place. A delivery whose attempt was not
 * settled, because the process died or Postgres was away, is claimed again when its lease expires.
 */
import { type Cause, Clock, Duration, Effect, FiberSet } from "effect"
import { decide, type Delivery, retrySchedule } from "../../domain/delivery/Delivery.js"
import { outwardPlaces } from "../../domain/Limits.js"
import { Deliveries, type DeliveryUse } from "../ports/delivery/Deliveries.js"
import { Faults } from "../ports/Faults.js"
import { Wakeups } from "../ports/run/Wakeups.js"
import { leasedTask, type SweepTools } from "../LeasedWork.js"
import { makeSender } from "./DeliverySender.js"

/** Fallback: usually the sweep of the runs wakes this task when a delivery is due. */
const pollInterval = Duration.seconds(10)

/** The delivery is claimed again when its lease expires. */
const logUnsettled = ({ id, organisationId }: Delivery, cause: Cause.Cause<unknown>) =>
  Effect.annotateLogs(Effect.logWarning("delivery.not_settled", cause), { deliveryId: id, organisationId })

/** `pauses`: after failed attempts. */
const make = Effect.fnUntraced(function* (
  { placed }: SweepTools<DeliveryUse>,
  pauses: ReadonlyArray<Duration.Duration>
) {
  const wakeups = yield* Wakeups
  const wakeLatch = yield* Effect.makeLatch(false)
  const deliveries = yield* Deliveries
  const send = yield* makeSender
  const faults = yield* Faults
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

  /** Claims and sends deliveries of one use until no place is free or none is due. */
  const sending = (use: DeliveryUse) =>
    placed(use, {
      work: {
        find: (room) => deliveries.find(use, room),
        lease: (found) => deliveries.claim(found.map(({ id }) => id))
      },
      run: attempt,
      onUnrecorded: logUnsettled
    })
  return {
    pass: Effect.zipRight(yield* sending("deliveries"), yield* sending("notifications")),
    wakes: [wakeups.awaitDelivery, Effect.zipRight(wakeLatch.await, wakeLatch.close)]
  }
})

/** @internal With other pauses after failed attempts than the contract's, for tests. */
export const makeTask = (pauses: ReadonlyArray<Duration.Duration>) =>
  leasedTask(
    {
      name: "deliveries.send",
      interval: pollInterval,
      places: { deliveries: outwardPlaces.deliveries, notifications: outwardPlaces.notifications }
    },
    (tools) => make(tools, pauses)
  )

export const task = makeTask(retrySchedule)
