/**
 * Grants and settles calls synchronously from the owner's cached state. Nothing here suspends, so that no other call
 * can come between the check of a limit and the count of its permit. Design: the actor is the lock.
 */
import { Effect, Either } from "effect"
import { invalid } from "../../domain/Failure.js"
import {
  ConnectionNotActive,
  type CallPermit,
  type GrantAnswer,
  type GrantRequest,
  type GrantSettlement
} from "../ports/connection/Connections.js"
import type { Connection } from "../../domain/connection/Connection.js"
import { type Credential, credentialLifetime, credentialValues } from "../../domain/connection/Credential.js"
import { grantBytes, grantLifetimeMillis, grantPlace, grantText } from "../../domain/connection/Grant.js"
import { nextBlockedUntil } from "../../domain/connection/CallLimits.js"
import { coolDownMillis, isAlive, isDue, isUsable, type Lifetime } from "../../domain/connection/Refresh.js"
import { injectedParts, injectedSecrets } from "../../domain/connector/request/Injection.js"
import { isRenewable, type CachedConnector, type OpenConnection, type ConnectionOwner } from "./ConnectionOwner.js"
import type { CommandRefusal } from "./Protocol.js"
import type { CallPermits } from "./CallPermits.js"

/** The usable credential of an active connection. */
export interface UsableCredential {
  readonly open: OpenConnection
  readonly credential: Credential
  readonly connector: CachedConnector
}

/** The end of the back-off after failed refreshes, in Unix milliseconds; no refresh is tried before. */
export const coolDownEnd = ({ health, refreshFailedAt }: Connection): number =>
  refreshFailedAt === null
    ? 0
    : Date.parse(health.lastCheckedAt ?? refreshFailedAt) + coolDownMillis(health.consecutiveFailures)

/** Whether the token should be refreshed now, and whether a call can use the token it has meanwhile. */
export const tokenState = (open: OpenConnection, { method }: CachedConnector, lifetime: Lifetime, now: number) => {
  const margin = method.type === "oauth2" ? method.refresh.marginSeconds : 0
  const renewable = isRenewable(method, open.plain)
  const cooling = coolDownEnd(open.connection) > now
  return {
    needsRenewal: renewable && !cooling && (open.intent !== null || isDue(lifetime, margin, now)),
    // During the back-off, and without a way to renew it, a token is used to its end.
    servesCall: cooling || !renewable ? isAlive(lifetime, now) : isUsable(lifetime, now),
    renewable
  }
}

/** A grant with its permit, or the time of the next free permit; `undefined`: permits must be leased first. */
export const grantCall = (
  self: ConnectionOwner,
  found: UsableCredential,
  request: GrantRequest,
  now: number
): Either.Either<GrantAnswer, CommandRefusal> | undefined => {
  const { connector, open } = found
  if (!connector.origins.includes(request.origin) && request.anyOrigin !== true)
    return Either.left(invalid("origin", "NOT_ALLOWED", "is not one that the connector's requests go to"))
  const taken = takePermit(self, connector, now)
  if (taken === undefined) return undefined
  if ("at" in taken) return Either.right({ _tag: "WaitUntil", at: taken.at, why: "rate_limit" })
  const permit: CallPermit = { credential: open.credential?.number ?? 0, lease: taken.lease }
  return Either.map(sealGrant(found, request, now), (grant) => {
    self.usedSinceRefresh = true
    return { _tag: "Granted", grant, permit }
  })
}

/** Grants a call from the cached state; `undefined` if it is missing, expired or needs a refresh: ask the actor. */
export const tryGrant = (
  self: ConnectionOwner,
  request: GrantRequest,
  now: number
): Either.Either<GrantAnswer, CommandRefusal> | undefined => {
  const { connector, open } = self
  if (open === undefined || connector === undefined || now >= connector.until) return undefined
  const { connection, plain } = open
  if (connection.organisationId !== request.organisationId || connection.status !== "active" || plain === null)
    return undefined
  const { needsRenewal, servesCall } = tokenState(open, connector, credentialLifetime(plain), now)
  return needsRenewal || !servesCall ? undefined : grantCall(self, { open, credential: plain, connector }, request, now)
}

/** Whether the provider refused the call because of its credential. */
export const refusesCredential = ({ final, status }: GrantSettlement): boolean => status === 401 && final !== true

/** Returns a permit and applies the provider's quota; `undefined`: the actor must, which judges refusals and can read. */
export const trySettle = (self: ConnectionOwner, settlement: GrantSettlement, now: number) => {
  const { permit, status } = settlement
  if (refusesCredential(settlement)) return undefined
  if (status !== null && status < 400 && ownsPermit(self, permit)) self.refusalsInARow = 0
  return returnPermit(self, settlement, now)
}

/** The permits that calls of the connection need; `undefined`: its provider has no limit that is counted. */
export const permitsOf = (self: ConnectionOwner, { shared }: CachedConnector): CallPermits | undefined =>
  shared ?? self.permits

/** Returns a permit to the limit that it is of. `undefined`: the owner, which is new, must read the connector first. */
export const returnPermit = (
  self: ConnectionOwner,
  { permit: { lease }, reading }: GrantSettlement,
  now: number
): Effect.Effect<void> | undefined => {
  const { connector } = self
  if (connector === undefined) return lease === null && reading === null ? Effect.void : undefined
  const permits = permitsOf(self, connector)
  if (permits !== undefined) return permits.settle(lease ?? "", reading, now)
  self.blockedUntil = nextBlockedUntil(self.blockedUntil, reading, now)
  return Effect.void
}

/** Whether the permit was given for the credential that is stored now, not for one that was replaced since. */
export const ownsPermit = (self: ConnectionOwner, permit: CallPermit): boolean =>
  permit.credential === (self.open?.credential?.number ?? 0)

// --- Private ---

/** A permit, or the time of the next free one; `undefined`: one must be leased first. */
const takePermit = (self: ConnectionOwner, connector: CachedConnector, now: number) => {
  const permits = permitsOf(self, connector)
  if (permits !== undefined) return permits.take(now)
  return self.blockedUntil > now ? { at: self.blockedUntil } : { lease: null }
}

const sealGrant = (
  { credential, connector: { method, vault }, open }: UsableCredential,
  { executionId, origin }: GrantRequest,
  now: number
): Either.Either<Uint8Array, CommandRefusal> => {
  const values = credentialValues(credential)
  return Either.mapBoth(injectedParts(method, values, open.connection.config), {
    onLeft: ({ message, path }) =>
      new ConnectionNotActive({
        connectionId: open.connection.id,
        status: open.connection.status,
        message: `${path} ${message}`
      }),
    onRight: (injected) => {
      const signs = method.type === "custom" && method.sign !== undefined
      const expiresAt = now + grantLifetimeMillis
      const plain = grantText(injected, signs, injectedSecrets(method, values))
      return grantBytes(expiresAt, vault.seal(grantPlace(open.connection.id, origin, executionId, expiresAt), plain))
    }
  })
}
