/** Reads sessions: the cookie of a person who has signed in, on a request of the service's own pages. */
import { Effect, Option } from "effect"
import { type KnownSession, type OrganisationMember, Sessions } from "../../actors/ports/access/Sessions.js"
import { Digests } from "../../actors/ports/Digests.js"
import { Origin } from "../../actors/ports/Origin.js"
import type { Caller } from "../../domain/access/Caller.js"
import { toSet } from "../../domain/access/Permission.js"
import { isOver, sessionLimits } from "../../domain/access/Session.js"
import { Forbidden, Unauthorized } from "../../domain/Failure.js"
import type { RequestHead } from "../Wire.js"
import type { CredentialReader, KnownCredential } from "./Credentials.js"
import { makeSessionCookie } from "./SessionCookie.js"

/** Kept as long as the membership is in memory: a request copies members, and derives none. */
const callers = new WeakMap<OrganisationMember, Caller>()

const personCaller = ({ email, memberships, session }: KnownSession, membership: OrganisationMember): Caller => {
  const cached = callers.get(membership)
  if (cached !== undefined) return cached
  const { role, user } = membership
  const permissions = toSet(role.permissions)
  const customers = user.customerIds.length === 0 ? "all" : new Set(user.customerIds)
  const caller: Caller = {
    kind: "person",
    id: user.id,
    name: user.name ?? user.email,
    permissions,
    customers,
    isForCustomers: customers !== "all",
    scope: {},
    bounds: {
      mode: "live",
      permissions,
      customers,
      hmac: false,
      resourceScope: [],
      allowedIps: [],
      rateLimit: null,
      expiresAt: null
    },
    callsPerMinute: sessionLimits.callsPerMinute,
    planCalls: "none",
    embedded: null,
    person: {
      userId: user.id,
      identityId: session.identityId,
      sessionId: session.id,
      email,
      organisations: memberships.map(({ organisation: { id, name } }) => ({ id, name }))
    },
    starter: { keyId: null, keyName: null, personId: user.id }
  }
  callers.set(membership, caller)
  return caller
}

const notHere = (header: string, what: string) =>
  new Forbidden({ code: "FORBIDDEN", message: `${header} names no ${what} of yours` })

export const makeSessionReader = Effect.gen(function* () {
  const sessions = yield* Sessions
  const digests = yield* Digests
  const origin = yield* Origin

  /** The credential in the organisation and workspace that the request names, else the first ones. */
  const credentialOf = (known: KnownSession, { headers }: RequestHead): KnownCredential => {
    const { memberships, session } = known
    const organisation = headers["x-svc-organization"]
    const workspace = headers["x-svc-workspace"]
    const named = memberships.find((one) => one.organisation.id === organisation)
    const membership = named ?? memberships[0]
    const space = membership.spaces.find((one) => one === workspace)
    const refused =
      organisation !== undefined && named === undefined
        ? notHere("x-svc-organization", "organisation")
        : workspace !== undefined && space === undefined
          ? notHere("x-svc-workspace", "workspace")
          : undefined
    return {
      caller: personCaller(known, membership),
      organisation: membership.organisation,
      spaceId: space ?? membership.spaces[0],
      refusal: (now) =>
        isOver(session, sessions.seenAt(session), now)
          ? new Unauthorized({ code: "SESSION_EXPIRED", message: "this session has ended: sign in again" })
          : refused,
      verify: undefined,
      recordUse: (now) => sessions.recordUse(session, now)
    }
  }

  const cookie = makeSessionCookie(origin)

  const read: CredentialReader["read"] = (text, request) => {
    if (text !== undefined || request.headers["cookie"] === undefined) return undefined
    if (!cookie.isPrivate || !cookie.mayAct(request)) return undefined
    const token = cookie.tokenOf(request)
    if (token === undefined) return undefined
    const hash = digests.keyHash(`session|${token}`)
    return {
      findCached: (now) => {
        const known = sessions.findCached(hash, now)
        return known === undefined ? undefined : credentialOf(known, request)
      },
      find: () =>
        Effect.map(
          sessions.find(hash),
          Option.map((known) => credentialOf(known, request))
        ),
      mayExist: () => sessions.mayExist(hash),
      unknownMessage: "this session has ended: sign in again"
    }
  }
  return { read, isForPages: true } satisfies CredentialReader
})
