/** Reads embed tokens: a known one makes its caller, unless it or its session has ended. Contract: embed. */
import { Effect, Option } from "effect"
import { EmbedSessions, type KnownEmbedSession } from "../../actors/ports/access/EmbedSessions.js"
import { Digests } from "../../actors/ports/Digests.js"
import type { Caller } from "../../domain/access/Caller.js"
import {
  embedLimits,
  embedTokenHash,
  embedTokenPattern,
  embedTokenRefusal,
  endedRefusal,
  sessionRights,
  sessionScope
} from "../../domain/access/EmbedSession.js"
import type { CredentialReader, KnownCredential } from "./Credentials.js"

/** Kept as long as what is known of the token: a request copies members, and derives none. */
const callers = new WeakMap<KnownEmbedSession, Caller>()

const embedCaller = (known: KnownEmbedSession, tokenHash: string): Caller => {
  const cached = callers.get(known)
  if (cached !== undefined) return cached
  const { customer, key, session } = known
  const permissions = sessionRights(session, key)
  const customers = new Set([session.customerId])
  const caller: Caller = {
    kind: "embed",
    id: session.id,
    name: session.userName ?? session.userEmail ?? session.userId ?? customer.name,
    permissions,
    customers,
    isForCustomers: true,
    scope: sessionScope(session, key),
    bounds: {
      mode: "live",
      permissions,
      customers,
      hmac: false,
      resourceScope: key.resourceScope,
      allowedIps: [],
      rateLimit: embedLimits.callsPerMinute,
      expiresAt: session.expiresAt
    },
    callsPerMinute: embedLimits.callsPerMinute,
    planCalls: "sessions",
    person: null,
    embedded: {
      sessionId: session.id,
      tokenHash,
      keyId: key.id,
      customerId: session.customerId,
      userId: session.userId,
      widgetId: session.widgetId,
      widgetVersion: session.widgetVersion
    },
    starter: { keyId: key.id, keyName: key.name }
  }
  callers.set(known, caller)
  return caller
}

export const makeEmbedReader = Effect.gen(function* () {
  const sessions = yield* EmbedSessions
  const digests = yield* Digests

  const credentialOf = (known: KnownEmbedSession, hash: string): KnownCredential => {
    const { organisation, session } = known
    return {
      caller: embedCaller(known, hash),
      organisation,
      spaceId: session.spaceId,
      refusal: (now, { toRefresh }) => endedRefusal(known, now) ?? embedTokenRefusal(session, hash, now, toRefresh),
      verify: undefined,
      recordUse: () => {}
    }
  }

  const read: CredentialReader["read"] = (text) => {
    if (text === undefined || !embedTokenPattern.test(text)) return undefined
    const hash = embedTokenHash(digests.keyHash, text)
    return {
      findCached: (now) => {
        const known = sessions.findCached(hash, now)
        return known === undefined ? undefined : credentialOf(known, hash)
      },
      find: () =>
        Effect.map(
          sessions.find(hash),
          Option.map((known) => credentialOf(known, hash))
        ),
      mayExist: () => sessions.mayExist(hash),
      unknownMessage: "this embed token is unknown, or its session ended long ago: mint a new one"
    }
  }
  return { read, isForPages: true } satisfies CredentialReader
})
