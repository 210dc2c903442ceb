/**
 * Tests the stored credential of a connection, authorised as a call is: renews the token when it is due, and once more
 * when the provider rejects it. Only the token endpoint's answer, or the rejection of a token that was just issued, counts
 * against the credential.
 */
import { Clock, Context, Deferred, Effect, Layer, type Scope } from "effect"
import { type Connection } from "../../domain/connection/Connection.js"
import { notActiveReason, remedyOf } from "../../domain/connection/ConnectionStates.js"
import { credentialLifetime } from "../../domain/connection/Credential.js"
import { isAlive, isDue, isJustIssued } from "../../domain/connection/Refresh.js"
import type { AuthMethod } from "../../domain/connector/AuthMethod.js"
import { coolUntil } from "./CallGrant.js"
import {
  isRenewable,
  marginOf,
  type Open,
  type ConnectionOwner,
  ConnectionOwners,
  failWith
} from "./ConnectionOwner.js"
import { CredentialTest, type CredentialTestResult } from "./CredentialTest.js"
import type { CommandRefusal } from "./Protocol.js"
import { TokenRefresh } from "./TokenRefresh.js"

export interface StoredCredentialTestResult {
  readonly open: Open
  readonly probed: CredentialTestResult
  /** Whether the rejection counts against the credential: no newer token can be had. */
  readonly countsAsRefusal: boolean
}

/** How often a probe is repeated because another request replaced the credential while the provider was asked. */
const mostReplacements = 3

/** Whether this owner got the token so recently that its rejection cannot be a matter of age. */
export const holdsNewToken = (self: ConnectionOwner, { credential, plain }: Open, now: number): boolean =>
  credential !== null &&
  plain !== null &&
  self.issued === credential.number &&
  isJustIssued(credentialLifetime(plain), now)

/** Whether a new token may be asked for now. */
export const canRenew = ({ connection, plain }: Open, method: AuthMethod, now: number): boolean =>
  isRenewable(method, plain) &&
  (connection.status === "active" || connection.status === "inactive") &&
  coolUntil(connection) <= now

const noCredential = ({ status }: Connection): CommandRefusal => ({
  _tag: "WrongState",
  status,
  message: `the connection holds no credential: ${remedyOf(status)}`
})

const unrenewable = "the access token has ended, and the provider gave nothing to renew it with"

const make = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const { renew } = yield* TokenRefresh
  const { probe } = yield* CredentialTest

  const meansOf = Effect.fnUntraced(function* ({ connection }: Open) {
    const definition = yield* owners.definitionOf(
      connection.organisationId,
      connection.connector,
      connection.connectorVersion
    )
    return { definition, method: yield* owners.methodOf(definition, connection.authMethod) }
  })

  /** Joins the renewal under way or begins one; answers the connection after it. */
  const renewed = (
    self: ConnectionOwner,
    organisation: string,
    scope: Scope.Scope
  ): Effect.Effect<Open, CommandRefusal> =>
    renew(self, organisation, scope).pipe(
      Effect.flatMap(Deferred.await),
      Effect.zipRight(Effect.suspend(() => owners.current(self, organisation)))
    )

  /** Expires a connection whose token has ended and cannot be renewed. */
  const endUnrenewable = (self: ConnectionOwner, organisation: string): Effect.Effect<Open, CommandRefusal> =>
    owners.change(self, organisation, { _tag: "NoteRefreshFailure", lost: true, reason: unrenewable })

  /** The connection after a renewal, where its token is due and can be renewed. */
  const prepared = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    organisation: string,
    scope: Scope.Scope
  ): Effect.fn.Return<Open, CommandRefusal> {
    const open = yield* owners.current(self, organisation)
    if (open.plain === null) return open
    const { method } = yield* meansOf(open)
    const now = yield* Clock.currentTimeMillis
    const lifetime = credentialLifetime(open.plain)
    const isLiving = open.connection.status === "active" || open.connection.status === "inactive"
    if (isLiving && !isRenewable(method, open.plain) && !isAlive(lifetime, now))
      return yield* endUnrenewable(self, organisation)
    const due = open.intent !== null || isDue(lifetime, marginOf(method), now)
    return due && canRenew(open, method, now) ? yield* renewed(self, organisation, scope) : open
  })

  /** Fails where no credential is stored. A rejection by the provider is an answer. */
  const prove = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    organisation: string,
    scope: Scope.Scope
  ): Effect.fn.Return<StoredCredentialTestResult, CommandRefusal> {
    let forced = false
    for (let round = 0; ; round++) {
      const open = yield* prepared(self, organisation, scope)
      const { connection, credential, plain } = open
      if (plain === null || credential === null) return yield* failWith(noCredential(connection))
      const notPassed = (message: string): StoredCredentialTestResult => ({
        open,
        probed: { _tag: "NotPassed", refused: false, final: false, message },
        countsAsRefusal: false
      })
      const { definition, method } = yield* meansOf(open)
      if (!isAlive(credentialLifetime(plain), yield* Clock.currentTimeMillis))
        return notPassed(connection.health.lastError ?? notActiveReason(connection))
      const probed = yield* probe(definition, method, plain, connection.config)
      if (probed._tag === "Passed" || !probed.refused || probed.final) return { open, probed, countsAsRefusal: false }
      const after = yield* owners.current(self, organisation)
      if (after.credential?.number !== credential.number) {
        if (round < mostReplacements) continue
        return { open: after, probed, countsAsRefusal: false }
      }
      const now = yield* Clock.currentTimeMillis
      if (!isRenewable(method, plain) || holdsNewToken(self, open, now))
        return { open: after, probed, countsAsRefusal: true }
      if (forced || !canRenew(after, method, now)) return { open: after, probed, countsAsRefusal: false }
      forced = true
      const next = yield* renewed(self, organisation, scope)
      if (next.credential?.number === credential.number) {
        const message = next.connection.health.lastError ?? probed.message
        return { open: next, probed: { ...probed, message }, countsAsRefusal: false }
      }
    }
  })

  return { prove, renewed, endUnrenewable, meansOf }
})

/** One for a node. */
export class StoredCredentialTest extends Context.Tag("svc/connection/Proofs")<
  StoredCredentialTest,
  Effect.Effect.Success<typeof make>
>() {}

export const layer = Layer.effect(StoredCredentialTest, make)
