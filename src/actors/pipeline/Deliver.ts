/**
 * Signs and sends the deliveries that are due, within limits per endpoint and per node. A delivery whose attempt was not
 * settled, because the process died or Postgres was away, is claimed again when its lease expires.
 */
import { Cause, Clock, Duration, Effect, FiberSet, Layer, Option, Redacted } from "effect"
import {
  type AttemptResult,
  deliveryTimeout,
  decide,
  type Delivery,
  endpointOf,
  deliveriesInFlight,
  retrySchedule
} from "../../domain/Delivery.js"
import { Unavailable } from "../../domain/Failure.js"
import { signWebhook } from "../../domain/Signature.js"
import { CallbackSecrets } from "../ports/CallbackSecrets.js"
import { Deliveries } from "../ports/Deliveries.js"
import { Digests } from "../ports/Digests.js"
import { Egress, type EgressFailure, type EgressResponse } from "../ports/Egress.js"
import { Faults } from "../ports/Faults.js"
import { Wakeups } from "../ports/Wakeups.js"
import { backgroundTask } from "../BackgroundTask.js"

/** Fallback: usually the sweep of the runs wakes this task when a delivery is due. */
const pollInterval = Duration.seconds(10)
/** Bytes of an answer that are read; its body is not used. */
const maxAnswerBytes = 1024 * 1024

export interface DeliverOptions {
  /** The pauses after failed attempts. Default: the contract's. */
  readonly schedule?: ReadonlyArray<Duration.Duration>
}

/** How many deliveries this node is sending. */
interface InFlight {
  total: number
  readonly byEndpoint: Map<string, number>
}

/** What sending needs. */
interface DeliverContext {
  readonly deliveries: Deliveries["Type"]
  readonly secrets: CallbackSecrets["Type"]
  readonly digests: Digests["Type"]
  readonly egress: Egress["Type"]
  readonly faults: Faults["Type"]
  /** The pauses after failed attempts. */
  readonly pauses: ReadonlyArray<Duration.Duration>
  readonly fibers: FiberSet.FiberSet<void, unknown>
  readonly inFlight: InFlight
  /** Opened when a slot becomes free or a retry becomes due. */
  readonly wakeLatch: Effect.Latch
}

const signHeaders = Effect.fnUntraced(function* (
  { secrets, digests }: DeliverContext,
  { executionId, id, organisationId, payload, spaceId }: Delivery
) {
  const valid = yield* secrets.valid(organisationId, spaceId)
  const timestamp = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const headers = signWebhook(digests, valid.map(Redacted.value), { id, timestamp, body: payload })
  // The stored value is not a callback secret.
  if (Option.isNone(headers))
    return yield* new Unavailable({ reason: "no usable callback secret", retryAfterSeconds: 60 })
  return [
    ["content-type", "application/json"] as const,
    ...Object.entries(headers.value),
    ...(executionId === null ? [] : [["x-svc-execution-id", executionId] as const])
  ]
})

const send = (context: DeliverContext, delivery: Delivery) =>
  Effect.flatMap(signHeaders(context, delivery), (headers) =>
    context.egress
      .send({
        method: "POST",
        url: delivery.url,
        headers,
        body: delivery.payload,
        timeout: deliveryTimeout,
        maxBytes: maxAnswerBytes,
        redirects: 0
      })
      .pipe(Effect.match({ onFailure: failedResult, onSuccess: answeredResult }))
  ).pipe(
    Effect.catchTag("NotFound", () =>
      Effect.succeed<AttemptResult>({ _tag: "Refused", reason: "the workspace is gone" })
    )
  )

const attempt = Effect.fn("Deliver.attempt")(function* (context: DeliverContext, delivery: Delivery) {
  yield* context.faults.at("beforeEffect")
  const answer = yield* send(context, delivery)
  yield* context.faults.at("effected")
  const verdict = decide(delivery.attempt, answer, yield* Clock.currentTimeMillis, context.pauses)
  yield* context.deliveries.settle(delivery, verdict)
  if (verdict._tag === "Retry" && Duration.lessThan(verdict.after, pollInterval))
    yield* FiberSet.run(context.fibers, Effect.delay(context.wakeLatch.open, verdict.after))
})

/** Logs a failure; the delivery is claimed again when its lease expires. */
const attemptAndRelease = (context: DeliverContext, delivery: Delivery) =>
  attempt(context, delivery).pipe(
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
        addInFlight(context, endpointOf(delivery.url), -1)
        return context.wakeLatch.open
      })
    )
  )

const addInFlight = ({ inFlight }: DeliverContext, endpoint: string, change: 1 | -1) => {
  inFlight.total += change
  const now = (inFlight.byEndpoint.get(endpoint) ?? 0) + change
  if (now === 0) inFlight.byEndpoint.delete(endpoint)
  else inFlight.byEndpoint.set(endpoint, now)
}

/** Claims and sends deliveries until no slot is free or none is due. */
const sendDue = (context: DeliverContext) =>
  Effect.gen(function* () {
    for (;;) {
      const slots = deliveriesInFlight.perNode - context.inFlight.total
      if (slots <= 0) return
      const claimed = yield* context.deliveries.claim(slots, context.inFlight.byEndpoint)
      if (claimed.length === 0) return
      for (const delivery of claimed) {
        addInFlight(context, endpointOf(delivery.url), 1)
        yield* FiberSet.run(context.fibers, attemptAndRelease(context, delivery))
      }
    }
  })

/** Makes the task: `sendDue` is one pass, `sweep` repeats it. */
export const make = (options: DeliverOptions = {}) =>
  Effect.gen(function* () {
    const deliveries = yield* Deliveries
    const secrets = yield* CallbackSecrets
    const digests = yield* Digests
    const egress = yield* Egress
    const faults = yield* Faults
    const wakeups = yield* Wakeups
    const pauses = options.schedule ?? retrySchedule

    const fibers = yield* FiberSet.make<void>()
    const inFlight: InFlight = { total: 0, byEndpoint: new Map() }
    const wakeLatch = yield* Effect.makeLatch(false)

    const context: DeliverContext = {
      deliveries,
      secrets,
      digests,
      egress,
      faults,
      pauses,
      fibers,
      inFlight,
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

// --- Answers ---

const answeredResult = ({ headers, status }: EgressResponse): AttemptResult => ({
  _tag: "Answered",
  status,
  retryAfter: headers.find(([name]) => name.toLowerCase() === "retry-after")?.[1]
})

const failedResult = (failure: EgressFailure): AttemptResult => {
  switch (failure._tag) {
    case "EgressBlocked":
      return { _tag: "Refused", reason: `the URL ${failure.reason}` }
    case "EgressUnreachable":
      return { _tag: "Unanswered", reason: failure.reason }
    case "EgressTimedOut":
      return { _tag: "Unanswered", reason: `the endpoint did not answer within ${failure.afterMillis / 1000} s` }
    case "EgressTooLarge":
      return { _tag: "Unanswered", reason: `the endpoint's answer is larger than ${failure.limitBytes} bytes` }
  }
}
