/** The port `ConnectedCalls`: authorises each attempt at the connection's actor, sends it through the egress, retries. */
import { Clock, Duration, Effect, Either, Layer, Random, Redacted } from "effect"
import { makeScrubber } from "../../domain/access/Redaction.js"
import {
  type Attempt,
  type CallFailed,
  type ConnectedCall,
  ConnectedCalls,
  type ProviderRefused
} from "../ports/connection/ConnectedCalls.js"
import type { AnswerHolding } from "../ports/HeldBytes.js"
import type { OpenRequest, OpenResponse } from "../ports/Egress.js"
import type { ProviderAnswer, ProviderFailure, ProviderHead } from "../../domain/connector/request/ProviderAnswer.js"
import { isLimitRefusal, retryPause } from "../../domain/connector/request/Retry.js"
import { makeCallAttempts } from "./CallAttempt.js"

/** How often a refused request is sent again with a newer credential, because another request may have renewed it. */
const maxRenewals = 2

/** The back-off before another attempt, in milliseconds; `null`: no further attempt. */
const pauseBefore = (call: ConnectedCall, attempts: number, failure: ProviderFailure) =>
  Effect.map(Random.next, (random) => {
    // The connection's owner applies the provider's own retry-after when it authorises the next attempt.
    const rested = { ...failure, retryAfterMillis: null }
    const isRetried = call.retries === "all" || (call.retries === "refusals" && isNotTaken(failure))
    return isRetried ? retryPause(call.definition.retry, attempts, rested, random) : null
  })

const make = Effect.gen(function* () {
  const { openOnce, renewCredential, sendOnce } = yield* makeCallAttempts

  /** Sends a call, again after failures that its definition retries. `onAttempt` hears of each attempt. */
  const send = Effect.fnUntraced(function* <A>(
    call: ConnectedCall,
    read: (answer: ProviderAnswer, now: number) => Effect.Effect<Either.Either<A, ProviderFailure>>,
    onAttempt: (attempt: Attempt) => void = () => undefined
  ): Effect.fn.Return<A, CallFailed, AnswerHolding> {
    let renewals = 0
    for (let attempts = call.earlierAttempts; ;) {
      const startedAt = yield* Clock.currentTimeMillis
      const { permit, result, shortSecrets } = yield* sendOnce(call, attempts, (answer) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => read(answer, now))
      )
      const finishedAt = yield* Clock.currentTimeMillis
      onAttempt({ startedAt, finishedAt, failure: Either.isLeft(result) ? result.left : null, shortSecrets })
      if (Either.isRight(result)) return result.right
      const failure = result.left
      const isRefused = failure.status === 401 && failure.isFinal !== true
      if (isRefused && renewals < maxRenewals && (yield* renewCredential(call, permit))) {
        renewals += 1
        continue
      }
      attempts += 1
      const pause = yield* pauseBefore(call, attempts, failure)
      if (pause === null) {
        // A workflow gets what the provider answered, and its run hides the secrets in records.
        const told = call.executionId === null ? withoutSecrets(failure, shortSecrets) : failure
        return yield* Effect.fail<ProviderRefused>({ _tag: "ProviderRefused", failure: told })
      }
      yield* Effect.sleep(Duration.millis(pause))
    }
  })

  /** Opens a streamed call, again after failures that may be retried. */
  const open = Effect.fnUntraced(function* (
    call: ConnectedCall & Pick<OpenRequest, "stall" | "upload">,
    failureOf: (answer: ProviderHead, now: number) => ProviderFailure | null
  ): Effect.fn.Return<OpenResponse, CallFailed> {
    let renewals = 0
    for (let attempts = call.earlierAttempts; ;) {
      const outcome = yield* openOnce(call, attempts)
      if (Either.isRight(outcome) && outcome.right.answer.status === 401 && renewals < maxRenewals) {
        const { answer, permit, settled } = outcome.right
        if (yield* renewCredential(call, permit)) {
          renewals += 1
          answer.cancel()
          yield* settled
          continue
        }
      }
      attempts += 1
      const now = yield* Clock.currentTimeMillis
      const failure = Either.isLeft(outcome) ? outcome.left : failureOf(outcome.right.answer, now)
      const pause = failure === null ? null : yield* pauseBefore(call, attempts, failure)
      if (Either.isRight(outcome)) {
        const { answer, settled } = outcome.right
        if (pause === null) return answer
        answer.cancel()
        yield* settled
      } else if (pause === null) {
        return yield* Effect.fail<ProviderRefused>({ _tag: "ProviderRefused", failure: outcome.left })
      }
      yield* Effect.sleep(Duration.millis(pause))
    }
  })

  return ConnectedCalls.of({ send, open })
})

const withoutSecrets = (failure: ProviderFailure, secrets: Attempt["shortSecrets"]): ProviderFailure => {
  if (secrets.length === 0) return failure
  const { scrubJson, scrubText } = makeScrubber(secrets.map((secret) => Redacted.value(secret)))
  const { body, code, message } = failure
  return {
    ...failure,
    message: scrubText(message),
    code: code === null ? null : scrubText(code),
    body: scrubJson(body)
  }
}

export const layer = Layer.effect(ConnectedCalls, make)

const isNotTaken = (failure: ProviderFailure): boolean => isLimitRefusal(failure) || failure.status === 503
