/**
 * Authenticates a request in two steps: recognises its caller by the head (the credential's state, the organisation,
 * address list, Test mode, workspace), and verifies the whole request (identity signature). Refused attempts are counted,
 * audited and, beyond a limit, answered 429. The same for every kind of credential. Specification: Authentication.
 */
import { Effect, Option } from "effect"
import type { Principal } from "../../actors/management/Caller.js"
import { Addresses } from "../../actors/ports/organisation/Addresses.js"
import { type Failure, Unauthorized, Forbidden } from "../../domain/Failure.js"
import type { RequestId } from "../../domain/Ids.js"
import { accountOf } from "../../domain/organisation/Organisation.js"
import { plans } from "../../domain/organisation/Plan.js"
import type { LazyRequest, RecognisedCaller, RequestHead } from "../Wire.js"
import {
  type CredentialReader,
  CredentialReaders,
  type KnownCredential,
  type PresentedCredential
} from "./Credentials.js"
import { makeEmbedReader } from "./EmbedReader.js"
import { makeKeyReader } from "./KeyReader.js"
import { makeSessionReader } from "./SessionReader.js"
import { RefusalCounters, subscriberOf } from "./RefusalCounters.js"
import { counterKey, makeRefusals } from "./Refusals.js"
import { memoize } from "../../domain/RecentMap.js"
import { credentialNounOf, nounOf } from "../../domain/access/CallerKind.js"

const peerCacheSize = 1_000

/** Makes the function that finds a request's client address behind trusted proxies. */
const makeClientAddress = (addresses: Addresses["Type"]) => {
  /** Of a peer that sends no `x-forwarded-for`: saves parsing on every request. */
  const ofPeer = memoize((remoteAddress) => addresses.client(remoteAddress, undefined), peerCacheSize)
  return ({ headers, remoteAddress }: RequestHead): string => {
    const forwarded = headers["x-forwarded-for"]
    return forwarded === undefined ? ofPeer(remoteAddress) : addresses.client(remoteAddress, forwarded)
  }
}

const unauthorized = (message: string) => new Unauthorized({ code: "UNAUTHORIZED", message })

/** How a route differs from the others in admitting callers. */
export interface Admittance {
  /** How to send a credential on this surface; the end of error messages. */
  readonly keyHint?: string | undefined
  /** Admits callers of a suspended organisation. */
  readonly openWhileSuspended?: boolean
  /** Admits the sessions of people, which the service's own pages send, and embed tokens, which others' pages send. */
  readonly isOpenToPages?: boolean
  /** It refreshes tokens, and so admits one that has just expired. */
  readonly refreshesTokens?: boolean
  /** Whether Test keys must send their header; where not, clients know a URL only. */
  readonly needsTestHeader?: boolean
}

const bothSchemesHint = "send Authorization: Bearer <key> or x-svc-api-key: <key>"

/** The text of the credential that the request sends, if any; both headers may be sent if they agree. */
export const readText = ({ headers }: RequestHead, keyHint = bothSchemesHint): string | undefined | Unauthorized => {
  const bearer = headers["authorization"]
  const header = headers["x-svc-api-key"]
  const token = bearer === undefined ? undefined : /^Bearer +(\S+)$/i.exec(bearer)?.[1]
  if (bearer !== undefined && token === undefined)
    return unauthorized(`the Authorization header is not of the form Bearer <key>: ${keyHint}`)
  if (token !== undefined && header !== undefined && header !== "" && token !== header)
    return unauthorized("the two keys of this request differ: send one")
  return token ?? (header === "" ? undefined : header)
}

/** A request whose head is being authenticated. */
interface Attempt {
  readonly request: RequestHead
  readonly requestId: RequestId
  readonly now: number
  readonly openWhileSuspended: boolean
  readonly isOpenToPages: boolean
  readonly toRefresh: boolean
  readonly needsTestHeader: boolean
}

const principalOf = (
  { caller, organisation, spaceId }: KnownCredential,
  { request, requestId }: Attempt,
  ip: string
): Principal => ({
  // Member by member: to copy them as a whole costs several times as much, in each request.
  kind: caller.kind,
  id: caller.id,
  name: caller.name,
  permissions: caller.permissions,
  customers: caller.customers,
  isForCustomers: caller.isForCustomers,
  scope: caller.scope,
  bounds: caller.bounds,
  callsPerMinute: caller.callsPerMinute,
  planCalls: caller.planCalls,
  person: caller.person,
  embedded: caller.embedded,
  starter: caller.starter,
  organisationId: organisation.id,
  accountId: accountOf(organisation),
  spaceId,
  organisation,
  plan: plans[organisation.plan],
  requestId,
  ip,
  userAgent: request.headers["user-agent"]?.slice(0, 500) ?? null
})

/** The credential by the first reader of its kind. */
const readCredential = (
  readers: ReadonlyArray<CredentialReader>,
  text: string | undefined,
  { isOpenToPages, request }: Attempt
) => {
  for (const reader of readers) {
    if (reader.isForPages === true && !isOpenToPages) continue
    const presented = reader.read(text, request)
    if (presented !== undefined) return presented
  }
  return undefined
}

/** Makes the authentication that all surfaces of the node share. */
export const make = Effect.gen(function* () {
  const addresses = yield* Addresses
  const addressOf = makeClientAddress(addresses)
  const further = yield* CredentialReaders
  const readers = [...further, yield* makeKeyReader, yield* makeEmbedReader, yield* makeSessionReader]
  const { refuseAndAudit, refuseUnknown, verifyWithinLimit } = yield* makeRefusals(addressOf)
  const refusals = yield* RefusalCounters
  const clock = yield* Effect.clock

  /** Admits the caller of a known credential, unless its state, address or environment forbids it. */
  const admit = (known: KnownCredential, attempt: Attempt): Effect.Effect<AdmittedCaller, Failure> => {
    const { now, request } = attempt
    const ip = addressOf(request)
    const refusal = known.refusal(now, attempt) ?? callerRefusal(addresses, known, attempt, ip)
    const caller = principalOf(known, attempt, ip)
    if (refusal === undefined) return Effect.succeed({ known, caller, now })
    const counted = counterKey(caller, ip)
    const exceeded = refusals.knownCallers.exceeded(counted, now)
    refusals.knownCallers.count(counted, now)
    return Effect.catchAll(refuseAndAudit(caller, refusal, now), (failure) =>
      exceeded === undefined ? Effect.fail(failure) : refusals.failInTurn(exceeded)
    )
  }

  /** Admits the caller of a credential, which is looked up where it is not cached. */
  const findAndAdmit = ({ find, findCached, mayExist, unknownMessage }: PresentedCredential, attempt: Attempt) => {
    const { now, request } = attempt
    const cached = findCached(now)
    if (cached !== undefined) return admit(cached, attempt)
    const refused = Effect.suspend(() => refuseUnknown(request, unknownMessage, now))
    const found = Effect.flatMap(
      Effect.suspend(find),
      Option.match({ onNone: () => refused, onSome: (known) => admit(known, attempt) })
    )
    if (refusals.unknownCredentials.exceeded(subscriberOf(addressOf(request)), now) === undefined) return found
    // Other clients may share the address: a credential that may exist is still looked up.
    return Effect.flatMap(Effect.suspend(mayExist), (may) => (may ? found : refused))
  }

  /** The caller by its credential alone, without its signature: needs only the request's head. */
  const recognise = (
    request: RequestHead,
    requestId: RequestId,
    {
      isOpenToPages = false,
      keyHint = bothSchemesHint,
      needsTestHeader = true,
      openWhileSuspended = false,
      refreshesTokens: toRefresh = false
    }: Admittance = {}
  ): Effect.Effect<AdmittedCaller, Failure> =>
    Effect.suspend(() => {
      const now = clock.unsafeCurrentTimeMillis()
      const text = readText(request, keyHint)
      if (text instanceof Unauthorized) return Effect.fail(text)
      const attempt = { request, requestId, now, openWhileSuspended, isOpenToPages, toRefresh, needsTestHeader }
      const presented = readCredential(readers, text, attempt)
      if (presented !== undefined) return findAndAdmit(presented, attempt)
      if (text === undefined) return Effect.fail(unauthorized(`no API key: ${keyHint}`))
      return refuseUnknown(
        request,
        "this is not an API key of this service: a key is svk_live_ or svk_test_ and 43 characters",
        now
      )
    })

  /** Verifies the whole request of an admitted caller, whose credential is now used. */
  const verify = ({ caller, known }: AdmittedCaller, request: LazyRequest, now: number) => {
    known.recordUse(now)
    return known.verify === undefined
      ? Effect.succeed(caller)
      : Effect.as(verifyWithinLimit(known.verify, caller, request, now), caller)
  }

  return {
    /** The authenticated caller. */
    authenticate: (request: LazyRequest, requestId: RequestId, admittance?: Admittance) =>
      request.recognised === undefined
        ? Effect.flatMap(recognise(request, requestId, admittance), (found) => verify(found, request, found.now))
        : request.recognised.verify(request),
    /** The caller by the request's head alone. */
    recognise: (request: RequestHead, requestId: RequestId, admittance?: Admittance) =>
      Effect.map(recognise(request, requestId, admittance), (found): RecognisedCaller => {
        const { caller } = found
        return {
          caller,
          verify: (whole) => Effect.suspend(() => verify(found, whole, clock.unsafeCurrentTimeMillis()))
        }
      }),
    addressOf
  }
})

/** An admitted caller whose signature is not yet verified. */
interface AdmittedCaller {
  readonly known: KnownCredential
  readonly caller: Principal
  readonly now: number
}

/** The refusal of a caller by its organisation, address list, Test mode or workspace; `undefined` if it is admitted. */
export const callerRefusal = (
  addresses: Addresses["Type"],
  { caller, organisation, spaceId }: KnownCredential,
  { needsTestHeader, openWhileSuspended, request }: Pick<Attempt, "needsTestHeader" | "openWhileSuspended" | "request">,
  ip: string
): Failure | undefined => {
  const { allowedIps, mode } = caller.bounds
  if (organisation.status !== "active" && !openWhileSuspended)
    return new Forbidden({ code: "FORBIDDEN", message: "the organisation is suspended" })
  if (allowedIps.length > 0 && !addresses.within(ip, allowedIps))
    return new Forbidden({
      code: "IP_NOT_ALLOWED",
      message: `this ${credentialNounOf(caller)} may not be used from ${ip}`
    })
  if (mode === "test" && needsTestHeader && request.headers["x-svc-test-mode"]?.toLowerCase() !== "true")
    return new Forbidden({
      code: "TEST_MODE_HEADER_REQUIRED",
      message: `a Test ${nounOf(caller)} must send the header X-svc-Test-Mode: true`
    })
  const space = request.headers["x-svc-space-id"]
  if (space !== undefined && space !== "" && space !== spaceId)
    return new Forbidden({
      code: "FORBIDDEN",
      message: `x-svc-space-id names another workspace than the ${nounOf(caller)}'s`
    })
  return undefined
}
