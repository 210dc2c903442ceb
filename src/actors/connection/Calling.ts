/** The port `ConnectedCalls` over the connections' actors and the egress. */
import { Clock, Duration, Effect, Either, Layer, Random } from "effect"
import {
  type Attempt,
  type CallFailed,
  type ConnectedCall,
  ConnectedCalls,
  type Postponed,
  type ProviderRefused
} from "../ports/ConnectedCalls.js"
import { ConnectedEgress, type GrantRefused } from "../ports/ConnectedEgress.js"
import { type ConnectionNotActive, Connections } from "../ports/Connections.js"
import type { EgressFailure } from "../ports/Egress.js"
import type { ProviderAnswer, ProviderFailure } from "../../domain/connector/ProviderAnswer.js"
import { rateReading } from "../../domain/connector/RateHeaders.js"
import { retryAfter } from "../../domain/connector/Retry.js"
import type { NotFound, Unavailable } from "../../domain/Failure.js"

const make = Effect.gen(function* () {
  const connections = yield* Connections
  const egress = yield* ConnectedEgress

  const once = Effect.fnUntraced(function* (
    call: ConnectedCall,
    made: number
  ): Effect.fn.Return<
    Either.Either<ProviderAnswer, ProviderFailure>,
    Postponed | ConnectionNotActive | NotFound | Unavailable
  > {
    const { connectionId, definition, executionId, maxBytes, organisationId, request } = call
    const where = { organisationId, connectionId }
    const authorization = yield* connections.authorize({
      ...where,
      origin: request.origin,
      executionId,
      timeoutMillis: request.timeoutMillis
    })
    if (authorization._tag === "WaitUntil") {
      return yield* Effect.fail<Postponed>({ _tag: "Postponed", at: authorization.at, why: authorization.why, made })
    }
    const { grant, permit } = authorization
    const sent = egress.send({ ...request, ...where, grant, executionId, maxBytes })
    // Whatever becomes of the request, its permit goes back.
    const settled = Effect.onExit(Effect.either(sent), (exit) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const answer = exit._tag === "Success" ? Either.getOrUndefined(exit.value) : undefined
        const reading = answer === undefined ? null : rateReading(definition, answer.headers, now)
        return connections.settle({ ...where, permit, status: answer?.status ?? null, reading })
      })
    )
    return Either.mapLeft(yield* settled, unanswered)
  })

  const send = Effect.fnUntraced(function* <A>(
    call: ConnectedCall,
    read: (answer: ProviderAnswer, now: number) => Either.Either<A, ProviderFailure>,
    told: (attempt: Attempt) => void = () => undefined
  ): Effect.fn.Return<A, CallFailed> {
    for (let made = call.made; ;) {
      const startedAt = yield* Clock.currentTimeMillis
      const answer = yield* once(call, made)
      made += 1
      const finishedAt = yield* Clock.currentTimeMillis
      const result = Either.flatMap(answer, (found) => read(found, finishedAt))
      told({ startedAt, finishedAt, failure: Either.isLeft(result) ? result.left : null })
      if (Either.isRight(result)) return result.right
      const failure = result.left
      // When the provider names a time, the connection's owner knows it and postpones the next attempt.
      const rested = { ...failure, retryAfterMillis: null }
      const again = call.retries === "all" || (call.retries === "refusals" && notTaken(failure))
      const pause = again ? retryAfter(call.definition.retry, made, rested, yield* Random.next) : null
      if (pause === null) return yield* Effect.fail<ProviderRefused>({ _tag: "ProviderRefused", failure })
      yield* Effect.sleep(Duration.millis(pause))
    }
  })

  return ConnectedCalls.of({ send })
})

export const layer = Layer.effect(ConnectedCalls, make)

// --- Private ---

const notTaken = ({ status }: ProviderFailure): boolean => status === 429 || status === 503

/** Nobody answered, or not in a way that can be read. */
const unanswered = (error: EgressFailure | GrantRefused): ProviderFailure => {
  const failed = (category: ProviderFailure["category"], code: string, message: string): ProviderFailure => ({
    category,
    status: null,
    message,
    code,
    body: null,
    retryAfterMillis: null
  })
  switch (error._tag) {
    case "EgressTimedOut":
      return failed("timeout", "TIMED_OUT", `the provider did not answer within ${error.afterMillis} ms`)
    case "EgressUnreachable":
      return failed("transient", "UNREACHABLE", `the provider cannot be reached: ${error.reason}`)
    case "EgressBlocked":
      return failed("provider", "BLOCKED", `the provider's address may not be called: ${error.reason}`)
    case "EgressTooLarge":
      return failed("provider", "TOO_LARGE", `the provider's answer has more than ${error.limitBytes} bytes`)
    case "GrantRefused":
      return failed("transient", "GRANT_REFUSED", `the call was not sent: ${error.reason}`)
  }
}
