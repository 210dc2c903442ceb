/**
 * Tests the stored credential of a connection: refreshes the token when it is due, and once more when the provider rejects
 * it. Only a refusal of the token endpoint, or the rejection of a token that was just issued, counts against the credential.
 */
import { Clock, Deferred, Effect, type Scope } from "effect"
import { InvalidState } from "../../../domain/Failure.js"
import { type Connection } from "../../../domain/connection/Connection.js"
import { notActiveReason, remedyOf } from "../../../domain/connection/ConnectionStates.js"
import { credentialLifetime } from "../../../domain/connection/Credential.js"
import { isAlive, isDue, isJustIssued } from "../../../domain/connection/Refresh.js"
import type { AuthMethod } from "../../../domain/connector/AuthMethod.js"
import { coolDownEnd } from "../CallGrant.js"
import { isRenewable, marginOf, type OpenConnection, type ConnectionOwner } from "../ConnectionOwner.js"
import { ConnectionOwners } from "../ConnectionOwners.js"
import { CredentialTest, type CredentialTestResult } from "./CredentialTest.js"
import type { CommandRefusal } from "../Protocol.js"
import { TokenRefresh } from "./TokenRefresh.js"

/** The result of a test, with the connection after it. */
export interface StoredCredentialTestResult {
  readonly open: OpenConnection
  readonly result: CredentialTestResult
  /** Whether the rejection counts against the credential, because a newer token cannot be requested. */
  readonly countsAsRefusal: boolean
}

/** How often a test is repeated because another request replaced the credential meanwhile. */
const maxReplacements = 3

/** Whether this owner got the token so recently that it cannot be rejected because of its age. */
export const holdsNewToken = (self: ConnectionOwner, { credential, plain }: OpenConnection, now: number): boolean =>
  credential !== null &&
  plain !== null &&
  self.issuedNumber === credential.number &&
  isJustIssued(credentialLifetime(plain), now)

/** Whether a new token may be requested now. */
export const canRenew = ({ connection, plain }: OpenConnection, method: AuthMethod, now: number): boolean =>
  isRenewable(method, plain) &&
  (connection.status === "active" || connection.status === "inactive") &&
  coolDownEnd(connection) <= now

const noCredential = ({ status }: Connection): InvalidState =>
  new InvalidState({ state: status, message: `the connection holds no credential: ${remedyOf(status)}` })

const unrenewableReason = "the access token has ended, and the provider gave nothing to renew it with"

const make = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const { renew } = yield* TokenRefresh
  const { testCredential } = yield* CredentialTest

  const connectorOf = Effect.fnUntraced(function* ({ connection }: OpenConnection) {
    const definition = yield* owners.definitionOf(
      connection.organisationId,
      connection.connector,
      connection.connectorVersion
    )
    return { definition, method: yield* owners.methodOf(definition, connection.authMethod) }
  })

  /** Joins the refresh in progress or replaces the credential that was seen; returns the connection after that. */
  const renewAndRead = (self: ConnectionOwner, seen: OpenConnection, scope: Scope.Scope) =>
    renew(self, seen, scope).pipe(
      Effect.flatMap(Deferred.await),
      Effect.zipRight(Effect.suspend(() => owners.read(self, seen.connection.organisationId)))
    )

  /** Expires a connection whose token has ended and cannot be renewed. */
  const endUnrenewable = (self: ConnectionOwner, organisation: string): Effect.Effect<OpenConnection, CommandRefusal> =>
    owners.change(self, organisation, { _tag: "NoteRefreshFailure", lost: true, reason: unrenewableReason })

  /** Refreshes the token if it is due and can be renewed; returns the connection after that. */
  const renewIfDue = Effect.fnUntraced(function* (self: ConnectionOwner, organisation: string, scope: Scope.Scope) {
    const open = yield* owners.read(self, organisation)
    if (open.plain === null) return open
    const { method } = yield* connectorOf(open)
    const now = yield* Clock.currentTimeMillis
    const lifetime = credentialLifetime(open.plain)
    const isLiving = open.connection.status === "active" || open.connection.status === "inactive"
    if (isLiving && !isRenewable(method, open.plain) && !isAlive(lifetime, now))
      return yield* endUnrenewable(self, organisation)
    const due = open.intent !== null || isDue(lifetime, marginOf(method), now)
    return due && canRenew(open, method, now) ? yield* renewAndRead(self, open, scope) : open
  })

  /** Tests the stored credential. A rejection by the provider is a result; fails if no credential is stored. */
  const testStored = Effect.fnUntraced(function* (self: ConnectionOwner, organisation: string, scope: Scope.Scope) {
    let forced = false
    for (let round = 0; ; round++) {
      const open = yield* renewIfDue(self, organisation, scope)
      const { connection, credential, plain } = open
      if (plain === null || credential === null) return yield* noCredential(connection)
      const notPassed = (message: string): StoredCredentialTestResult => ({
        open,
        result: { _tag: "NotPassed", refused: false, final: false, message },
        countsAsRefusal: false
      })
      const { definition, method } = yield* connectorOf(open)
      if (!isAlive(credentialLifetime(plain), yield* Clock.currentTimeMillis))
        return notPassed(connection.health.lastError ?? notActiveReason(connection))
      const result = yield* testCredential(connection.organisationId, definition, method, plain, connection.config)
      if (result._tag === "Passed" || !result.refused || result.final) return { open, result, countsAsRefusal: false }
      const after = yield* owners.read(self, organisation)
      if (after.credential?.number !== credential.number) {
        if (round < maxReplacements) continue
        return { open: after, result, countsAsRefusal: false }
      }
      const now = yield* Clock.currentTimeMillis
      if (!isRenewable(method, plain) || holdsNewToken(self, open, now))
        return { open: after, result, countsAsRefusal: true }
      if (forced || !canRenew(after, method, now)) return { open: after, result, countsAsRefusal: false }
      forced = true
      const next = yield* renewAndRead(self, after, scope)
      if (next.credential?.number === credential.number) {
        const message = next.connection.health.lastError ?? result.message
        return { open: next, result: { ...result, message }, countsAsRefusal: false }
      }
    }
  })

  return { testStored, renewAndRead, endUnrenewable, connectorOf }
})

/** One per node. */
export class StoredCredentialTest extends Effect.Service<StoredCredentialTest>()(
  "svc/connection/StoredCredentialTest",
  { effect: make }
) {}
