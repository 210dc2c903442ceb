/**
 * The one way through which every request with a key comes: authenticate, count, check permission and scope, narrow to
 * the customer that it names, read the body, answer repetitions, handle, audit, translate failures. What a route needs
 * is said in its table; nothing that a client sends answers 5xx.
 */
import { Cause, DateTime, Effect, Option } from "effect"
import { AuditTrail } from "../../actors/ports/AuditTrail.js"
import { actorOf, type Principal } from "../../actors/management/Caller.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { type Admission, RateLimits } from "../../actors/ports/RateLimits.js"
import { type Failure, InvalidRequest } from "../../domain/Failure.js"
import type { RequestId } from "../../domain/Ids.js"
import { bodyBytes } from "../../domain/Limits.js"
import { make as makeAuthentication, type Presented } from "../auth/Authenticate.js"
import { readRecord } from "../Body.js"
import { rateHeaders, refusedHeaders } from "../Rates.js"
import { defectRow, errorReply, failureReply, isFailure } from "../Surface.js"
import type { RawReply, RawRequest, RequestHead } from "../Wire.js"
import { Exchange } from "./Exchange.js"
import { refusalOf } from "./Guards.js"
import { make as makeIdempotency } from "./Idempotency.js"
import { make as makeNaming } from "./CustomerNamed.js"
import type { Route } from "./Routes.js"

/** What a surface does in its own way. */
export interface SurfaceRules {
  /** The headers by which the caller is to be known. */
  readonly headers: (sent: RequestHead["headers"]) => RequestHead["headers"]
  /** How it is given the key, where that is not in either of the two ways. */
  readonly howTo?: string
  /** What the surface wants besides a key. */
  readonly missing: (request: RequestHead) => Failure | undefined
  readonly failure: typeof failureReply
  readonly error: typeof errorReply
}

/** The surfaces A and C. */
export const usualRules: SurfaceRules = {
  headers: (sent) => sent,
  missing: () => undefined,
  failure: failureReply,
  error: errorReply
}

/** A request that a route was found for. */
export interface Routed {
  readonly rules: SurfaceRules
  readonly route: Route
  /** The varying parts of the path, as sent. */
  readonly params: { readonly [name: string]: string }
  /** Its body is asked for only where a signature covers it, or the route's form says so. */
  readonly request: Presented
}

/** The version of the record that the client read, by `If-Match`; `undefined`: it does not care. */
const expectedVersion = ({ headers }: RequestHead): number | undefined | InvalidRequest => {
  const header = headers["if-match"]
  if (header === undefined || header === "" || header === "*") return undefined
  const match = /^(?:W\/)?"?(\d{1,9})"?$/.exec(header)
  return match === null
    ? new InvalidRequest({
        code: "INVALID_HEADER",
        message: 'If-Match must be the ETag that the record was answered with, as in "3", or *'
      })
    : Number(match[1])
}

const failureOf = (cause: Cause.Cause<unknown>): Failure | undefined =>
  Option.getOrUndefined(Option.filter(Cause.failureOption(cause), isFailure))

/** The request with its bytes, where they are here. */
const withBytes = (request: Presented): RawRequest | undefined => {
  const { body } = request
  return body instanceof Uint8Array ? { ...request, body } : undefined
}

const hasBody = (method: string): boolean => method !== "GET" && method !== "DELETE"

export const make = Effect.gen(function* () {
  const { addressOf, authenticate, recognise } = yield* makeAuthentication
  const limits = yield* RateLimits
  const identifiers = yield* Identifiers
  const trail = yield* AuditTrail
  const { once } = yield* makeIdempotency
  const { narrowed } = yield* makeNaming
  const clock = yield* Effect.clock

  // --- Audit ---

  /** Audits reads, refusals, and successes that have no audit entry yet: changes write theirs in their transaction. */
  const note = (exchange: Exchange | undefined, failure: End | undefined): Effect.Effect<void> => {
    if (exchange === undefined) return Effect.void
    const { isAudited: audited, caller, changes, customerId, params, route, subject } = exchange
    const policy = route.audit
    if (policy === undefined || policy._tag === "NotAudited" || (failure === undefined && audited)) return Effect.void
    return Effect.map(DateTime.now, (now) => {
      const resource = subject ?? { type: policy.resource, id: Object.values(params)[0] ?? null, name: null }
      const entry = {
        id: identifiers.next("aud"),
        organisationId: caller.organisationId,
        at: DateTime.formatIso(now),
        actor: actorOf(caller),
        action: policy._tag === "Audited" ? policy.action : `${policy.resource}.read`,
        resource,
        customerId,
        outcome: failure === undefined ? "success" : isDenial(failure) ? "denied" : "failure",
        requestId: caller.requestId,
        changes: failure === undefined ? changes : [...changes, errorChange(failure)],
        count: 1
      } as const
      if (failure === undefined && policy._tag === "Read") return trail.countRead(entry)
      // As many as a client likes to send: counted.
      return isLimit(failure) ? trail.countRefusal(entry) : trail.append(entry)
    })
  }

  // --- The way through ---

  /** Reads the body where the route's form says so; answers why it cannot. */
  const bodyRefusal = (exchange: Exchange, bytes: RawRequest | undefined): Failure | undefined => {
    if (exchange.route.form.body !== "record" || bytes === undefined || !hasBody(bytes.method)) return undefined
    const body = readRecord(bytes, bodyBytes.management)
    if (body instanceof Error) return body
    exchange.body = body
    return undefined
  }

  /** Checks what can be said before the work is done, and does it. */
  const handled = (
    exchange: Exchange,
    bytes: RawRequest | undefined,
    handle: (exchange: Exchange) => Effect.Effect<RawReply, unknown>
  ): Effect.Effect<RawReply, unknown> => {
    const { caller, route } = exchange
    const refused = refusalOf(exchange) ?? bodyRefusal(exchange, bytes)
    if (refused !== undefined) return Effect.fail(refused)
    if (route.noStore) exchange.replyHeaders["cache-control"] = "no-store"
    const first = route.form.tenancy === "reach" ? narrowed(exchange) : undefined
    const work = Effect.suspend(() => handle(exchange))
    const all = first === undefined ? work : Effect.zipRight(first, work)
    const { idempotency } = route.form
    if (bytes === undefined || idempotency === "run" || idempotency === "none") return all
    return Effect.map(once(caller, bytes, idempotency, all), ({ isRepeated, reply }) => {
      // The first request has the audit entry of what was done.
      if (isRepeated) exchange.isAudited = true
      return reply
    })
  }

  const admit = (caller: Principal): Effect.Effect<Admission | null, Failure> =>
    limits.admit({
      organisationId: caller.organisationId,
      keyId: caller.key.id,
      key: caller.key.rateLimit,
      plan: caller.plan.apiCallsPerMinute
    })

  const replyTo = (
    cause: Cause.Cause<unknown>,
    rules: SurfaceRules,
    requestId: RequestId,
    exchange: Exchange | undefined,
    admission: Admission | null
  ): Effect.Effect<RawReply> =>
    Effect.suspend(() => {
      const now = clock.unsafeCurrentTimeMillis()
      const failure = failureOf(cause)
      const reply = failure === undefined ? rules.error(defectRow, requestId) : rules.failure(failure, requestId, now)
      const described = { ...reply, headers: { ...refusedHeaders(failure, admission, now), ...reply.headers } }
      if (failure !== undefined) return Effect.succeed(described)
      return Effect.logError("request.failed", cause).pipe(
        Effect.annotateLogs({ requestId, ...(exchange === undefined ? {} : logFields(exchange)) }),
        Effect.as(described)
      )
    })

  /** Never fails: whatever happens is a reply. */
  const serve = (
    routed: Routed,
    handle: (exchange: Exchange) => Effect.Effect<RawReply, unknown>
  ): Effect.Effect<RawReply> =>
    Effect.suspend(() => {
      const { params, route, rules } = routed
      const request = { ...routed.request, headers: rules.headers(routed.request.headers) }
      const requestId = identifiers.next("req")
      let exchange: Exchange | undefined
      let admission: Admission | null = null
      const { openWhileSuspended } = route
      const replied = Effect.flatMap(
        authenticate(request, requestId, { howTo: rules.howTo, openWhileSuspended }),
        (caller) => {
          const missing = rules.missing(request)
          if (missing !== undefined) return Effect.fail(missing)
          const version = expectedVersion(request)
          const known = version instanceof InvalidRequest ? undefined : version
          const opened = new Exchange(route, params, request, caller, known)
          exchange = opened
          return Effect.flatMap(admit(caller), (counted) => {
            admission = counted
            return version instanceof InvalidRequest
              ? Effect.fail(version)
              : handled(opened, withBytes(request), handle)
          })
        }
      )
      return Effect.matchCauseEffect(replied, {
        onSuccess: (reply) => {
          const now = clock.unsafeCurrentTimeMillis()
          const headers = { "x-request-id": requestId, ...rateHeaders(admission, now), ...reply.headers }
          return Effect.as(note(exchange, undefined), { ...reply, headers })
        },
        onFailure: (cause) =>
          Effect.zipRight(
            note(exchange, failureOf(cause) ?? "defect"),
            replyTo(cause, rules, requestId, exchange, admission)
          )
      }).pipe(Effect.onInterrupt(() => note(exchange, "interrupted")))
    })

  /** Whose request it is, by its head: the organisation, or the answer to a caller that is not let in. */
  const identify = (
    rules: SurfaceRules,
    request: RequestHead,
    openWhileSuspended = false
  ): Effect.Effect<{ readonly organisation: string } | RawReply> => {
    const requestId = identifiers.next("req")
    const head = { ...request, headers: rules.headers(request.headers) }
    return recognise(head, requestId, { howTo: rules.howTo, openWhileSuspended }).pipe(
      Effect.map(({ caller }) => ({ organisation: caller.organisationId })),
      Effect.catchAllCause((cause) => replyTo(cause, rules, requestId, undefined, null))
    )
  }

  return { serve, identify, addressOf }
})

const logFields = ({ caller, route }: Exchange) => ({
  endpoint: `${route.method} ${route.path}`,
  organisationId: caller.organisationId,
  key: caller.key.name
})

/** How a request ended that was not answered as it asked. */
type End = Failure | "defect" | "interrupted"

const isDenial = (end: End): boolean => typeof end === "object" && end._tag === "Forbidden"
const limits: ReadonlySet<string> = new Set(["RateLimited", "TooManyRuns", "QuotaExceeded"])
const isLimit = (end: End | undefined): boolean => typeof end === "object" && limits.has(end._tag)

const errorText = (end: End): string => {
  if (end === "defect") return "INTERNAL_ERROR"
  if (end === "interrupted") return "the caller went away"
  return "code" in end ? end.code : end._tag
}

const errorChange = (end: End) => ({ path: "error", before: null, after: errorText(end) })
