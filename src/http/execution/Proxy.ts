/**
 * Any request of a provider's own API through a customer's connection: the credential is put in, limits and retries
 * are the connector's, and the provider's answer comes back as it is. Specification: Surface A; contract: proxy.
 *
 * The answer streams: its pieces go on as they come, as fast as the caller takes them, up to the cap; nothing is tried
 * again once its head was sent. The request's body goes to the provider as it comes in, and again from its beginning
 * where the request is tried again. It is read whole before anything is sent where it is small or of a length that was
 * not told, which many providers do not take, and where a credential belongs into it or a signature is made over it.
 */
import { Clock, Duration, Effect, Either, Option } from "effect"
import { type CallFailed, type ConnectedCall, ConnectedCalls } from "../../actors/ports/ConnectedCalls.js"
import { ConnectionReads, type CallableConnection } from "../../actors/ports/ConnectionReads.js"
import { Connectors } from "../../actors/ports/Connectors.js"
import type { OpenRequest, OpenResponse } from "../../actors/ports/Egress.js"
import type { RetryRule } from "../../domain/connector/Definition.js"
import { needsBody, passedBack, passedOn } from "../../domain/connector/Passage.js"
import { headerOf, type ProviderFailure, type ProviderHead } from "../../domain/connector/ProviderAnswer.js"
import { retryAfterAt } from "../../domain/connector/RateHeaders.js"
import {
  ConnectionInactive,
  ConnectionRequired,
  type Failure,
  InvalidRequest,
  ProviderFailed,
  ProviderLimited,
  ProviderTimedOut
} from "../../domain/Failure.js"
import { bodyBytes, connectedCall } from "../../domain/Limits.js"
import { type ActingFor, make as makeActingFor } from "../auth/ActingFor.js"
import { missingPermission, outOfScope, type Principal } from "../../actors/management/Caller.js"
import type { Exchange } from "../pipeline/Exchange.js"
import type { RawReply, RequestHead } from "../Wire.js"
import type { Arriving } from "./BufferedBody.js"

export const proxyPrefix = "/api/v1/proxy/"

/** How long a caller waits for a provider's rate limit before it is told to come again. */
const patienceMillis = 5_000
/** How long nothing of an answer's body may move: it does not come, or its caller does not take it. */
const stall = Duration.seconds(30)
/** What can be repeated without harm. */
const harmless = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])

const badHeader = (message: string) => new InvalidRequest({ code: "INVALID_HEADER", message })

/** A success, or a status that the rule does not name, is the caller's to read; another may come out better next time. */
const again =
  ({ on }: RetryRule) =>
  (answer: ProviderHead, now: number): ProviderFailure | null => {
    if (!on.includes(answer.status)) return null
    const at = retryAfterAt(headerOf(answer.headers, "retry-after"), now)
    return {
      category: "transient",
      status: answer.status,
      message: `HTTP ${answer.status}`,
      code: null,
      body: null,
      retryAfterMillis: at === null ? null : Math.max(0, at - now)
    }
  }

/** An installation has a connection for each of its connectors: of these the one to the connector that is named. */
const chosenFor = (
  { connections, installation }: ActingFor,
  slug: string | undefined
): Effect.Effect<ActingFor["connections"], ConnectionRequired> => {
  if (connections === null || slug === undefined || (installation?.id ?? null) === null)
    return Effect.succeed(connections)
  const own = connections.filter(({ connector }) => connector === slug)
  return own.length > 0
    ? Effect.succeed(own)
    : new ConnectionRequired({ connector: slug, message: `no connection to ${slug}: the installation has none` })
}

export const make = Effect.gen(function* () {
  const { actingFor } = yield* makeActingFor
  const calls = yield* ConnectedCalls
  const connections = yield* ConnectionReads
  const connectors = yield* Connectors

  // --- Which connection ---

  const connectionOf = Effect.fnUntraced(function* (
    caller: Principal,
    request: RequestHead,
    acting: ActingFor
  ): Effect.fn.Return<CallableConnection, Failure> {
    const { customer, userId } = acting
    const slug = request.headers["x-svc-connector"]
    const chosen = yield* chosenFor(acting, slug)
    if (chosen !== null && chosen.length !== 1) return yield* badHeader("x-svc-connections names one connection here")
    const [one] = chosen ?? []
    if (one === undefined && (slug === undefined || slug === "")) {
      return yield* badHeader(
        "name the connection in x-svc-connections, or its connector in x-svc-connector and the customer in x-end-org-id"
      )
    }
    const wanted = one?.connector ?? slug ?? ""
    const found = yield* connections.find({
      organisationId: caller.organisationId,
      customerId: customer?.id ?? null,
      userId,
      slug: wanted,
      named: one?.id ?? null
    })
    if (Option.isNone(found)) {
      const who = customer === null ? "the request names no customer" : `customer ${customer.id} has not connected it`
      return yield* new ConnectionRequired({ connector: wanted, message: `no connection to ${wanted}: ${who}` })
    }
    const scope = outOfScope(caller, "connection", found.value.id) ?? outOfScope(caller, "connector", wanted)
    return scope === undefined ? found.value : yield* scope
  })

  const definitionOf = (caller: Principal, { connector, connectorVersion }: CallableConnection) =>
    Effect.flatMap(
      connectors.find(caller.organisationId, connector, connectorVersion),
      Option.match({
        onNone: () => new ConnectionRequired({ connector, message: `the connector ${connector} is gone` }),
        onSome: Effect.succeed
      })
    )

  // --- The call ---

  const failureOf =
    (connector: string, now: number) =>
    (failed: CallFailed): Failure => {
      switch (failed._tag) {
        case "Postponed":
          return new ProviderLimited({ connector, retryAfterSeconds: Math.max(1, Math.ceil((failed.at - now) / 1000)) })
        case "ProviderRefused": {
          const { body, category, message, status } = failed.failure
          return category === "timeout"
            ? new ProviderTimedOut({ connector, message })
            : new ProviderFailed({ connector, status, body, message })
        }
        case "ConnectionNotActive":
          return new ConnectionInactive({ message: failed.message })
        case "NotFound":
          return new ConnectionRequired({ connector, message: "the connection is gone" })
        case "Unavailable":
          return failed
      }
    }

  /** Waits out a short limit of the provider; a longer one is the caller's to wait for. */
  const called = Effect.fnUntraced(function* (
    call: Omit<ConnectedCall, "earlierAttempts"> & Pick<OpenRequest, "upload">
  ): Effect.fn.Return<OpenResponse, CallFailed> {
    for (let made = 0; ;) {
      const outcome = yield* Effect.either(
        calls.open({ ...call, earlierAttempts: made, stall }, again(call.definition.retry))
      )
      if (Either.isRight(outcome)) return outcome.right
      const failed = outcome.left
      if (failed._tag !== "Postponed") return yield* Effect.fail(failed)
      const pause = failed.at - (yield* Clock.currentTimeMillis)
      if (pause > patienceMillis) return yield* Effect.fail(failed)
      yield* Effect.sleep(Duration.millis(Math.max(0, pause)))
      made = failed.made
    }
  })

  const timeoutOf = (request: RequestHead): Either.Either<number, InvalidRequest> => {
    const text = request.headers["x-svc-timeout-ms"]
    if (text === undefined || text === "") return Either.right(connectedCall.proxyMillis)
    const asked = /^\d{1,6}$/.test(text) ? Number(text) : 0
    return asked >= 1 && asked <= connectedCall.proxyMillis
      ? Either.right(asked)
      : Either.left(
          badHeader(`x-svc-timeout-ms is a whole number of milliseconds from 1 to ${connectedCall.proxyMillis}`)
        )
  }

  const passed = Effect.fnUntraced(function* (exchange: Exchange, body: Arriving): Effect.fn.Return<RawReply, Failure> {
    const { caller, request } = exchange
    exchange.subject = { type: "connection", id: null, name: null }
    const lacks = missingPermission(caller, "connections:read")
    if (lacks !== undefined) return yield* lacks
    const timeoutMillis = yield* timeoutOf(request)
    const connection = yield* connectionOf(caller, request, yield* actingFor(caller, request, "connection"))
    exchange.subject = { type: "connection", id: connection.id, name: connection.connector }
    exchange.customerId = connection.customerId
    const definition = yield* definitionOf(caller, connection)
    const upload = needsBody(definition) ? undefined : body.upload()
    const made = passedOn(definition, connection.config, {
      method: request.method,
      target: request.target.slice(proxyPrefix.length),
      headers: request.headers,
      body: upload === undefined ? yield* body.whole : null,
      timeoutMillis
    })
    if (Either.isLeft(made)) {
      const { message, path } = made.left
      return yield* new InvalidRequest({ code: "INVALID_REQUEST", message: `${path} ${message}` })
    }
    const unsigned = made.right
    const sent = called({
      organisationId: caller.organisationId,
      connectionId: connection.id,
      executionId: null,
      definition,
      request: unsigned,
      upload,
      maxBytes: bodyBytes.unified,
      retries:
        harmless.has(unsigned.method) || unsigned.headers.some(([name]) => name === "idempotency-key")
          ? "all"
          : "refusals"
    })
    const outcome = Effect.catchAll(sent, (failed) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.fail(failureOf(connection.connector, now)(failed)))
    )
    // A body that breaks off ends the call, whatever the provider makes of it.
    const answer = yield* upload === undefined ? outcome : Effect.raceFirst(outcome, upload.lost)
    upload?.settle()
    exchange.changes = [{ path: "status", before: null, after: String(answer.status) }]
    return {
      status: answer.status,
      headers: { ...passedBack(answer.headers), "x-svc-connection-id": connection.id },
      body: { pieces: answer.body, cancel: answer.cancel }
    }
  })

  /** Handles an exchange of any request below `/api/v1/proxy/`. `body`: what comes in of it; where it breaks off, the audit entry says so. */
  const proxy = (exchange: Exchange, body: Arriving): Effect.Effect<RawReply, Failure> =>
    Effect.tapError(passed(exchange, body), (failure) =>
      Effect.sync(() => {
        if (failure._tag === "InvalidRequest" && body.broke(failure))
          exchange.changes = [{ path: "body", before: null, after: failure.message }]
      })
    )

  return { proxy }
})
