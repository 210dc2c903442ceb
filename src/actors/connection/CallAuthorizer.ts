/**
 * Authorises calls through a connection: seals the credential for one request, takes a permit of the provider's rate
 * limit, and settles both with the answer. A caller waits only when no usable token is stored. Design: the actor is the
 * lock.
 */
import { Clock, Deferred, Effect, Either, type Scope } from "effect"
import { type Connection } from "../../domain/connection/Connection.js"
import { notActiveReason } from "../../domain/connection/ConnectionStates.js"
import { credentialLifetime, credentialValues } from "../../domain/connection/Credential.js"
import { type CallLimits, unlimited } from "../../domain/connection/RateLimiter.js"
import { isAlive } from "../../domain/connection/Refresh.js"
import { connectionOrigins } from "../../domain/connector/BaseUrl.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import {
  type Asked,
  type Authorized,
  ownsPermit,
  coolUntil,
  returnPermit,
  grantCall,
  settleAtOnce,
  type GrantSettlement,
  tokenState,
  type Usable
} from "./CallGrant.js"
import {
  busy,
  isRenewable,
  type Means,
  type Open,
  type ConnectionOwner,
  ConnectionOwners,
  failWith
} from "./ConnectionOwner.js"
import { Permits } from "./SharedPermits.js"
import { CredentialTest } from "./CredentialTest.js"
import { canRenew, holdsNewToken, StoredCredentialTest } from "./StoredCredentialTest.js"
import type { CommandRefusal } from "./Protocol.js"
import { TokenRefresh } from "./TokenRefresh.js"
import { parseUrl } from "../../domain/Url.js"

/** How long a connector's definition is cached. */
const meansMillis = 1_000
/** Refusals of a fresh credential that end the connection. */
const mostRefusals = 2
export const notActive = (connection: Connection): CommandRefusal => ({
  _tag: "NotActive",
  status: connection.status,
  reason: notActiveReason(connection)
})

const recentMost = 1_000

const limitsOf = ({ rateLimit }: ConnectorDefinition): CallLimits =>
  rateLimit === undefined
    ? unlimited
    : {
        requests: rateLimit.requests ?? null,
        perMillis: rateLimit.perSeconds * 1000,
        concurrency: rateLimit.concurrency ?? null
      }

export const make = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const permits = yield* Permits
  const { renew } = yield* TokenRefresh
  const { endUnrenewable, renewed } = yield* StoredCredentialTest
  const { probe, signature } = yield* CredentialTest

  // --- What a call needs ---

  /** Shared by connections with the same connector, version, method and config. */
  const recent = new Map<string, Means>()

  const readMeans = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    { connection }: Open,
    now: number
  ): Effect.fn.Return<Means, CommandRefusal> {
    const { authMethod, config, connector, connectorVersion, organisationId } = connection
    const key = JSON.stringify([organisationId, connector, connectorVersion, authMethod, config])
    const known = recent.get(key)
    if (known !== undefined && now < known.until) {
      self.means = known
      return known
    }
    const definition = yield* owners.definitionOf(organisationId, connector, connectorVersion)
    const method = yield* owners.methodOf(definition, authMethod)
    const vault = yield* owners.vaultOf(organisationId)
    const origins = Either.getOrElse(connectionOrigins(definition, config), () => [])
    const limits = limitsOf(definition)
    const counted =
      definition.rateLimit?.scope === "connector"
        ? { limits: unlimited, shared: permits.of(organisationId, connector, limits) }
        : { limits, shared: null }
    const means = { until: now + meansMillis, definition, method, origins, vault, ...counted }
    if (recent.size >= recentMost) recent.clear()
    recent.set(key, means)
    self.means = means
    return means
  })
  const meansOf = (self: ConnectionOwner, open: Open, now: number): Effect.Effect<Means, CommandRefusal> =>
    self.means !== undefined && now < self.means.until ? Effect.succeed(self.means) : readMeans(self, open, now)

  // --- The token ---

  /** The credential to call with, or the time to ask again, in Unix milliseconds. */
  const usable = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    organisation: string,
    scope: Scope.Scope
  ): Effect.fn.Return<Usable | number, CommandRefusal> {
    for (let round = 0; ; round++) {
      const open = yield* owners.current(self, organisation)
      const credential = open.plain
      if (open.connection.status !== "active" || credential === null) return yield* failWith(notActive(open.connection))
      const now = yield* Clock.currentTimeMillis
      const means = yield* meansOf(self, open, now)
      const lifetime = credentialLifetime(credential)
      const { renewable, renews, serves } = tokenState(open, means, lifetime, now)
      const refreshing = renews && round < 2 ? yield* renew(self, organisation, scope) : undefined
      if (serves) return { open, credential, means }
      if (refreshing !== undefined) {
        yield* Deferred.await(refreshing)
        continue
      }
      if (!renewable) {
        yield* endUnrenewable(self, organisation)
        continue
      }
      // A token that still lives a few seconds is better than none.
      if (isAlive(lifetime, now)) return { open, credential, means }
      return Math.max(coolUntil(open.connection), now + 1_000)
    }
  })

  // --- Authorize ---

  const authorize = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    asked: Asked,
    scope: Scope.Scope
  ): Effect.fn.Return<Authorized, CommandRefusal> {
    const found = yield* usable(self, asked.organisationId, scope)
    if (typeof found === "number") return { _tag: "WaitUntil", at: found, why: "connection" }
    for (;;) {
      const answer = grantCall(self, found, asked, yield* Clock.currentTimeMillis)
      if (answer !== undefined) return yield* answer
      if (found.means.shared !== null) yield* found.means.shared.fetch(asked.timeoutMillis)
    }
  })

  // --- Settle ---

  /** Fails the connection when a new credential is rejected twice, unless the connector's test passes. */
  const refused = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    organisation: string,
    status: number,
    scope: Scope.Scope
  ): Effect.fn.Return<void, CommandRefusal> {
    const open = yield* owners.current(self, organisation)
    const { connection, plain } = open
    if (connection.status !== "active" || plain === null) return
    const now = yield* Clock.currentTimeMillis
    const { definition, method } = yield* meansOf(self, open, now)
    if (isRenewable(method, plain) && !holdsNewToken(self, open, now)) {
      // Perhaps only this token was revoked: a new one shows whether the grant is alive.
      if (canRenew(open, method, now)) yield* renew(self, organisation, scope)
      return
    }
    self.refusals += 1
    if (self.refusals < mostRefusals) return
    self.refusals = 0
    const tested = definition.test !== undefined
    const probed = yield* probe(definition, method, plain, connection.config)
    if (tested && !(probed._tag === "NotPassed" && probed.refused)) return
    yield* owners.change(
      self,
      organisation,
      { _tag: "Reject", reason: `the provider refuses the credential: it answered ${status} twice` },
      {
        unless: (held) =>
          held.credential?.number === open.credential?.number
            ? undefined
            : busy("the credential was replaced meanwhile")
      }
    )
  })

  const settle = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    organisation: string,
    settlement: GrantSettlement,
    scope: Scope.Scope
  ) {
    const { permit, status } = settlement
    const now = yield* Clock.currentTimeMillis
    const settled = settleAtOnce(self, settlement, now)
    if (settled !== undefined) return yield* settled
    yield* returnPermit(self, settlement, now)
    if (status === null || settlement.final === true) return
    if (ownsPermit(self, permit))
      yield* refused(self, organisation, status, scope).pipe(Effect.catchAll(() => Effect.void))
  })

  /** Whether a newer credential than that of the rejected call is stored, after one renewal where one is possible. */
  const renewRefused = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    { organisationId, permit }: { readonly organisationId: string; readonly permit: string },
    scope: Scope.Scope
  ): Effect.fn.Return<boolean, CommandRefusal> {
    const open = yield* owners.current(self, organisationId)
    if (open.connection.status !== "active") return false
    if (!ownsPermit(self, permit)) return true
    const now = yield* Clock.currentTimeMillis
    const { method } = yield* meansOf(self, open, now)
    if (!canRenew(open, method, now) || holdsNewToken(self, open, now)) return false
    const { connection, credential } = yield* renewed(self, organisationId, scope)
    return connection.status === "active" && credential?.number !== open.credential?.number
  })

  // --- Signing ---

  const sign = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    request: {
      readonly organisationId: string
      readonly method: string
      readonly url: string
      readonly body: string | Uint8Array | null
      readonly challenge: string | null
    }
  ) {
    const open = yield* owners.current(self, request.organisationId)
    const { connection, plain } = open
    if (connection.status !== "active" || plain === null) return yield* failWith(notActive(connection))
    const { method, origins } = yield* meansOf(self, open, yield* Clock.currentTimeMillis)
    if (!origins.includes(parseUrl(request.url)?.origin ?? "")) return []
    return yield* Effect.catchAll(
      signature(method, credentialValues(plain), request, request.challenge),
      ({ message, path }) => failWith({ _tag: "NotActive", status: connection.status, reason: `${path} ${message}` })
    )
  })

  return { authorize, settle, renewRefused, sign }
})
