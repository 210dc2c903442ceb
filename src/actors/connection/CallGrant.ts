/**
 * What a call through a connection is answered at once, from what its owner holds: nothing here waits, so nothing comes
 * between a look at the state and the count of a permit. Design: the actor is the lock.
 */
import { Effect, Either } from "effect"
import type { Connection } from "../../domain/connection/Connection.js"
import { type Credential, credentialLifetime, credentialValues } from "../../domain/connection/Credential.js"
import { grantBytes, grantLifetimeMillis, grantPlace, grantText } from "../../domain/connection/Grant.js"
import { releasePermit, type ProviderQuota, takePermit } from "../../domain/connection/RateLimiter.js"
import { coolDownMillis, isAlive, isDue, isUsable, type Lifetime } from "../../domain/connection/Refresh.js"
import { injectedParts, injectedSecrets } from "../../domain/connector/Injection.js"
import { isRenewable, type Means, type Open, type ConnectionOwner } from "./ConnectionOwner.js"
import type { CommandRefusal } from "./Protocol.js"
import { connectedCall } from "../../domain/Limits.js"

export interface Asked {
  readonly organisationId: string
  readonly origin: string
  readonly executionId: string | null
  readonly timeoutMillis: number
}

export interface GrantSettlement {
  readonly permit: string
  readonly status: number | null
  /** The definition says of the refusal that no other credential would do better. */
  readonly final?: boolean | undefined
  readonly reading: ProviderQuota | null
}

export type Authorized =
  | { readonly _tag: "Granted"; readonly grant: Uint8Array; readonly permit: string }
  | { readonly _tag: "WaitUntil"; readonly at: number; readonly why: "rate_limit" | "connection" }

/** A credential that may be used, of a connection that is active. */
export interface Usable {
  readonly open: Open
  readonly credential: Credential
  readonly means: Means
}

/** Until when no refresh is tried, after those that failed. Unix milliseconds. */
export const coolUntil = ({ health, refreshFailedAt }: Connection): number =>
  refreshFailedAt === null
    ? 0
    : Date.parse(health.lastCheckedAt ?? refreshFailedAt) + coolDownMillis(health.consecutiveFailures)

/** Whether a refresh should be under way, and whether the call can do without its result. */
export const tokenState = (open: Open, { method }: Means, lifetime: Lifetime, now: number) => {
  const margin = method.type === "oauth2" ? method.refresh.marginSeconds : 0
  const renewable = isRenewable(method, open.plain)
  const cooling = coolUntil(open.connection) > now
  return {
    renews: renewable && !cooling && (open.intent !== null || isDue(lifetime, margin, now)),
    // While no better one can be had, a token is used to its end.
    serves: cooling || !renewable ? isAlive(lifetime, now) : isUsable(lifetime, now),
    renewable
  }
}

/** A grant and its permit, or when the provider takes the next call; `undefined`: permits have to be leased first. */
export const grantCall = (
  self: ConnectionOwner,
  found: Usable,
  asked: Asked,
  now: number
): Either.Either<Authorized, CommandRefusal> | undefined => {
  const { means, open } = found
  if (!means.origins.includes(asked.origin))
    return Either.left({
      _tag: "Invalid",
      path: "origin",
      code: "NOT_ALLOWED",
      message: "is not one that the connector's requests go to"
    })
  const shared = means.shared === null ? { lease: "" } : means.shared.take(now)
  if (shared === undefined) return undefined
  if ("at" in shared) return Either.right({ _tag: "WaitUntil", at: shared.at, why: "rate_limit" })
  const own = `${open.credential?.number ?? 0}.${++self.permits}`
  const permit = shared.lease === "" ? own : `${own}.${shared.lease}`
  const taken = takePermit(
    means.limits,
    self.limiter,
    permit,
    now,
    Math.min(asked.timeoutMillis, connectedCall.longestMillis)
  )
  self.limiter = taken.state
  if (taken._tag === "WaitUntil") return Either.right({ _tag: "WaitUntil", at: taken.at, why: "rate_limit" })
  return Either.map(sealedGrant(found, asked, now), (grant) => {
    self.used = true
    return { _tag: "Granted", grant, permit }
  })
}

/** The answer to a call that needs nothing but what is held and fresh; `undefined`: the actor has to be asked. */
export const authorizeAtOnce = (
  self: ConnectionOwner,
  asked: Asked,
  now: number
): Either.Either<Authorized, CommandRefusal> | undefined => {
  const { means, open } = self
  if (open === undefined || means === undefined || now >= means.until) return undefined
  const { connection, plain } = open
  if (connection.organisationId !== asked.organisationId || connection.status !== "active" || plain === null)
    return undefined
  const { renews, serves } = tokenState(open, means, credentialLifetime(plain), now)
  return renews || !serves ? undefined : grantCall(self, { open, credential: plain, means }, asked, now)
}

/** Gives a permit back and learns from the answer; `undefined` where the actor has to look into a refusal first. */
export const settleAtOnce = (
  self: ConnectionOwner,
  settlement: GrantSettlement,
  now: number
): Effect.Effect<void> | undefined => {
  const { permit, status } = settlement
  if (status === 401) return undefined
  if (status !== null && status < 400 && ownsPermit(self, permit)) self.refusals = 0
  return returnPermit(self, settlement, now)
}

/** The provider's count is the connection's, or that of all of them. */
export const returnPermit = (
  self: ConnectionOwner,
  { permit, reading }: GrantSettlement,
  now: number
): Effect.Effect<void> => {
  const shared = self.means?.shared ?? null
  self.limiter = releasePermit(self.limiter, permit, shared === null ? reading : null, now)
  return shared === null ? Effect.void : shared.settle(permit.split(".")[2] ?? "", reading, now)
}

/** What a call with the credential before was told says nothing of this one. */
export const ownsPermit = (self: ConnectionOwner, permit: string): boolean =>
  permit.split(".")[0] === String(self.open?.credential?.number ?? 0)

// --- Private ---

const sealedGrant = (
  { credential, means: { method, vault }, open }: Usable,
  { executionId, origin }: Asked,
  now: number
): Either.Either<Uint8Array, CommandRefusal> => {
  const values = credentialValues(credential)
  return Either.mapBoth(injectedParts(method, values, open.connection.config), {
    onLeft: ({ message, path }): CommandRefusal => ({
      _tag: "NotActive",
      status: open.connection.status,
      reason: `${path} ${message}`
    }),
    onRight: (injected) => {
      const signs = method.type === "custom" && method.sign !== undefined
      const expiresAt = now + grantLifetimeMillis
      const plain = grantText(injected, signs, injectedSecrets(method, values))
      return grantBytes(expiresAt, vault.seal(grantPlace(open.connection.id, origin, executionId, expiresAt), plain))
    }
  })
}
