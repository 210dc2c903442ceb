/**
 * The pipeline of every request with a key: authenticate, rate-limit, check permission and scope, narrow to the named
 * customer, parse the body, answer repetitions, handle, audit, translate failures. The route table says what a route
 * needs. No client input is answered with 5xx.
 */
import { Cause, Effect, Either, Option } from "effect"

import { type Principal } from "../../actors/management/Caller.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { type Admission, RateLimits } from "../../actors/ports/organisation/RateLimits.js"
import { type Failure, InvalidRequest, NotFound } from "../../domain/Failure.js"
import type { RequestId } from "../../domain/Ids.js"
import { sessionsCeiling } from "../../domain/access/EmbedSession.js"
import { bodyBytes } from "../../domain/Limits.js"
import { make as makeAuthentication } from "../auth/Authentication.js"
import { readRecord } from "../JsonBody.js"
import { rateLimitHeaders, failureRateLimitHeaders } from "../RateLimitHeaders.js"
import { defectRow, errorReply, failureReply, isFailure } from "../ErrorRows.js"
import { type LazyRequest, pathOf, type RawReply, type RawRequest, type RequestHead } from "../Wire.js"
import { largeBody, pauseForOthers } from "./EventLoop.js"
import { Exchange } from "./Exchange.js"
import { headerRefusal, refusalOf } from "./Guards.js"
import { make as makeIdempotency } from "./Idempotency.js"
import { make as makeCustomerNarrowing } from "./NamedCustomer.js"
import { makeExchangeAudit } from "./ExchangeAudit.js"
import type { Route } from "./Routes.js"

/** How a surface differs from the others. */
export interface SurfaceRules {
  /** The headers that the pipeline sees of those that were sent. */
  readonly selectHeaders: (sent: RequestHead["headers"]) => RequestHead["headers"]
  /** Whether the service's own pages may call, with the session of a person. */
  readonly isOpenToPages?: boolean
  /** Whether its clients know a URL only, and so cannot send the header that Test keys need elsewhere. */
  readonly isKnownByUrl?: boolean
  /** How to send the key on this surface, for error messages; `undefined`: in either of two headers. */
  readonly keyHint?: string
  /** The failure if a header is missing that this surface requires besides the key. */
  readonly missingHeader: (request: RequestHead) => Failure | undefined
  readonly failureReply: typeof failureReply
  readonly errorReply: typeof errorReply
}

/** The rules of surfaces A and C. */
export const defaultRules: SurfaceRules = {
  selectHeaders: (sent) => sent,
  isOpenToPages: true,
  missingHeader: () => undefined,
  failureReply: failureReply,
  errorReply: errorReply
}

/** A request with its route. */
export interface Routed {
  readonly rules: SurfaceRules
  readonly route: Route
  /** The parameters of the path, as sent. */
  readonly params: { readonly [name: string]: string }
  /** The body is read only if a signature covers it or the route's form says so. */
  readonly request: LazyRequest
  /** The exchange that this request is a part of: its caller was authenticated and counted there, and is not again. */
  readonly partOf?: Exchange
}

/** The version in `If-Match`; `undefined`: any version. Left: it is none. */
const expectedVersion = ({ headers }: RequestHead): Either.Either<number | undefined, InvalidRequest> => {
  const header = headers["if-match"]
  if (header === undefined || header === "" || header === "*") return Either.right(undefined)
  const match = /^(?:W\/)?"?(\d{1,9})"?$/.exec(header)
  return match === null
    ? Either.left(
        new InvalidRequest({
          code: "INVALID_HEADER",
          message: 'If-Match must be the ETag that the record was answered with, as in "3", or *'
        })
      )
    : Either.right(Number(match[1]))
}

/** Postgres cannot store U+0000, so no record can match it. */
const nulRefusal = ({ target }: RequestHead): NotFound | InvalidRequest | undefined => {
  if (!target.includes("%00")) return undefined
  return pathOf(target).includes("%00")
    ? new NotFound({ what: "path" })
    : new InvalidRequest({ code: "INVALID_REQUEST", message: "the query contains the character U+0000: leave it out" })
}

const failureOf = (cause: Cause.Cause<unknown>): Failure | undefined =>
  Option.getOrUndefined(Option.filter(Cause.failureOption(cause), isFailure))

/** The request with its body, if that was read already. */
const bufferedRequest = (request: LazyRequest): RawRequest | undefined => {
  const { body } = request
  return body instanceof Uint8Array ? { ...request, body } : undefined
}

/** `route`: `undefined` if the request has none. */
const admittanceOf = (
  { isKnownByUrl = false, isOpenToPages = false, keyHint }: SurfaceRules,
  route: Route | undefined
) => ({
  keyHint,
  needsTestHeader: !isKnownByUrl,
  openWhileSuspended: route?.openWhileSuspended === true,
  isOpenToPages,
  refreshesTokens: route?.sessions?.refreshesTokens === true
})

const hasBody = (method: string): boolean => method !== "GET" && method !== "DELETE"

/** Makes the pipeline that all surfaces of the node share. */
export const make = Effect.gen(function* () {
  const authentication = yield* makeAuthentication
  const limits = yield* RateLimits
  const identifiers = yield* Identifiers
  const auditExchange = yield* makeExchangeAudit
  const { handleOnce } = yield* makeIdempotency
  const { narrowToCustomer } = yield* makeCustomerNarrowing
  const clock = yield* Effect.clock

  /** Parses the body if the route's form is `record`; the failure if it is not valid. */
  const parseBody = (exchange: Exchange, buffered: RawRequest | undefined): Failure | undefined => {
    if (exchange.route.form.body !== "record" || buffered === undefined || !hasBody(buffered.method)) return undefined
    const keepsIntegers = exchange.route.form.integers === "kept"
    const body = readRecord(buffered, bodyBytes.management, keepsIntegers)
    if (Either.isLeft(body)) return body.left
    exchange.body = body.right
    if (keepsIntegers) exchange.sent = buffered
    return undefined
  }

  /** Runs the checks, then the handler, once for each Idempotency-Key. A large body is parsed and handled in steps. */
  const checkAndHandle = (
    exchange: Exchange,
    buffered: RawRequest | undefined,
    handle: (exchange: Exchange) => Effect.Effect<RawReply, unknown>
  ): Effect.Effect<RawReply, unknown> => {
    const isLarge = buffered !== undefined && buffered.body.byteLength > largeBody
    const start = Effect.suspend(() => handle(exchange))
    return isLarge
      ? Effect.zipRight(
          pauseForOthers,
          Effect.suspend(() => checkAndStart(exchange, buffered, Effect.zipRight(pauseForOthers, start)))
        )
      : checkAndStart(exchange, buffered, start)
  }

  const checkAndStart = (
    exchange: Exchange,
    buffered: RawRequest | undefined,
    handling: Effect.Effect<RawReply, unknown>
  ): Effect.Effect<RawReply, unknown> => {
    const { caller, params, request, route } = exchange
    const refused =
      nulRefusal(request) ??
      refusalOf({ caller, operation: route, params }) ??
      headerRefusal(caller, request.headers) ??
      parseBody(exchange, buffered)
    if (refused !== undefined) return Effect.fail(refused)
    if (route.noStore) exchange.replyHeaders["cache-control"] = "no-store"
    const narrowing = route.form.tenancy === "reach" ? narrowToCustomer(exchange) : undefined
    const work = narrowing === undefined ? handling : Effect.zipRight(narrowing, handling)
    const { idempotency } = route.form
    if (buffered === undefined || idempotency === "run" || idempotency === "none") return work
    return Effect.map(handleOnce(caller, buffered, idempotency, work), ({ isRepeated, reply }) => {
      // The first request was audited.
      if (isRepeated) exchange.isAudited = true
      return reply
    })
  }

  /** Counts one call of the caller. */
  const admit = (caller: Principal): Effect.Effect<Admission | null, Failure> =>
    limits.admit({
      organisationId: caller.organisationId,
      accountId: caller.accountId,
      callerId: caller.id,
      caller: caller.callsPerMinute,
      plan: caller.planCalls === "counted" ? caller.plan.apiCallsPerMinute : null,
      sessions: caller.planCalls === "sessions" ? sessionsCeiling(caller.plan) : null
    })

  const replyToFailure = (
    cause: Cause.Cause<unknown>,
    rules: SurfaceRules,
    requestId: RequestId,
    exchange: Exchange | undefined,
    admission: Admission | null
  ): Effect.Effect<RawReply> =>
    Effect.suspend(() => {
      const now = clock.unsafeCurrentTimeMillis()
      const failure = failureOf(cause)
      const reply =
        failure === undefined ? rules.errorReply(defectRow, requestId) : rules.failureReply(failure, requestId, now)
      const withRateLimit = {
        ...reply,
        headers: { ...failureRateLimitHeaders(failure, admission, now), ...reply.headers }
      }
      if (failure !== undefined) return Effect.succeed(withRateLimit)
      return Effect.logError("request.failed", cause).pipe(
        Effect.annotateLogs({ requestId, ...(exchange === undefined ? {} : logFields(exchange)) }),
        Effect.as(withRateLimit)
      )
    })

  /** Serves a request; every failure and defect becomes a reply. */
  const serve = (routed: Routed, handle: (exchange: Exchange) => Effect.Effect<RawReply, unknown>) =>
    Effect.suspend(() => {
      const { params, partOf, route, rules } = routed
      const request = { ...routed.request, headers: rules.selectHeaders(routed.request.headers) }
      const requestId = (partOf ?? request.recognised)?.caller.requestId ?? identifiers.next("req")
      let exchange: Exchange | undefined
      let admission: Admission | null = null
      const authenticated =
        partOf === undefined
          ? authentication.authenticate(request, requestId, admittanceOf(rules, route))
          : Effect.succeed(partOf.caller)
      const serving = Effect.flatMap(authenticated, (caller) => {
        const missing = rules.missingHeader(request)
        if (missing !== undefined) return Effect.fail(missing)
        const version = route.form.versions === "own" ? Either.right(undefined) : expectedVersion(request)
        const again =
          partOf?.recognise ?? Effect.map(recognised(request, requestId, rules, route), ({ caller }) => caller)
        const opened = new Exchange(route, params, request, caller, Either.getOrUndefined(version), again)
        exchange = opened
        return Effect.flatMap(partOf === undefined ? admit(caller) : Effect.succeed(null), (counts) => {
          admission = counts
          return Either.isLeft(version)
            ? Effect.fail(version.left)
            : checkAndHandle(opened, bufferedRequest(request), handle)
        })
      })
      return Effect.matchCauseEffect(serving, {
        onSuccess: (reply) => {
          const now = clock.unsafeCurrentTimeMillis()
          const headers = { "x-request-id": requestId, ...rateLimitHeaders(admission, now), ...reply.headers }
          return Effect.as(auditExchange(exchange, undefined), { ...reply, headers })
        },
        onFailure: (cause) =>
          Effect.zipRight(
            auditExchange(exchange, failureOf(cause) ?? "defect"),
            replyToFailure(cause, rules, requestId, exchange, admission)
          )
      }).pipe(Effect.onInterrupt(() => auditExchange(exchange, "interrupted")))
    })

  const recognised = (request: RequestHead, requestId: RequestId, rules: SurfaceRules, route: Route) =>
    Effect.suspend(() => authentication.recognise(request, requestId, admittanceOf(rules, route)))

  /** The caller by the head alone, or the reply that refuses it. */
  const recognise = (rules: SurfaceRules, request: RequestHead, route?: Route) => {
    const requestId = identifiers.next("req")
    const head = { ...request, headers: rules.selectHeaders(request.headers) }
    return Effect.catchAllCause(authentication.recognise(head, requestId, admittanceOf(rules, route)), (cause) =>
      replyToFailure(cause, rules, requestId, undefined, null)
    )
  }

  return { serve, recognise, admit, addressOf: authentication.addressOf }
})

const logFields = ({ caller, route }: Exchange) => ({
  endpoint: `${route.method} ${route.path}`,
  organisationId: caller.organisationId,
  caller: caller.name
})
