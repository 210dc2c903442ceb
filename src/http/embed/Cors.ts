/**
 * Lets pages of other origins read the API's replies: those that an embed session allows, with its token. API keys and
 * people's cookies speak for no page of another origin. Contract: embed.
 */
import { Effect, Fiber, Option } from "effect"
import { EmbedSessions, type KnownEmbedSession } from "../../actors/ports/access/EmbedSessions.js"
import { isEmbedOrigin } from "../../domain/access/EmbedOrigin.js"
import { embedTokenPattern } from "../../domain/access/EmbedSession.js"
import type { Unavailable } from "../../domain/Failure.js"
import { readText } from "../auth/Authentication.js"
import { isGatewayPath } from "../mcp/GatewayAddress.js"
import { pathOf, type RawReply, type RequestHead } from "../Wire.js"
import { makeTokenLookUp } from "./TokenLookUp.js"

export interface Cors {
  /**
   * The answer to a preflight: `undefined` if no session names its origin, so that it is served like other requests. No effect
   * for a request that is no preflight, and for an origin that cannot be named.
   */
  readonly preflight: (request: RequestHead) => Effect.Effect<RawReply | undefined, Unavailable> | undefined
  /** The reply, with the headers by which the request's page may read it. Costs a request without an origin nothing. */
  readonly share: (request: RequestHead, reply: Effect.Effect<RawReply>) => Effect.Effect<RawReply>
}

type Headers = RawReply["headers"]

/** Seconds for which a browser may keep the answer to a preflight. */
const preflightSeconds = 600

const preflightHeaders = {
  "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
  "access-control-allow-headers": "authorization, content-type, idempotency-key, if-match",
  "access-control-max-age": String(preflightSeconds)
}

const exposedHeaders = "etag, retry-after, x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset"

const apiPrefix = "/api/v1/"

const isOptions = ({ method, target }: RequestHead): boolean =>
  method === "OPTIONS" && pathOf(target).startsWith(apiPrefix)

/** The origin of a preflight; `undefined` if the request is none. */
const preflightOrigin = (request: RequestHead): string | undefined =>
  isOptions(request) && request.headers["access-control-request-method"] !== undefined
    ? request.headers["origin"]
    : undefined

/** The embed token that is the request's credential. */
const sentToken = (request: RequestHead): string | undefined => {
  const text = readText(request)
  return typeof text === "string" && embedTokenPattern.test(text) ? text : undefined
}

/** Adds headers, and that the reply depends on the origin of its request. */
const varying = (reply: RawReply, headers: Headers = {}): RawReply => {
  const before = reply.headers["vary"]
  const vary = before === undefined ? "Origin" : `${before}, Origin`
  return { ...reply, headers: { ...reply.headers, ...headers, vary } }
}

/** The reply for a page of the origin; it may read it if the session allows exactly this origin. */
const replyFor = (origin: string, known: KnownEmbedSession | undefined, reply: RawReply): RawReply =>
  known?.session.allowedOrigins.includes(origin) === true && isEmbedOrigin(origin)
    ? varying(reply, { "access-control-allow-origin": origin, "access-control-expose-headers": exposedHeaders })
    : varying(reply)

/** Whether authentication, or a limit of addresses, has counted a request whose token is unknown. */
const isCounted = ({ status }: RawReply): boolean => status === 401 || status === 429

/** `addressOf`: the client's address of a request. */
export const makeCors = Effect.fnUntraced(function* (addressOf: (request: RequestHead) => string) {
  const sessions = yield* EmbedSessions
  const { countUnknown, find, findCached, hashOf } = yield* makeTokenLookUp(addressOf)
  const clock = yield* Effect.clock

  /** Looks the session up while the request is served, which needs it too, so that both share one look-up. */
  const shareFound = (request: RequestHead, origin: string, hash: string, handled: Effect.Effect<RawReply>) =>
    Effect.gen(function* () {
      const now = clock.unsafeCurrentTimeMillis()
      // A daemon: the end of this request does not wait for it.
      const finding = yield* Effect.forkDaemon(Effect.option(find(hash, request, now)))
      const reply = yield* handled
      // The database may be away: what is in memory has to do.
      if (reply.status === 503) return replyFor(origin, findCached(hash, clock.unsafeCurrentTimeMillis()), reply)
      const found = yield* Fiber.join(finding)
      if (Option.isSome(found) && Option.isNone(found.value) && !isCounted(reply)) countUnknown(request, now)
      return replyFor(origin, Option.getOrUndefined(Option.flatten(found)), reply)
    })

  const share: Cors["share"] = (request, handled) => {
    const origin = request.headers["origin"]
    // Tool gateways are not called by pages: their replies never have these headers, not even with an embed token.
    if (origin === undefined || isGatewayPath(pathOf(request.target))) return handled
    const token = sentToken(request)
    if (token === undefined) return isOptions(request) ? Effect.map(handled, (reply) => varying(reply)) : handled
    return Effect.suspend(() => {
      const hash = hashOf(token)
      const cached = findCached(hash, clock.unsafeCurrentTimeMillis())
      return cached === undefined
        ? shareFound(request, origin, hash, handled)
        : Effect.map(handled, (reply) => replyFor(origin, cached, reply))
    })
  }

  const preflight: Cors["preflight"] = (request) => {
    const origin = preflightOrigin(request)
    if (origin === undefined || !isEmbedOrigin(origin)) return undefined
    return Effect.map(sessions.isOriginNamed(origin), (isNamed) =>
      isNamed
        ? { status: 204, headers: { "access-control-allow-origin": origin, ...preflightHeaders }, body: "" }
        : undefined
    )
  }

  return { preflight, share } satisfies Cors
})
