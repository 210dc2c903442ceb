/** One attempt of a call through a connection: authorised at the connection's actor, sent by the egress, settled once. */
import { Clock, Context, Data, Duration, Effect, Either, Fiber, Option, type Redacted } from "effect"
import type { ConnectedCall, Postponed } from "../ports/connection/ConnectedCalls.js"
import { type CallPermit, type ConnectionNotActive, Connections } from "../ports/connection/Connections.js"
import type { AnswerHolding } from "../ports/HeldBytes.js"
import type { EgressFailure, OpenRequest, OpenResponse, EgressResponse } from "../ports/Egress.js"
import type { ProviderAnswer, ProviderFailure, ProviderHead } from "../../domain/connector/request/ProviderAnswer.js"
import { ignoredReset, readRateHeaders } from "../../domain/connector/request/RateReading.js"
import type { NotFound, Unavailable } from "../../domain/Failure.js"
import { connectedCall } from "../../domain/Limits.js"
import type { UnsignedRequest } from "../../domain/connector/request/UnsignedRequest.js"
import type { ConnectionId, ExecutionId, OrganisationId } from "../../domain/Ids.js"

/** The grant is not for this request or has expired; nothing was sent. */
export class GrantRefused extends Data.TaggedError("GrantRefused")<{ readonly reason: string }> {}

/** A request with its sealed credential. `grant` serves this request once. */
export interface ConnectedRequest extends UnsignedRequest {
  readonly grant: Uint8Array
  readonly organisationId: OrganisationId
  readonly connectionId: ConnectionId
  readonly executionId: ExecutionId | null
  /** Largest response body, in bytes after decompression. */
  readonly maxBytes: number
}

/** The answer, without the credential if that is long enough not to occur in it by chance. */
export interface ConnectedResponse extends EgressResponse {
  /** Secrets of the credential that the answer may contain, since they are too short to be removed: records hide them. */
  readonly shortSecrets: ReadonlyArray<Redacted.Redacted>
}

/** Sends requests with a connection's credential. Grants are opened here only. */
export class ConnectedEgress extends Context.Tag("svc/ConnectedEgress")<
  ConnectedEgress,
  {
    /**
     * Adds the credential and sends the request. A redirect to another origin gets no credential and no header that could
     * be one. A credential of at least twelve characters is redacted from the answer if the provider echoes it.
     */
    readonly send: (
      request: ConnectedRequest
    ) => Effect.Effect<ConnectedResponse, EgressFailure | GrantRefused, AnswerHolding>
    /**
     * The same, but returns with the answer's head; its timeout is for the head, `stall` for the body. Refuses an `upload`
     * when the credential must sign or change the body.
     */
    readonly open: (
      request: ConnectedRequest & Pick<OpenRequest, "stall" | "upload">
    ) => Effect.Effect<OpenResponse, EgressFailure | GrantRefused>
  }
>() {}

/** Longest time of a streamed call. Its permit lasts as long, so that the provider's concurrency limit holds. */
const longestStream = Duration.millis(connectedCall.longestMillis)

type NotBegun = Postponed | ConnectionNotActive | NotFound | Unavailable

interface BegunAttempt {
  readonly request: ConnectedRequest
  readonly permit: CallPermit
  /** Settles the permit; call it once. `null`: there was no answer. */
  readonly settle: (answer: ProviderHead | null, final?: boolean) => Effect.Effect<void>
}

export const makeCallAttempts = Effect.gen(function* () {
  const connections = yield* Connections
  const egress = yield* ConnectedEgress

  /** Gets a grant and a permit. Fails with `Postponed` when the call must wait for a limit or for a refresh. */
  const beginAttempt = Effect.fnUntraced(function* (
    call: ConnectedCall,
    attempts: number,
    permitMillis: number
  ): Effect.fn.Return<BegunAttempt, NotBegun> {
    const { anyOrigin, connectionId, definition, executionId, maxBytes, organisationId, request } = call
    const where = { organisationId, connectionId }
    const answer = yield* connections.authorize({
      ...where,
      origin: request.origin,
      executionId,
      timeoutMillis: permitMillis,
      ...(anyOrigin === undefined ? {} : { anyOrigin })
    })
    if (answer._tag === "WaitUntil")
      return yield* Effect.fail<Postponed>({ _tag: "Postponed", at: answer.at, why: answer.why, made: attempts })
    const { grant, permit } = answer
    return {
      request: { ...request, ...where, grant, executionId, maxBytes },
      permit,
      settle: (answer, final = false) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const reading = answer === null ? null : readRateHeaders(definition, answer.headers, now)
          const header = reading === null ? undefined : ignoredReset(definition, answer?.headers ?? [], reading)
          const warning =
            header === undefined
              ? Effect.void
              : Effect.annotateLogs(Effect.logWarning("connection.rate_reset_ignored"), {
                  connectionId,
                  connector: definition.slug,
                  header
                })
          return Effect.zipRight(
            warning,
            connections.settle({ ...where, permit, status: answer?.status ?? null, final, reading })
          )
        })
    }
  })

  /** Sends the request once and reads its answer. */
  const sendOnce = Effect.fnUntraced(function* <A>(
    call: ConnectedCall,
    attempts: number,
    read: (answer: ProviderAnswer) => Effect.Effect<Either.Either<A, ProviderFailure>>
  ): Effect.fn.Return<
    {
      readonly permit: CallPermit
      readonly result: Either.Either<A, ProviderFailure>
      readonly shortSecrets: ConnectedResponse["shortSecrets"]
    },
    NotBegun,
    AnswerHolding
  > {
    const { permit, request, settle } = yield* beginAttempt(call, attempts, call.request.timeoutMillis)
    // The permit is settled also when the request fails or is interrupted.
    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const answer = yield* restore(Effect.either(egress.send(request))).pipe(Effect.onError(() => settle(null)))
        if (Either.isLeft(answer)) {
          yield* settle(null)
          return { permit, result: Either.left(noAnswerFailure(answer.left)), shortSecrets: [] }
        }
        const result = yield* Effect.onError(read(answer.right), () => settle(answer.right))
        yield* settle(answer.right, Either.isLeft(result) && result.left.isFinal === true)
        return { permit, result, shortSecrets: answer.right.shortSecrets }
      })
    )
  })

  /** Whether a refused request can be sent again with a newer credential. */
  const renewCredential = ({ connectionId, organisationId }: ConnectedCall, permit: CallPermit) =>
    Effect.orElseSucceed(connections.renewRefused({ organisationId, connectionId, permit }), () => false)

  /** Opens a streamed answer. Its permit is settled when the body has ended; `settled` waits for that. */
  const openOnce = Effect.fnUntraced(function* (
    call: ConnectedCall & Pick<OpenRequest, "stall" | "upload">,
    attempts: number
  ): Effect.fn.Return<
    Either.Either<
      { readonly answer: OpenResponse; readonly permit: CallPermit; readonly settled: Effect.Effect<unknown> },
      ProviderFailure
    >,
    NotBegun
  > {
    const longest = Duration.toMillis(longestStream)
    const overAt = (yield* Clock.currentTimeMillis) + longest
    const { permit, request, settle } = yield* beginAttempt(call, attempts, longest)
    const sent = egress.open({ ...request, stall: call.stall, upload: call.upload }).pipe(
      Effect.either,
      Effect.onExit((exit) => (exit._tag === "Failure" || Either.isLeft(exit.value) ? settle(null) : Effect.void))
    )
    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const result = yield* restore(sent)
        if (Either.isLeft(result)) return Either.left(noAnswerFailure(result.left))
        const answer = result.right
        const left = overAt - (yield* Clock.currentTimeMillis)
        const over = Effect.flatMap(
          Effect.timeoutOption(Effect.interruptible(answer.ended), Duration.millis(Math.max(0, left))),
          (ended) => (Option.isSome(ended) ? Effect.void : Effect.zipRight(Effect.sync(answer.cancel), answer.ended))
        )
        const settling = yield* Effect.forkDaemon(Effect.zipRight(over, settle(answer)))
        return Either.right({ answer, permit, settled: Fiber.await(settling) })
      })
    )
  })

  return { sendOnce, renewCredential, openOnce }
})

/** The failure of a call without a readable answer. */
const noAnswerFailure = (error: EgressFailure | GrantRefused): ProviderFailure => {
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
    case "EgressNoMemory":
      return failed(
        "transient",
        "MEMORY_BUSY",
        "the service had no memory for the provider's answer: ask for less at once"
      )
    case "EgressBusy":
      return failed("transient", "NO_CONNECTION", `the call was not sent: ${error.reason}`)
    case "GrantRefused":
      return failed("transient", "GRANT_REFUSED", `the call was not sent: ${error.reason}`)
  }
}
