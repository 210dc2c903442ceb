/**
 * Authenticates a request: finds its API key and checks the key's state, address list, Test mode, workspace and identity
 * signature. Refused attempts are counted and, beyond a limit, answered 429. Specification: Authentication.
 */
import { type Clock, Effect, Option } from "effect"
import { Addresses } from "../../actors/ports/Addresses.js"
import { AuditTrail } from "../../actors/ports/AuditTrail.js"
import { Digests } from "../../actors/ports/Digests.js"
import { Identifiers } from "../../actors/ports/Identifiers.js"
import { Keys, type KnownKey } from "../../actors/ports/Keys.js"
import { type Failure, Unauthorized } from "../../domain/Failure.js"
import type { RequestId } from "../../domain/Ids.js"
import type { LazyRequest, RequestHead } from "../Wire.js"
import { keyRefusal } from "./KeyRefusal.js"
import { makeSignatureCheck } from "./SignatureCheck.js"
import type { Principal } from "../../actors/management/Caller.js"
import { actorOf } from "../../domain/Caller.js"
import { keyCaller } from "./KeyCaller.js"
import { RefusalCounters, subscriberOf } from "./RefusalCounters.js"

/** The form of a key; other texts are refused without a look-up. */
const keyPattern = /^svk_(live|test)_[A-Za-z0-9_-]{43}$/

const peerCacheSize = 1_000

const unauthorized = (message: string) => new Unauthorized({ code: "UNAUTHORIZED", message })

/** How a route differs from the others in admitting callers. */
export interface Admittance {
  /** How to send the key on this surface; the end of error messages. */
  readonly keyHint?: string | undefined
  /** Admits keys of a suspended organisation. */
  readonly openWhileSuspended?: boolean
}

const bothSchemesHint = "send Authorization: Bearer <key> or x-svc-api-key: <key>"

/** The key that the request sends; both headers may be sent if they agree. */
const readKey = ({ headers }: RequestHead, keyHint: string): string | Unauthorized => {
  const bearer = headers["authorization"]
  const header = headers["x-svc-api-key"]
  const token = bearer === undefined ? undefined : /^Bearer +(\S+)$/i.exec(bearer)?.[1]
  if (bearer !== undefined && token === undefined)
    return unauthorized(`the Authorization header is not of the form Bearer <key>: ${keyHint}`)
  if (token !== undefined && header !== undefined && header !== "" && token !== header)
    return unauthorized("the two keys of this request differ: send one")
  return token ?? (header !== undefined && header !== "" ? header : unauthorized(`no API key: ${keyHint}`))
}

/** Makes the function that finds a request's client address behind trusted proxies. */
const makeClientAddress = (addresses: Addresses["Type"]) => {
  /** Client addresses of peers that send no `x-forwarded-for`, by socket address: saves parsing on every request. */
  const peers = new Map<string, string>()
  return ({ headers, remoteAddress }: RequestHead): string => {
    const forwarded = headers["x-forwarded-for"]
    const cached = forwarded === undefined ? peers.get(remoteAddress) : undefined
    if (cached !== undefined) return cached
    const address = addresses.client(remoteAddress, forwarded)
    if (forwarded === undefined) {
      if (peers.size >= peerCacheSize) peers.clear()
      peers.set(remoteAddress, address)
    }
    return address
  }
}

/** What authenticating needs. */
interface AuthenticationContext {
  readonly keys: Keys["Type"]
  readonly digests: Digests["Type"]
  readonly addresses: Addresses["Type"]
  readonly addressOf: (request: RequestHead) => string
  readonly verifySignature: Effect.Effect.Success<typeof makeSignatureCheck>
  readonly trail: AuditTrail["Type"]
  readonly identifiers: Identifiers["Type"]
  readonly refusals: RefusalCounters["Type"]
  readonly clock: Clock.Clock
}

/** Under which a refusal of a known key is counted. */
const counterKey = ({ id }: KnownKey["key"], ip: string) => `${subscriberOf(ip)}|${id}`

/** Fails, and records the refused use of a known key in its organisation's audit trail. */
const refuseAndAudit = (
  { trail, identifiers }: AuthenticationContext,
  caller: Principal,
  failure: Failure,
  now: number
): Effect.Effect<never, Failure> => {
  const { id, name, organisationId, requestId } = caller
  trail.countRefusal({
    id: identifiers.next("aud"),
    organisationId,
    at: new Date(now).toISOString(),
    actor: actorOf(caller),
    action: "api_key.use",
    resource: { type: "api_key", id, name },
    customerId: null,
    outcome: "denied",
    requestId,
    changes: [{ path: "error", before: null, after: "code" in failure ? failure.code : failure._tag }],
    count: 1
  })
  return Effect.fail(failure)
}

/** Fails for a key that does not exist; counted for the sender's address. */
const refuseUnknownKey = (
  { addressOf, refusals }: AuthenticationContext,
  request: RequestHead,
  message: string,
  now: number
): Effect.Effect<never, Failure> => {
  const from = subscriberOf(addressOf(request))
  const exceeded = refusals.unknownKeys.exceeded(from, now)
  refusals.unknownKeys.count(from, now)
  return exceeded === undefined ? Effect.fail(unauthorized(message)) : refusals.failInTurn(exceeded)
}

/** Verifies the signature, unless this key and address have sent too many wrong ones in this minute. */
const verifySignatureWithinLimit = (
  context: AuthenticationContext,
  known: KnownKey,
  caller: Principal,
  request: LazyRequest,
  now: number
) => {
  const counted = counterKey(known.key, caller.ip)
  const exceeded = context.refusals.signatures.exceeded(counted, now)
  if (exceeded !== undefined)
    return Effect.catchAll(refuseAndAudit(context, caller, exceeded, now), () => context.refusals.failInTurn(exceeded))
  return Effect.catchAll(context.verifySignature(known, request, now), (failure) => {
    if (failure._tag !== "Unauthorized") return Effect.fail(failure)
    if (failure.code === "IDENTITY_HMAC_INVALID") context.refusals.signatures.count(counted, now)
    return refuseAndAudit(context, caller, failure, now)
  })
}

/** Admits a known key, unless its state, address or environment forbids it. */
const admitKey = (
  context: AuthenticationContext,
  known: KnownKey,
  request: RequestHead,
  requestId: RequestId,
  now: number,
  openWhileSuspended = false
): Effect.Effect<RecognisedKey, Failure> => {
  const ip = context.addressOf(request)
  const refusal = keyRefusal(context.addresses, known, request, ip, now, openWhileSuspended)
  const caller = keyCaller(known, { requestId, ip, userAgent: request.headers["user-agent"]?.slice(0, 500) ?? null })
  if (refusal === undefined) return Effect.succeed({ known, caller, now })
  const counted = counterKey(known.key, ip)
  const exceeded = context.refusals.knownKeys.exceeded(counted, now)
  context.refusals.knownKeys.count(counted, now)
  return Effect.catchAll(refuseAndAudit(context, caller, refusal, now), (failure) =>
    exceeded === undefined ? Effect.fail(failure) : context.refusals.failInTurn(exceeded)
  )
}

/** The caller by its key alone, without its signature: needs only the request's head. */
const recognise = (
  context: AuthenticationContext,
  request: RequestHead,
  requestId: RequestId,
  { keyHint: howTo = bothSchemesHint, openWhileSuspended }: Admittance = {}
): Effect.Effect<RecognisedKey, Failure> =>
  Effect.suspend(() => {
    const now = context.clock.unsafeCurrentTimeMillis()
    const text = readKey(request, howTo)
    if (typeof text !== "string") return Effect.fail(text)
    if (!keyPattern.test(text))
      return refuseUnknownKey(
        context,
        request,
        "this is not an API key of this service: a key is svk_live_ or svk_test_ and 43 characters",
        now
      )
    const hash = context.digests.keyHash(text)
    const cached = context.keys.findCached(hash, now)
    if (cached !== undefined) return admitKey(context, cached, request, requestId, now, openWhileSuspended)
    const found = Effect.flatMap(
      context.keys.find(hash),
      Option.match({
        onNone: () => refuseUnknownKey(context, request, "this API key is unknown", now),
        onSome: (known) => admitKey(context, known, request, requestId, now, openWhileSuspended)
      })
    )
    if (context.refusals.unknownKeys.exceeded(subscriberOf(context.addressOf(request)), now) === undefined) return found
    // Other clients may share the address: a key that may exist is still looked up.
    return Effect.flatMap(context.keys.mayExist(hash), (may) =>
      may ? found : refuseUnknownKey(context, request, "this API key is unknown", now)
    )
  })

/** The authenticated caller. */
const authenticate = (
  context: AuthenticationContext,
  request: LazyRequest,
  requestId: RequestId,
  admittance: Admittance = {}
): Effect.Effect<Principal, Failure> =>
  Effect.flatMap(recognise(context, request, requestId, admittance), ({ caller, known, now }) => {
    context.keys.recordUse(known.key, now)
    return known.key.hmacSecret === null
      ? Effect.succeed(caller)
      : Effect.as(verifySignatureWithinLimit(context, known, caller, request, now), caller)
  })

/** Makes the authentication that all surfaces of the node share. */
export const make = Effect.gen(function* () {
  const keys = yield* Keys
  const digests = yield* Digests
  const addresses = yield* Addresses
  const addressOf = makeClientAddress(addresses)
  const verifySignature = yield* makeSignatureCheck
  const trail = yield* AuditTrail
  const identifiers = yield* Identifiers
  const refusals = yield* RefusalCounters
  const clock = yield* Effect.clock

  const context: AuthenticationContext = {
    keys,
    digests,
    addresses,
    addressOf,
    verifySignature,
    trail,
    identifiers,
    refusals,
    clock
  }

  return {
    authenticate: (request: LazyRequest, requestId: RequestId, admittance?: Admittance) =>
      authenticate(context, request, requestId, admittance),
    recognise: (request: RequestHead, requestId: RequestId, admittance?: Admittance) =>
      recognise(context, request, requestId, admittance),
    addressOf
  }
})

/** An admitted key whose signature is not yet verified. */
interface RecognisedKey {
  readonly known: KnownKey
  readonly caller: Principal
  readonly now: number
}
