/**
 * Forwards any request to a provider's own API through a customer's connection: adds the credential, applies the
 * connector's limits and retries, and returns the provider's answer unchanged. Specification: Surface A; contract: proxy.
 *
 * The answer streams with back-pressure up to its cap and is not retried once its head was sent. The request's body
 * streams too and is replayed on a retry. It is read whole first if it is small, if its length is unknown (which many
 * providers refuse), or if a credential or a signature needs it.
 */
import { Clock, Duration, Effect, Either, Option } from "effect"
import { type CallFailed, type ConnectedCall, ConnectedCalls } from "../../actors/ports/connection/ConnectedCalls.js"
import { makeConnectionChoice } from "../../actors/ports/connection/ConnectionChoice.js"
import type { CallableConnection } from "../../actors/ports/connection/ConnectionReads.js"
import { Connectors } from "../../actors/ports/connection/Connectors.js"
import type { OpenRequest, OpenResponse } from "../../actors/ports/Egress.js"
import type { RetryRule } from "../../domain/connector/Definition.js"
import { needsWholeBody, forwardedHeaders, buildProxyRequest } from "../../domain/connector/request/ProxyRequest.js"
import { headerOf, type ProviderFailure, type ProviderHead } from "../../domain/connector/request/ProviderAnswer.js"
import { retryAfterAt } from "../../domain/connector/request/RateReading.js"
import { ConnectionRequired, type Failure, InvalidRequest, refuseWith } from "../../domain/Failure.js"
import { bodyBytes, connectedCall } from "../../domain/Limits.js"
import { type CustomerContext, make as makeCustomerContext } from "../../actors/management/access/CustomerContext.js"
import { missingPermission, outOfScope, type Principal } from "../../actors/management/Caller.js"
import type { Exchange } from "../pipeline/Exchange.js"
import type { RawReply, RequestHead } from "../Wire.js"
import type { BufferedBody } from "./BufferedBody.js"
import { answerCallFailures } from "../../actors/management/unified/ProviderFailures.js"

/** The path below which everything is forwarded. */
export const proxyPrefix = "/api/v1/proxy/"

/** The longest wait for a provider's rate limit; beyond it the caller is answered 429. */
const maxRateLimitWaitMillis = 5_000
/** A body that makes no progress for this long is cut off, whether provider or caller stalls. */
const stallTimeout = Duration.seconds(30)
/** Methods that are retried without an Idempotency-Key. */
const idempotentMethods = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])

const badHeader = (message: string) => new InvalidRequest({ code: "INVALID_HEADER", message })

/** The failure of an answer whose status the rule retries; null for one that is returned to the caller. */
const retryableFailure =
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

/** The connections that may be used; of an installation, only those to the connector that the request names. */
const connectionsFor = ({ connections, installation }: CustomerContext, slug: string | undefined) => {
  if (connections === null || slug === undefined || (installation?.id ?? null) === null)
    return Effect.succeed(connections)
  const own = connections.filter(({ connector }) => connector === slug)
  return own.length > 0
    ? Effect.succeed(own)
    : new ConnectionRequired({ connector: slug, message: `no connection to ${slug}: the installation has none` })
}

/** Makes the call; waits for a rate limit of the provider if the wait is short. */
const openAfterShortLimits = Effect.fnUntraced(function* (
  calls: ConnectedCalls["Type"],
  call: Omit<ConnectedCall, "earlierAttempts"> & Pick<OpenRequest, "upload">
): Effect.fn.Return<OpenResponse, CallFailed> {
  for (let made = 0; ;) {
    const outcome = yield* Effect.either(
      calls.open({ ...call, earlierAttempts: made, stall: stallTimeout }, retryableFailure(call.definition.retry))
    )
    if (Either.isRight(outcome)) return outcome.right
    const failed = outcome.left
    if (failed._tag !== "Postponed") return yield* Effect.fail(failed)
    const pause = failed.at - (yield* Clock.currentTimeMillis)
    if (pause > maxRateLimitWaitMillis) return yield* Effect.fail(failed)
    yield* Effect.sleep(Duration.millis(Math.max(0, pause)))
    made = failed.made
  }
})

/** The timeout in `x-svc-timeout-ms`, in milliseconds. */
export const timeoutOf = (request: RequestHead): Either.Either<number, InvalidRequest> => {
  const text = request.headers["x-svc-timeout-ms"]
  if (text === undefined || text === "") return Either.right(connectedCall.proxyMillis)
  const millis = /^\d{1,6}$/.test(text) ? Number(text) : 0
  return millis >= 1 && millis <= connectedCall.proxyMillis
    ? Either.right(millis)
    : Either.left(
        badHeader(`x-svc-timeout-ms must be a whole number of milliseconds from 1 to ${connectedCall.proxyMillis}`)
      )
}

export const make = Effect.gen(function* () {
  const { resolveContext } = yield* makeCustomerContext
  const calls = yield* ConnectedCalls
  const chooseConnection = yield* makeConnectionChoice
  const connectors = yield* Connectors

  // --- The connection ---

  const connectionOf = Effect.fnUntraced(function* (caller: Principal, request: RequestHead, context: CustomerContext) {
    const { customer, userId } = context
    const slug = request.headers["x-svc-connector"]
    const allowed = yield* connectionsFor(context, slug)
    if (allowed !== null && allowed.length !== 1)
      return yield* badHeader("x-svc-connections must name exactly one connection here")
    const [one] = allowed ?? []
    if (one === undefined && (slug === undefined || slug === "")) {
      return yield* badHeader(
        "x-svc-connections must name the connection, or x-svc-connector its connector and x-end-org-id the customer"
      )
    }
    const connectorSlug = one?.connector ?? slug ?? ""
    const { organisationId } = caller
    const user = { organisationId, customerId: customer?.id ?? null, userId, allowed }
    const found = yield* chooseConnection(user, connectorSlug, one?.id ?? null)
    if (Option.isNone(found)) {
      const who = customer === null ? "the request names no customer" : `customer ${customer.id} has not connected it`
      return yield* new ConnectionRequired({
        connector: connectorSlug,
        message: `no connection to ${connectorSlug}: ${who}`
      })
    }
    const scope = outOfScope(caller, "connection", found.value.id) ?? outOfScope(caller, "connector", connectorSlug)
    return scope === undefined ? found.value : yield* scope
  })

  const definitionOf = (caller: Principal, { connector, connectorVersion }: CallableConnection) =>
    Effect.flatMap(
      connectors.find(caller.organisationId, connector, connectorVersion),
      Option.match({
        onNone: () => new ConnectionRequired({ connector, message: `the connector ${connector} was deleted` }),
        onSome: Effect.succeed
      })
    )

  // --- The call ---

  const forward = Effect.fnUntraced(function* (exchange: Exchange, body: BufferedBody) {
    const { caller, request } = exchange
    exchange.subject = { type: "connection", id: null, name: null }
    yield* refuseWith(missingPermission(caller, "connections:read"))
    const timeoutMillis = yield* timeoutOf(request)
    const connection = yield* connectionOf(caller, request, yield* resolveContext(caller, request, "connection"))
    exchange.subject = { type: "connection", id: connection.id, name: connection.connector }
    exchange.customerId = connection.customerId
    const definition = yield* definitionOf(caller, connection)
    const upload = needsWholeBody(definition) ? undefined : body.upload()
    const built = buildProxyRequest(definition, connection.config, {
      method: request.method,
      target: request.target.slice(proxyPrefix.length),
      headers: request.headers,
      body: upload === undefined ? yield* body.readAll : null,
      timeoutMillis
    })
    if (Either.isLeft(built)) {
      const { message, path } = built.left
      return yield* new InvalidRequest({ code: "INVALID_REQUEST", message: `${path} ${message}` })
    }
    const unsigned = built.right
    const opening = openAfterShortLimits(calls, {
      organisationId: caller.organisationId,
      connectionId: connection.id,
      executionId: null,
      definition,
      request: unsigned,
      upload,
      maxBytes: bodyBytes.unified,
      retries:
        idempotentMethods.has(unsigned.method) || unsigned.headers.some(([name]) => name === "idempotency-key")
          ? "all"
          : "refusals"
    })
    const outcome = answerCallFailures(
      connection.connector,
      Effect.catchTag(
        opening,
        "NotFound",
        () => new ConnectionRequired({ connector: connection.connector, message: "the connection was deleted" })
      )
    )
    // A body that breaks off fails the call, also when the provider has answered already.
    const answer = yield* upload === undefined ? outcome : Effect.raceFirst(outcome, upload.aborted)
    upload?.stopReplaying()
    exchange.changes = [{ path: "status", before: null, after: String(answer.status) }]
    return {
      status: answer.status,
      headers: { ...forwardedHeaders(definition, answer.headers), "x-svc-connection-id": connection.id },
      body: { pieces: answer.body, cancel: answer.cancel }
    }
  })

  /** Handles any request below `/api/v1/proxy/`. An incomplete body is recorded in the audit entry. */
  const proxy = (exchange: Exchange, body: BufferedBody): Effect.Effect<RawReply, Failure> =>
    Effect.tapError(forward(exchange, body), (failure) =>
      Effect.sync(() => {
        if (failure._tag === "InvalidRequest" && body.isAbortedWith(failure))
          exchange.changes = [{ path: "body", before: null, after: failure.message }]
      })
    )

  return { proxy }
})
