/**
 * Authorises calls through a connection: seals the credential for one request, takes a permit of the provider's rate
 * limit, and settles both with the answer. A caller waits only when no usable token is stored. Design: the actor is the
 * lock.
 */
import { Clock, Deferred, Effect, type Scope } from "effect"
import {
  ConnectionNotActive,
  type GrantAnswer,
  type GrantRequest,
  type GrantSettlement
} from "../ports/connection/Connections.js"
import type { Connection } from "../../domain/connection/Connection.js"
import { notActiveReason } from "../../domain/connection/ConnectionStates.js"
import { credentialLifetime, credentialValues } from "../../domain/connection/Credential.js"
import { isAlive } from "../../domain/connection/Refresh.js"
import {
  ownsPermit,
  permitsOf,
  coolDownEnd,
  refusesCredential,
  returnPermit,
  grantCall,
  trySettle,
  tokenState,
  type UsableCredential
} from "./CallGrant.js"
import { busy, isRenewable, type ConnectionOwner } from "./ConnectionOwner.js"
import { ConnectionOwners } from "./ConnectionOwners.js"
import { CredentialTest } from "./credential/CredentialTest.js"
import { canRenew, holdsNewToken, StoredCredentialTest } from "./credential/StoredCredentialTest.js"
import type { CommandRefusal, PayloadOf } from "./Protocol.js"
import { TokenRefresh } from "./credential/TokenRefresh.js"
import { parseUrl } from "../../domain/Url.js"
import { makeConnectorCache } from "./ConnectorCache.js"

/** Refusals of a fresh credential that end the connection. */
const maxRefusals = 2
/** Refuses a call because the connection is not active. */
export const notActive = (connection: Connection): ConnectionNotActive =>
  new ConnectionNotActive({
    connectionId: connection.id,
    status: connection.status,
    message: notActiveReason(connection)
  })

export const make = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const { connectorOf } = yield* makeConnectorCache
  const { renew } = yield* TokenRefresh
  const { endUnrenewable, renewAndRead } = yield* StoredCredentialTest
  const { signatureHeaders, testCredential } = yield* CredentialTest

  /** The credential for a call, or the time at which to try again, in Unix milliseconds. */
  const findUsable = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    organisation: string,
    scope: Scope.Scope
  ): Effect.fn.Return<UsableCredential | number, CommandRefusal> {
    for (let round = 0; ; round++) {
      const open = yield* owners.read(self, organisation)
      const credential = open.plain
      if (open.connection.status !== "active" || credential === null) return yield* notActive(open.connection)
      const now = yield* Clock.currentTimeMillis
      const connector = yield* connectorOf(self, open, now)
      const lifetime = credentialLifetime(credential)
      const { renewable, needsRenewal, servesCall } = tokenState(open, connector, lifetime, now)
      const refreshing = needsRenewal && round < 2 ? yield* renew(self, open, scope) : undefined
      if (servesCall) return { open, credential, connector }
      if (refreshing !== undefined) {
        yield* Deferred.await(refreshing)
        continue
      }
      if (!renewable) {
        yield* endUnrenewable(self, organisation)
        continue
      }
      // The refresh failed: a token that is valid for some seconds is still used.
      if (isAlive(lifetime, now)) return { open, credential, connector }
      return Math.max(coolDownEnd(open.connection), now + 1_000)
    }
  })

  /** Grants a call: the sealed credential and a permit, or when to try again. */
  const grant = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    request: GrantRequest,
    scope: Scope.Scope
  ): Effect.fn.Return<GrantAnswer, CommandRefusal> {
    const found = yield* findUsable(self, request.organisationId, scope)
    if (typeof found === "number") return { _tag: "WaitUntil", at: found, why: "connection" }
    for (;;) {
      const answer = grantCall(self, found, request, yield* Clock.currentTimeMillis)
      if (answer !== undefined) return yield* answer
      const permits = permitsOf(self, found.connector)
      if (permits !== undefined) yield* permits.fetch(request.timeoutMillis)
    }
  })

  /** Fails the connection when a new credential is rejected twice, unless the connector's test passes. */
  const countRefusal = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    organisation: string,
    scope: Scope.Scope
  ): Effect.fn.Return<void, CommandRefusal> {
    const open = yield* owners.read(self, organisation)
    const { connection, plain } = open
    if (connection.status !== "active" || plain === null) return
    const now = yield* Clock.currentTimeMillis
    const { definition, method } = yield* connectorOf(self, open, now)
    if (isRenewable(method, plain) && !holdsNewToken(self, open, now)) {
      // Perhaps only this token was revoked: a refresh shows whether the grant is.
      if (canRenew(open, method, now)) yield* renew(self, open, scope)
      return
    }
    self.refusalsInARow += 1
    if (self.refusalsInARow < maxRefusals) return
    self.refusalsInARow = 0
    const hasTest = definition.test !== undefined
    const result = yield* testCredential(connection.organisationId, definition, method, plain, connection.config)
    if (hasTest && !(result._tag === "NotPassed" && result.refused)) return
    yield* owners.change(
      self,
      organisation,
      { _tag: "Reject", reason: "the provider refuses the credential: it answered 401 twice" },
      {
        precondition: (held) =>
          held.credential?.number === open.credential?.number
            ? undefined
            : busy("the credential was replaced meanwhile")
      }
    )
  })

  /** Returns the permit of a call, and counts a rejection of its credential. */
  const settle = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    organisation: string,
    settlement: GrantSettlement,
    scope: Scope.Scope
  ) {
    const now = yield* Clock.currentTimeMillis
    const settled = trySettle(self, settlement, now)
    if (settled !== undefined) return yield* settled
    // The owner may be new, without a call so far, or the connection changed since the last call.
    yield* connectorOf(self, yield* owners.read(self, organisation), now)
    yield* returnPermit(self, settlement, now) ?? Effect.void
    if (refusesCredential(settlement) && ownsPermit(self, settlement.permit))
      yield* countRefusal(self, organisation, scope).pipe(Effect.catchAll(() => Effect.void))
  })

  /** Whether a newer credential than that of the rejected call is stored, after one renewal where one is possible. */
  const renewRefused = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    { organisationId, permit }: Pick<GrantRequest, "organisationId"> & Pick<GrantSettlement, "permit">,
    scope: Scope.Scope
  ): Effect.fn.Return<boolean, CommandRefusal> {
    const open = yield* owners.read(self, organisationId)
    if (open.connection.status !== "active") return false
    if (!ownsPermit(self, permit)) return true
    const now = yield* Clock.currentTimeMillis
    const { method } = yield* connectorOf(self, open, now)
    if (!canRenew(open, method, now) || holdsNewToken(self, open, now)) return false
    const { connection, credential } = yield* renewAndRead(self, open, scope)
    return connection.status === "active" && credential?.number !== open.credential?.number
  })

  /** The headers that sign a request by the connection's method. */
  const sign = Effect.fnUntraced(function* (self: ConnectionOwner, request: PayloadOf<"Sign">) {
    const open = yield* owners.read(self, request.organisationId)
    const { connection, plain } = open
    if (connection.status !== "active" || plain === null) return yield* notActive(connection)
    const { method, origins } = yield* connectorOf(self, open, yield* Clock.currentTimeMillis)
    if (!origins.includes(parseUrl(request.url)?.origin ?? "")) return []
    return yield* Effect.catchAll(
      signatureHeaders(method, credentialValues(plain), request, request.challenge),
      ({ message, path }) =>
        new ConnectionNotActive({ connectionId: self.id, status: connection.status, message: `${path} ${message}` })
    )
  })

  return { grant, settle, renewRefused, sign }
})
