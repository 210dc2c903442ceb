/**
 * Sends the deliveries that are due, within limits per endpoint, organisation and node. A delivery whose attempt was not
 * settled, because the process died or Postgres was away, is claimed again when its lease expires.
 */
import { Cause, Clock, Duration, Effect, FiberSet, Layer } from "effect"
import { decide, type Delivery, endpointOf, deliveriesInFlight, retrySchedule } from "../../domain/Delivery.js"
import type { OrganisationId } from "../../domain/Ids.js"
import { Deliveries } from "../ports/Deliveries.js"
import { Faults } from "../ports/Faults.js"
import { Wakeups } from "../ports/Wakeups.js"
import { backgroundTask } from "../BackgroundTask.js"
import { makeStoredJobs, type StoredJobs } from "../StoredJobs.js"
import { makeSender, type Sender } from "./DeliverySender.js"

/** Fallback: usually the sweep of the runs wakes this task when a delivery is due. */
const pollInterval = Duration.seconds(10)

export interface DeliverOptions {
  /** The pauses after failed attempts. Default: the contract's. */
  readonly schedule?: ReadonlyArray<Duration.Duration>
}

/** How many deliveries this node is sending. */
interface InFlight {
  total: number
  readonly byEndpoint: Map<string, number>
  readonly byOrganisation: Map<OrganisationId, number>
}

/** What sending needs. */
interface DeliverContext {
  readonly deliveries: Deliveries["Type"]
  readonly send: Sender
  readonly faults: Faults["Type"]
  /** The pauses after failed attempts. */
  readonly pauses: ReadonlyArray<Duration.Duration>
  readonly fibers: FiberSet.FiberSet<void, unknown>
  readonly inFlight: InFlight
  readonly jobs: StoredJobs<Delivery>
  /** Opened when a slot becomes free or a retry becomes due. */
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
const attemptAndRelease = (context: DeliverContext, delivery: Delivery) =>
  context.jobs.attempt(delivery, attempt(context, delivery)).pipe(
    Effect.asVoid,
    Effect.catchAllCause((cause) =>
      Cause.isInterruptedOnly(cause)
        ? Effect.void
        : Effect.annotateLogs(Effect.logWarning("delivery.not_settled", cause), {
            deliveryId: delivery.id,
            organisationId: delivery.organisationId
          })
    ),
    Effect.ensuring(
      Effect.suspend(() => {
        addInFlight(context, delivery, -1)
        return context.wakeLatch.open
      })
    )
  )

const addInFlight = ({ inFlight }: DeliverContext, { organisationId, url }: Delivery, change: 1 | -1) => {
  inFlight.total += change
  addTo(inFlight.byEndpoint, endpointOf(url), change)
  addTo(inFlight.byOrganisation, organisationId, change)
}

const addTo = <K>(counts: Map<K, number>, key: K, change: 1 | -1) => {
  const now = (counts.get(key) ?? 0) + change
  if (now === 0) counts.delete(key)
  else counts.set(key, now)
}

/** Claims and sends deliveries until no slot is free or none is due. */
const sendDue = (context: DeliverContext) =>
  Effect.gen(function* () {
    for (;;) {
      const slots = deliveriesInFlight.perNode - context.inFlight.total
      if (slots <= 0) return
      const claimed = yield* context.deliveries.claim(
        slots,
        context.inFlight.byEndpoint,
        context.inFlight.byOrganisation
      )
      if (claimed.length === 0) return
      for (const delivery of claimed) {
        addInFlight(context, delivery, 1)
        yield* FiberSet.run(context.fibers, attemptAndRelease(context, delivery))
      }
    }
  })

/** Makes the task: `sendDue` is one pass, `sweep` repeats it. */
export const make = (options: DeliverOptions = {}) =>
  Effect.gen(function* () {
    const deliveries = yield* Deliveries
    const send = yield* makeSender
    const faults = yield* Faults
    const wakeups = yield* Wakeups
    const pauses = options.schedule ?? retrySchedule

    const fibers = yield* FiberSet.make<void>()
    const inFlight: InFlight = { total: 0, byEndpoint: new Map(), byOrganisation: new Map() }
    const wakeLatch = yield* Effect.makeLatch(false)

    const context: DeliverContext = {
      deliveries,
      send,
      faults,
      pauses,
      fibers,
      inFlight,
      jobs: yield* makeStoredJobs("deliveries.send", ({ id, organisationId }: Delivery) => ({ id, organisationId })),
      wakeLatch
    }

    const task = yield* backgroundTask("deliveries.send", sendDue(context))
    const sweep = task.run.pipe(
      Effect.zipRight(task.reportWaiting(false)),
      Effect.zipRight(
        Effect.raceAll([
          wakeups.awaitDelivery,
          Effect.zipRight(wakeLatch.await, wakeLatch.close),
          Effect.sleep(pollInterval)
        ])
      ),
      Effect.zipRight(task.reportWaiting(true)),
      Effect.forever
    )

    return { sendDue: sendDue(context), sweep }
  })

export const layer = (options: DeliverOptions = {}) =>
  Layer.scopedDiscard(Effect.flatMap(make(options), ({ sweep }) => Effect.forkScoped(Effect.interruptible(sweep))))
