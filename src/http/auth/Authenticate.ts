/**
 * From a request to its caller: the key by either scheme, its state, its address list, its Test-mode header, its
 * identity signature. Specification: Authentication.
 */
import { Effect, Either, Option } from "effect"
import { Addresses } from "../../actors/ports/Addresses.js"
import { AuditTrail } from "../../actors/ports/AuditTrail.js"
import { Digests } from "../../actors/ports/Digests.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { Keys, type KnownKey } from "../../actors/ports/Keys.js"
import { Nonces } from "../../actors/ports/Nonces.js"
import { keyStatus } from "../../domain/ApiKey.js"
import { type Failure, Forbidden, Unauthorized } from "../../domain/Failure.js"
import type { RequestId } from "../../domain/Ids.js"
import { nonceLifetime } from "../../domain/Limits.js"
import { identityHeader, verifyIdentity } from "../../domain/Signature.js"
import type { RequestHead } from "../Wire.js"
import { actorOf, type Principal, principal } from "../../actors/management/Caller.js"
import { Refusals, subscriberOf } from "./Refusals.js"

/** The shape of a key; anything else is not worth a look. */
const keyPattern = /^svk_(live|test)_[A-Za-z0-9_-]{43}$/

const peersKept = 1_000

/** A request as far as its caller is known by it: its body is asked for only where a signature covers it. */
export interface Presented extends RequestHead {
  readonly body: Uint8Array | Effect.Effect<Uint8Array, Failure>
}

const unauthorized = (message: string) => new Unauthorized({ code: "UNAUTHORIZED", message })
/** How a route lets callers in, where that is not the usual way. */
export interface Admittance {
  /** How the surface wants to be given the key, in the words of a refusal. */
  readonly howTo?: string | undefined
  /** The keys of a suspended organisation are let in. */
  readonly openWhileSuspended?: boolean
}

/** How most surfaces do. */
const eitherScheme = "send Authorization: Bearer <key> or x-svc-api-key: <key>"

/** The key that the request presents; both schemes may be used together if they agree. */
const presented = ({ headers }: RequestHead, howTo: string): string | Unauthorized => {
  const bearer = headers["authorization"]
  const header = headers["x-svc-api-key"]
  const token = bearer === undefined ? undefined : /^Bearer +(\S+)$/i.exec(bearer)?.[1]
  if (bearer !== undefined && token === undefined)
    return unauthorized(`the Authorization header is not of the form Bearer <key>: ${howTo}`)
  if (token !== undefined && header !== undefined && header !== "" && token !== header)
    return unauthorized("the two keys of this request differ: send one")
  return token ?? (header !== undefined && header !== "" ? header : unauthorized(`no API key: ${howTo}`))
}

export const make = Effect.gen(function* () {
  const keys = yield* Keys
  const digests = yield* Digests
  const addresses = yield* Addresses
  const nonces = yield* Nonces
  const trail = yield* AuditTrail
  const identifiers = yield* Identifiers
  const refusals = yield* Refusals
  const clock = yield* Effect.clock

  /** Peers that spoke for themselves, by their sockets' addresses: few, and seen again and again. */
  const peers = new Map<string, string>()
  const addressOf = ({ headers, remoteAddress }: RequestHead): string => {
    const forwarded = headers["x-forwarded-for"]
    const known = forwarded === undefined ? peers.get(remoteAddress) : undefined
    if (known !== undefined) return known
    const address = addresses.client(remoteAddress, forwarded)
    if (forwarded === undefined) {
      if (peers.size >= peersKept) peers.clear()
      peers.set(remoteAddress, address)
    }
    return address
  }

  const refusal = (
    { key, organisation, rotated }: KnownKey,
    request: RequestHead,
    ip: string,
    now: number,
    openWhileSuspended: boolean
  ): Failure | undefined => {
    const status = keyStatus(key, now)
    if (status === "revoked") return new Unauthorized({ code: "KEY_REVOKED", message: "this key was revoked" })
    if (status === "expired") return new Unauthorized({ code: "KEY_EXPIRED", message: "this key has expired" })
    if (rotated && (key.beforeUntil === null || Date.parse(key.beforeUntil) <= now))
      return unauthorized("this key was rotated: use its new secret")
    if (organisation.status !== "active" && !openWhileSuspended)
      return new Forbidden({ code: "FORBIDDEN", message: "the organisation is suspended" })
    if (key.allowedIps.length > 0 && !addresses.within(ip, key.allowedIps)) {
      return new Forbidden({ code: "IP_NOT_ALLOWED", message: `this key may not be used from ${ip}` })
    }
    if (key.mode === "test" && request.headers["x-svc-test-mode"]?.toLowerCase() !== "true") {
      return new Forbidden({
        code: "TEST_MODE_HEADER_REQUIRED",
        message: "a Test key must send the header X-svc-Test-Mode: true"
      })
    }
    const space = request.headers["x-svc-space-id"]
    if (space !== undefined && space !== "" && space !== key.spaceId) {
      return new Forbidden({ code: "FORBIDDEN", message: "x-svc-space-id names another workspace than the key's" })
    }
    return undefined
  }

  const signed = Effect.fnUntraced(function* (
    { key }: KnownKey,
    request: Presented,
    now: number
  ): Effect.fn.Return<void, Failure> {
    const header = request.headers[identityHeader]
    if (header === undefined || header === "") {
      return yield* new Unauthorized({
        code: "IDENTITY_HMAC_REQUIRED",
        message: `this key verifies its caller: sign the request in ${identityHeader}`
      })
    }
    const invalid = (message: string) => new Unauthorized({ code: "IDENTITY_HMAC_INVALID", message })
    const body = request.body instanceof Uint8Array ? request.body : yield* request.body
    const secret = yield* keys.identitySecret(key.organisationId, key)
    const verified = verifyIdentity(
      digests,
      [secret],
      {
        method: request.method,
        target: request.target,
        header: (name) => request.headers[name],
        bodySha256: digests.sha256Hex(body)
      },
      header,
      Math.floor(now / 1000)
    )
    if (Either.isLeft(verified)) {
      return yield* invalid(
        {
          malformed: `${identityHeader} is not of the form t=<unix seconds>,v1=<hex>`,
          stale: `${identityHeader} was made more than 300 s ago or ahead`,
          mismatch: `${identityHeader} does not belong to this request and this key's identity secret`
        }[verified.left]
      )
    }
    const { nonce } = verified.right
    if (nonce !== "" && !(yield* nonces.use(key.organisationId, `${key.id}|${nonce}`, nonceLifetime))) {
      return yield* invalid("this nonce was used before")
    }
  })

  // --- Refusals: counted, and answered 429 before they cost more ---

  const caseOf = ({ id }: KnownKey["key"], ip: string) => `${subscriberOf(ip)}|${id}`

  /** A key that is known and not let in is told of in its organisation's audit trail. */
  const refusedTo = (caller: Principal, failure: Failure, now: number): Effect.Effect<never, Failure> => {
    const { key, organisationId, requestId } = caller
    trail.countRefusal({
      id: identifiers.next("aud"),
      organisationId,
      at: new Date(now).toISOString(),
      actor: actorOf(caller),
      action: "api_key.use",
      resource: { type: "api_key", id: key.id, name: key.name },
      customerId: null,
      outcome: "denied",
      requestId,
      changes: [{ path: "error", before: null, after: "code" in failure ? failure.code : failure._tag }],
      count: 1
    })
    return Effect.fail(failure)
  }

  /** No key of this service: which one it was is nobody's. */
  const unknownKey = (request: RequestHead, message: string, now: number): Effect.Effect<never, Failure> => {
    const from = subscriberOf(addressOf(request))
    const exceeded = refusals.unknown.exceeded(from, now)
    refusals.unknown.count(from, now)
    return Effect.fail(exceeded ?? unauthorized(message))
  }

  /** Signatures of a key that were wrong too often are not verified any more in this minute, for that address. */
  const verified = (known: KnownKey, caller: Principal, request: Presented, now: number) => {
    const of = caseOf(known.key, caller.ip)
    const exceeded = refusals.signatures.exceeded(of, now)
    if (exceeded !== undefined) return refusedTo(caller, exceeded, now)
    return Effect.catchAll(signed(known, request, now), (failure) => {
      if (failure._tag !== "Unauthorized") return Effect.fail(failure)
      if (failure.code === "IDENTITY_HMAC_INVALID") refusals.signatures.count(of, now)
      return refusedTo(caller, failure, now)
    })
  }

  const admitted = (
    known: KnownKey,
    request: RequestHead,
    requestId: RequestId,
    now: number,
    openWhileSuspended = false
  ): Effect.Effect<Recognised, Failure> => {
    const ip = addressOf(request)
    const refused = refusal(known, request, ip, now, openWhileSuspended)
    const caller = principal(known, { requestId, ip, userAgent: request.headers["user-agent"]?.slice(0, 500) ?? null })
    if (refused === undefined) return Effect.succeed({ known, caller, now })
    const of = caseOf(known.key, ip)
    const exceeded = refusals.known.exceeded(of, now)
    refusals.known.count(of, now)
    return Effect.catchAll(refusedTo(caller, refused, now), (failure) => Effect.fail(exceeded ?? failure))
  }

  /** The caller by its key, before its signature: what can be said of a request of which only the head is there. */
  const recognise = (
    request: RequestHead,
    requestId: RequestId,
    { howTo = eitherScheme, openWhileSuspended }: Admittance = {}
  ): Effect.Effect<Recognised, Failure> =>
    Effect.suspend(() => {
      const now = clock.unsafeCurrentTimeMillis()
      const text = presented(request, howTo)
      if (typeof text !== "string") return Effect.fail(text)
      if (!keyPattern.test(text)) return unknownKey(request, "this is no API key of this service", now)
      const hash = digests.keyHash(text)
      const held = keys.findCached(hash, now)
      if (held !== undefined) return admitted(held, request, requestId, now, openWhileSuspended)
      const found = Effect.flatMap(
        keys.find(hash),
        Option.match({
          onNone: () => unknownKey(request, "this API key is unknown", now),
          onSome: (known) => admitted(known, request, requestId, now, openWhileSuspended)
        })
      )
      if (refusals.unknown.exceeded(subscriberOf(addressOf(request)), now) === undefined) return found
      // Others behind this address send keys that exist: these are looked up.
      return Effect.flatMap(keys.mayExist(hash), (may) =>
        may ? found : unknownKey(request, "this API key is unknown", now)
      )
    })

  /** The caller; fails with what `refusals` of the contract says. */
  const authenticate = (
    request: Presented,
    requestId: RequestId,
    admittance: Admittance = {}
  ): Effect.Effect<Principal, Failure> =>
    Effect.flatMap(recognise(request, requestId, admittance), ({ caller, known, now }) => {
      keys.recordUse(known.key, now)
      return known.key.hmacSecret === null
        ? Effect.succeed(caller)
        : Effect.as(verified(known, caller, request, now), caller)
    })

  return { authenticate, recognise, addressOf }
})

/** A key that is let in, if its signature is right. */
interface Recognised {
  readonly known: KnownKey
  readonly caller: Principal
  readonly now: number
}
