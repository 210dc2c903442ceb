/**
 * Delivers: signs what is due and sends it, at most so many at a time to one endpoint and from one node. Whatever ends
 * the process in between, the delivery is taken up again when its lease ends.
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

/** The sweep of the runs tells at once of what has become due or was left by another node; this is for its failure. */
const pollInterval = Duration.seconds(10)
/** An answer's body is of no interest: it is only read to its end. */
const answerBytes = 1024 * 1024

export interface DeliverOptions {
  /** The pauses after failed attempts. Default: the contract's. */
  readonly schedule?: ReadonlyArray<Duration.Duration>
}

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
    const underWay = new Map<string, number>()
    let total = 0
    /** Open when a place has become free, or a repetition due, since the last look. */
    const freed = yield* Effect.makeLatch(false)

    // --- One delivery ---

    const signed = Effect.fnUntraced(function* ({ executionId, id, organisationId, payload, spaceId }: Delivery) {
      const valid = yield* secrets.valid(organisationId, spaceId)
      const timestamp = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const headers = signWebhook(digests, valid.map(Redacted.value), { id, timestamp, body: payload })
      // The vault answered something that is no secret of a workspace.
      if (Option.isNone(headers))
        return yield* new Unavailable({ reason: "no usable callback secret", retryAfterSeconds: 60 })
      return [
        ["content-type", "application/json"] as const,
        ...Object.entries(headers.value),
        ...(executionId === null ? [] : [["x-svc-execution-id", executionId] as const])
      ]
    })

    const send = (delivery: Delivery) =>
      Effect.flatMap(signed(delivery), (headers) =>
        egress
          .send({
            method: "POST",
            url: delivery.url,
            headers,
            body: delivery.payload,
            timeout: deliveryTimeout,
            maxBytes: answerBytes,
            redirects: 0
          })
          .pipe(Effect.match({ onFailure: unanswered, onSuccess: answered }))
      ).pipe(
        Effect.catchTag("NotFound", () =>
          Effect.succeed<AttemptResult>({ _tag: "Refused", reason: "the workspace is gone" })
        )
      )

    const attempt = Effect.fn("Deliver.attempt")(function* (delivery: Delivery) {
      yield* faults.at("beforeEffect")
      const answer = yield* send(delivery)
      yield* faults.at("effected")
      const verdict = decide(delivery.attempt, answer, yield* Clock.currentTimeMillis, pauses)
      yield* deliveries.settle(delivery, verdict)
      if (verdict._tag === "Retry" && Duration.lessThan(verdict.after, pollInterval))
        yield* FiberSet.run(fibers, Effect.delay(freed.open, verdict.after))
    })

    /** What cannot be settled now is taken up again when its lease ends. */
    const watched = (delivery: Delivery) =>
      attempt(delivery).pipe(
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
            count(endpointOf(delivery.url), -1)
            return freed.open
          })
        )
      )

    const count = (endpoint: string, change: 1 | -1) => {
      total += change
      const now = (underWay.get(endpoint) ?? 0) + change
      if (now === 0) underWay.delete(endpoint)
      else underWay.set(endpoint, now)
    }

    // --- The look ---

    /** Takes what it can until nothing is due that may be sent now. */
    const look = Effect.gen(function* () {
      for (;;) {
        const slots = deliveriesInFlight.perNode - total
        if (slots <= 0) return
        const claimed = yield* deliveries.claim(slots, underWay)
        if (claimed.length === 0) return
        for (const delivery of claimed) {
          count(endpointOf(delivery.url), 1)
          yield* FiberSet.run(fibers, watched(delivery))
        }
      }
    })

    const task = yield* backgroundTask("deliveries.send", look)
    const sweep = task.run.pipe(
      Effect.zipRight(task.waiting(false)),
      Effect.zipRight(
        Effect.raceAll([wakeups.untilDelivery, Effect.zipRight(freed.await, freed.close), Effect.sleep(pollInterval)])
      ),
      Effect.zipRight(task.waiting(true)),
      Effect.forever
    )

    return { look, sweep }
  })

export const layer = (options: DeliverOptions = {}) =>
  Layer.scopedDiscard(Effect.flatMap(make(options), ({ sweep }) => Effect.forkScoped(Effect.interruptible(sweep))))

// --- Answers ---

const answered = ({ headers, status }: EgressResponse): AttemptResult => ({
  _tag: "Answered",
  status,
  retryAfter: headers.find(([name]) => name.toLowerCase() === "retry-after")?.[1]
})

const unanswered = (failure: EgressFailure): AttemptResult => {
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
