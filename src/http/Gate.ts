/**
 * The one way into the typed API: finds the endpoint, authenticates, counts, checks the endpoint's permission and the
 * body's form, lets the API decode and handle it, and translates every failure. Nothing a client sends answers 5xx.
 */
import {
  type HttpApp,
  HttpApiError,
  type HttpRouter,
  HttpServerError,
  HttpServerRequest,
  type HttpServerResponse
} from "@effect/platform"
import { Cause, Clock, Context, DateTime, Effect, Option, Stream } from "effect"
import { AuditTrail } from "../actors/ports/AuditTrail.js"
import { Identifiers } from "../actors/ports/Identifiers.js"
import { type Admission, RateLimits } from "../actors/ports/RateLimits.js"
import type { AuditEntry, Outcome } from "../domain/Audit.js"
import { type Failure, Forbidden, InvalidRequest, NotFound } from "../domain/Failure.js"
import { bodyBytes } from "../domain/Limits.js"
import { make as makeAuthentication } from "./auth/Authenticate.js"
import { actorOf, missing, type Principal, sharingRefusal } from "./auth/Caller.js"
import { answerDefect, decodeFailure } from "./Decode.js"
import { Exchange, serverRequest } from "./Exchange.js"
import { rateHeaders, refusedHeaders } from "./Rates.js"
import { makeMatcher, type Route } from "./Routes.js"
import { readRecord } from "./Body.js"
import { defectRow, errorReply, failureReply, isFailure } from "./Surface.js"
import { pathOf, type RawReply, type RawRequest, type RequestHead } from "./Wire.js"

type App = HttpApp.Default<unknown, HttpRouter.HttpRouter.DefaultServices>

const bodyOf = (response: HttpServerResponse.HttpServerResponse): Effect.Effect<string | Uint8Array, unknown> => {
  const { body } = response
  switch (body._tag) {
    case "Uint8Array":
      return Effect.succeed(body.body)
    case "Raw":
      return Effect.succeed(typeof body.body === "string" ? body.body : "")
    case "Stream":
      return Effect.map(Stream.runCollect(body.stream), (chunks) => Buffer.concat([...chunks]))
    default:
      return Effect.succeed("")
  }
}

/** U+0000 cannot be stored, so no id has it and no filter finds it. */
const nulIn = (target: string): NotFound | InvalidRequest | undefined => {
  if (!target.includes("%00")) return undefined
  return pathOf(target).includes("%00")
    ? new NotFound({ what: "path" })
    : new InvalidRequest({ code: "INVALID_REQUEST", message: "the query contains the character U+0000" })
}

const permitted = (caller: Principal, permit: Route["permit"]): Forbidden | undefined => {
  if (permit === undefined) return new Forbidden({ code: "FORBIDDEN", message: "this endpoint declares no permission" })
  if (permit === "anyKey") return undefined
  if (typeof permit === "string") return missing(caller, permit)
  const [first] = permit
  return first === undefined || permit.some((one) => caller.permissions.has(one)) ? undefined : missing(caller, first)
}

/** What a surface does in its own way. */
export interface Manners {
  /** The headers by which the caller is to be known. */
  readonly headers: (sent: RequestHead["headers"]) => RequestHead["headers"]
  /** How it is given the key, where that is not in either of the two ways. */
  readonly howTo?: string
  /** What the surface wants besides a key. */
  readonly lacking: (raw: RawRequest) => Failure | undefined
  readonly failure: typeof failureReply
  readonly error: typeof errorReply
}

/** A and C. */
const plainly: Manners = {
  headers: (sent) => sent,
  lacking: () => undefined,
  failure: failureReply,
  error: errorReply
}

export const make = (routes: ReadonlyArray<Route>, app: App, manners: Manners = plainly) =>
  Effect.gen(function* () {
    const { addressOf, authenticate, recognise } = yield* makeAuthentication
    const limits = yield* RateLimits
    const identifiers = yield* Identifiers
    const trail = yield* AuditTrail
    const services = yield* Effect.context<HttpRouter.HttpRouter.DefaultServices>()
    const match = makeMatcher(routes)

    // --- Audit ---

    const entry = (
      exchange: Exchange,
      action: string,
      resource: string,
      id: string | null,
      outcome: Outcome,
      at: string
    ): AuditEntry => ({
      id: identifiers.next("aud"),
      organisationId: exchange.caller.organisationId,
      at,
      actor: actorOf(exchange.caller),
      action,
      resource: { type: resource, id, name: null },
      customerId: exchange.customerId,
      outcome,
      requestId: exchange.caller.requestId,
      changes: [],
      count: 1
    })

    /** Changes carry their own entry; what is left are reads and refusals. */
    const note = (exchange: Exchange, route: Route, id: string | null, failure: Failure | "defect" | undefined) =>
      Effect.map(DateTime.now, (now) => {
        const policy = route.audit
        if (policy === undefined || policy._tag === "NotAudited" || (failure === undefined && exchange.audited)) return
        const at = DateTime.formatIso(now)
        const action = policy._tag === "Audited" ? policy.action : `${policy.resource}.read`
        if (failure === undefined && policy._tag === "Read")
          trail.read(entry(exchange, action, policy.resource, id, "success", at))
        else {
          const outcome =
            failure === undefined
              ? "success"
              : failure !== "defect" && failure._tag === "Forbidden"
                ? "denied"
                : "failure"
          const told = entry(exchange, action, policy.resource, id, outcome, at)
          // As many as a client likes to send: counted.
          if (failure !== undefined && failure !== "defect" && failure._tag === "RateLimited")
            trail.refusal({ ...told, changes: [{ path: "error", before: null, after: failure._tag }] })
          else trail.note(told)
        }
      })

    // --- The way through ---

    const dispatch = Effect.fnUntraced(function* (
      exchange: Exchange,
      path: string
    ): Effect.fn.Return<RawReply, unknown> {
      const request = serverRequest(exchange, path)
      const response = yield* Effect.provide(
        app,
        Context.add(services, HttpServerRequest.HttpServerRequest, request)
      ).pipe(
        Effect.catchIf(
          (error): error is HttpApiError.HttpApiDecodeError =>
            exchange.handled && error instanceof HttpApiError.HttpApiDecodeError,
          (error) => Effect.die(answerDefect(error))
        )
      )
      return {
        status: response.status,
        headers: { ...response.headers, ...exchange.replyHeaders },
        body: yield* bodyOf(response)
      }
    }, Effect.scoped)

    const exchangeOf = (caller: Principal, { audit, sharing }: Route, raw: RawRequest) => {
      const policy = audit?._tag === "Audited" ? { action: audit.action, resource: audit.resource } : null
      return new Exchange(raw, caller, policy, sharing)
    }

    const passed = (exchange: Exchange, route: Route, path: string): Effect.Effect<RawReply, unknown> => {
      const { caller, request } = exchange
      const refused = permitted(caller, route.permit) ?? sharingRefusal(caller, route.sharing)
      const hasBody = request.method !== "GET" && request.method !== "DELETE"
      const body = refused ?? (hasBody ? readRecord(request, bodyBytes.management) : undefined)
      return body instanceof Error ? Effect.fail(body) : dispatch(exchange, path)
    }

    /** Counted, let through, and written down, whatever becomes of it. */
    const served = (
      exchange: Exchange,
      { params, route }: { readonly route: Route; readonly params: { readonly [name: string]: string } },
      onAdmitted: (admission: Admission | null) => void
    ): Effect.Effect<RawReply, unknown> => {
      const { caller, request } = exchange
      const id = Object.values(params)[0] ?? null
      return limits
        .admit({
          organisationId: caller.organisationId,
          keyId: caller.key.id,
          key: caller.key.rateLimit,
          plan: caller.plan.apiCallsPerMinute
        })
        .pipe(
          Effect.map(onAdmitted),
          Effect.zipRight(Effect.suspend(() => passed(exchange, route, request.target))),
          Effect.tapErrorCause((cause) => note(exchange, route, id, failureOf(cause, request.method) ?? "defect")),
          Effect.tap(() => note(exchange, route, id, undefined))
        )
    }

    const failureOf = (cause: Cause.Cause<unknown>, method: string): Failure | undefined => {
      const error = Option.getOrUndefined(Cause.failureOption(cause))
      if (isFailure(error)) return error
      if (error instanceof HttpApiError.HttpApiDecodeError) return decodeFailure(error, method)
      // A path that the gate's table has and the router cannot read: an id of broken percent signs.
      if (error instanceof HttpServerError.RouteNotFound) return new NotFound({ what: "path" })
      return undefined
    }

    const translated = (cause: Cause.Cause<unknown>, method: string, requestId: string): Effect.Effect<RawReply> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const failure = failureOf(cause, method)
        if (failure !== undefined) return Effect.succeed(manners.failure(failure, requestId, now))
        return Effect.as(
          Effect.logError("request.failed", cause).pipe(Effect.annotateLogs({ requestId })),
          manners.error(defectRow, requestId)
        )
      })

    /** What is logged on the way tells whose request it was. */
    const logged = <A, E>(effect: Effect.Effect<A, E>, { key, organisationId, requestId }: Principal) =>
      Effect.annotateLogs(effect, { requestId, organisationId, key: key.name })

    /** Never fails: whatever happens is a reply. */
    const handle = (sent: RawRequest): Effect.Effect<RawReply> =>
      Effect.gen(function* () {
        const raw: RawRequest = { ...sent, headers: manners.headers(sent.headers) }
        const requestId = identifiers.next("req")
        const now = yield* Clock.currentTimeMillis
        const found = match(raw.method, pathOf(raw.target))
        if (found._tag === "OtherMethod") {
          const reply = manners.error(
            { status: 405, code: "METHOD_NOT_ALLOWED", message: `this path takes ${found.methods.join(", ")}` },
            requestId
          )
          return { ...reply, headers: { ...rateHeaders(null, now), ...reply.headers, allow: found.methods.join(", ") } }
        }
        const unreadable = found._tag === "Unknown" ? new NotFound({ what: "path" }) : nulIn(raw.target)
        if (found._tag === "Unknown" || unreadable !== undefined) {
          const reply = manners.failure(unreadable ?? new NotFound({ what: "path" }), requestId, now)
          return { ...reply, headers: { ...rateHeaders(null, now), ...reply.headers } }
        }
        let admitted: Admission | null = null
        const reply = yield* authenticate(raw, requestId, manners.howTo).pipe(
          Effect.tap(() => manners.lacking(raw) ?? Effect.void),
          Effect.flatMap((caller) =>
            logged(
              served(exchangeOf(caller, found.route, raw), found, (admission) => {
                admitted = admission
              }),
              caller
            )
          ),
          Effect.map((reply) => ({ ...reply, headers: { ...rateHeaders(admitted, now), ...reply.headers } })),
          Effect.catchAllCause((cause) =>
            Effect.map(translated(cause, raw.method, requestId), (reply) => ({
              ...reply,
              headers: { ...refusedHeaders(failureOf(cause, raw.method), admitted, now), ...reply.headers }
            }))
          )
        )
        return { ...reply, headers: { "x-request-id": requestId, ...reply.headers } }
      })

    /** Whose request it is, by its head: the organisation, or the answer to a caller that is not let in. */
    const identify = (sent: RequestHead): Effect.Effect<{ readonly organisation: string } | RawReply> => {
      const requestId = identifiers.next("req")
      return recognise({ ...sent, headers: manners.headers(sent.headers) }, requestId, manners.howTo).pipe(
        Effect.map(({ caller }) => ({ organisation: caller.organisationId })),
        Effect.catchAllCause((cause) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) =>
            Effect.map(translated(cause, sent.method, requestId), (reply) => ({
              ...reply,
              headers: { ...refusedHeaders(failureOf(cause, sent.method), null, now), ...reply.headers }
            }))
          )
        )
      )
    }

    return { handle, identify, addressOf }
  })
