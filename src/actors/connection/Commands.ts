/**
 * Carries out the orders that users and sweeps give about a connection: test, refresh, enable, disable, edit, reveal,
 * disconnect. Runs on the connection's owner.
 */
import { Clock, Effect, Either, Redacted, type Scope } from "effect"
import { type Connection } from "../../domain/connection/Connection.js"
import { remedyOf } from "../../domain/connection/ConnectionStates.js"
import { credentialLifetime, credentialValues } from "../../domain/connection/Credential.js"
import { isAlive, isDue, needsKeepAlive } from "../../domain/connection/Refresh.js"
import { configuredUrl } from "../../domain/connector/BaseUrl.js"
import { type AuthMethod, needsClient } from "../../domain/connector/AuthMethod.js"
import type { JsonObject } from "../../domain/Json.js"
import type { By, CredentialSecrets } from "../ports/Connections.js"
import { ConnectionStore } from "../ports/ConnectionStore.js"
import { TokenEndpoint } from "../ports/TokenEndpoint.js"
import { notActive } from "./CallAuthorizer.js"
import { coolUntil } from "./CallGrant.js"
import { CredentialBuilder } from "./CredentialBuilder.js"
import {
  busy,
  isRenewable,
  marginOf,
  type Open,
  type ConnectionOwner,
  ConnectionOwners,
  failWith,
  system
} from "./ConnectionOwner.js"
import { make as makeCreating } from "./ConnectionCreation.js"
import { StoredCredentialTest } from "./StoredCredentialTest.js"
import type { CommandResult, ConnectionCommand, CommandRefusal } from "./Protocol.js"
import { TokenRefresh } from "./TokenRefresh.js"
import { ConnectSessions } from "./ConnectSessions.js"

interface Ordered {
  readonly organisationId: string
  readonly by: By
}

/** After this many refused tests in a row the connection has failed. */
const mostRefusals = 2

export const make = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const store = yield* ConnectionStore
  const endpoint = yield* TokenEndpoint
  const creating = yield* makeCreating
  const { entered } = yield* CredentialBuilder
  const { endUnrenewable, meansOf, prove, renewed } = yield* StoredCredentialTest
  const { clientOf } = yield* TokenRefresh
  const sessions = yield* ConnectSessions

  const available = <A>(effect: Effect.Effect<A, { readonly reason: string }>): Effect.Effect<A, CommandRefusal> =>
    Effect.mapError(effect, ({ reason }) => busy(reason))

  // --- Credential ---

  const storeCredential = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    asked: Ordered & {
      readonly authMethod: string | null
      readonly credential: CredentialSecrets
      readonly config: JsonObject | null
      readonly skipTest: boolean
    }
  ) {
    const { connection } = yield* owners.current(self, asked.organisationId)
    if (connection.status === "disconnected") return yield* failWith(ended(connection))
    const definition = yield* owners.definitionOf(connection.organisationId, connection.connector, undefined)
    const method = yield* owners.methodOf(definition, asked.authMethod ?? connection.authMethod)
    const target = { ...connection, config: { ...connection.config, ...asked.config } }
    const { facts, value } = yield* entered(definition, method, target, asked.credential, asked.skipTest)
    yield* owners.change(
      self,
      asked.organisationId,
      { _tag: "Activate", facts },
      { credential: { value, rotated: true }, audit: { action: "credential.rotate", by: asked.by } }
    )
    self.refusals = 0
  })

  const reconnect = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    asked: Ordered & {
      readonly redirectUrl: string | null
      readonly authMethod: string | null
      readonly config: JsonObject | null
    }
  ) {
    const { connection } = yield* owners.current(self, asked.organisationId)
    if (connection.status === "disconnected") return yield* failWith(ended(connection))
    const definition = yield* owners.definitionOf(connection.organisationId, connection.connector, undefined)
    const method = yield* owners.methodOf(definition, asked.authMethod ?? connection.authMethod)
    const config = { ...connection.config, ...asked.config }
    if (method.type === "oauth2" && needsClient(method)) yield* clientOf(connection, method, {})
    const { opened, session } = yield* sessions.fresh({
      organisationId: connection.organisationId,
      connectionId: self.id,
      authMethod: method.id,
      authProvider: connection.authProvider,
      config,
      redirectUrl: asked.redirectUrl,
      reconnects: connection.status !== "pending",
      by: asked.by
    })
    const at = new Date(yield* Clock.currentTimeMillis).toISOString()
    const audit = owners.audited({ action: "connection.reconnect", by: asked.by }, connection, connection, at)
    yield* available(store.openSession(session, audit))
    return opened
  })

  const reveal = Effect.fnUntraced(function* (self: ConnectionOwner, asked: Ordered) {
    const { connection, plain } = yield* owners.current(self, asked.organisationId)
    if (plain === null)
      return yield* failWith({
        _tag: "WrongState",
        status: connection.status,
        message: `the connection holds no credential: ${remedyOf(connection.status)}`
      })
    return Object.fromEntries(
      Object.entries(credentialValues(plain)).map(([name, value]) => [name, Redacted.make(value)])
    )
  })

  // --- Orders that ask the provider ---

  const test = Effect.fnUntraced(function* (self: ConnectionOwner, asked: Ordered, scope: Scope.Scope) {
    const { organisationId } = asked
    const { countsAsRefusal, open, probed } = yield* prove(self, organisationId, scope)
    const message = probed._tag === "Passed" ? null : probed.message
    const audit = { action: "connection.test", by: asked.by }
    if (probed._tag === "Passed") self.refusals = 0
    else if (countsAsRefusal) self.refusals += 1
    if (countsAsRefusal && message !== null && self.refusals >= mostRefusals && open.connection.status === "active") {
      self.refusals = 0
      yield* owners.change(self, organisationId, { _tag: "Reject", reason: message }, { audit })
    } else yield* owners.change(self, organisationId, { _tag: "NoteTest", error: message }, { audit })
    return { ok: message === null, message, accountLabel: probed._tag === "Passed" ? probed.accountLabel : null }
  })

  const refresh = Effect.fnUntraced(function* (self: ConnectionOwner, asked: Ordered, scope: Scope.Scope) {
    const open = yield* owners.current(self, asked.organisationId)
    if (open.connection.status !== "active") return yield* failWith(notActive(open.connection))
    const { method } = yield* meansOf(open)
    if (!isRenewable(method, open.plain))
      return yield* failWith({
        _tag: "Invalid",
        path: "connection",
        code: "NOT_RENEWABLE",
        message: "has nothing to renew its credential with: reconnect it to store a new one"
      })
    const { connection, credential } = yield* renewed(self, asked.organisationId, scope)
    if (connection.status !== "active") return yield* failWith(notActive(connection))
    if (credential?.number === open.credential?.number)
      return yield* failWith(busy(connection.health.lastError ?? "the token was not renewed", 30))
  })

  // --- Enable, disable, edit, disconnect ---

  const enable = Effect.fnUntraced(function* (self: ConnectionOwner, asked: Ordered, scope: Scope.Scope) {
    const { connection, plain } = yield* owners.current(self, asked.organisationId)
    if (connection.status === "inactive" && plain !== null) {
      const { open, probed } = yield* prove(self, asked.organisationId, scope)
      // The renewal before the test found that the grant is gone.
      if (open.connection.status === "expired") return yield* failWith(notActive(open.connection))
      if (probed._tag === "NotPassed") return yield* failWith({ _tag: "CredentialRefused", message: probed.message })
    }
    const audit = { action: "connection.enable", by: asked.by }
    yield* owners.change(self, asked.organisationId, { _tag: "Enable" }, { audit })
  })

  const disable = (self: ConnectionOwner, { by, organisationId }: Ordered) =>
    owners.change(self, organisationId, { _tag: "Disable" }, { audit: { action: "connection.disable", by } })

  const atVersion =
    (version: number | null) =>
    ({ connection }: Open): CommandRefusal | undefined =>
      version === null || version === connection.version ? undefined : { _tag: "VersionMismatch" }

  const edit = (
    self: ConnectionOwner,
    asked: Ordered & {
      readonly label: string | null
      readonly tags: { readonly [name: string]: string } | null
      readonly isDefault: boolean
      readonly version: number | null
    }
  ) =>
    owners.change(
      self,
      asked.organisationId,
      { _tag: "Edit", label: asked.label ?? undefined, tags: asked.tags ?? undefined },
      {
        audit: { action: "connection.update", by: asked.by },
        makesDefault: asked.isDefault,
        unless: atVersion(asked.version)
      }
    )

  /** Revokes the token at the provider. The credential is deleted here already, so a failure changes nothing. */
  const revoke = Effect.fnUntraced(function* ({ connection, plain }: Open, method: AuthMethod) {
    if (method.type !== "oauth2" || method.revocationUrl === undefined || plain?._tag !== "Tokens") return
    const url = configuredUrl(method.revocationUrl, connection.config)
    if (Either.isLeft(url)) return
    const { accessToken, fields, provider, refreshToken } = plain
    yield* endpoint.revoke({
      url: url.right,
      body: method.revocationBody,
      client: yield* clientOf(connection, method, fields, provider),
      token: refreshToken ?? accessToken,
      hint: refreshToken === null ? "access_token" : "refresh_token"
    })
  })

  const disconnect = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    asked: Ordered & { readonly version: number | null }
  ) {
    const before = yield* owners.current(self, asked.organisationId)
    if (before.connection.status === "disconnected") return yield* failWith({ _tag: "NotFound" })
    const found = yield* Effect.option(meansOf(before))
    // A refresh may replace the token before the change commits: the token of that moment is revoked.
    let last = before
    yield* owners.change(
      self,
      asked.organisationId,
      { _tag: "Disconnect" },
      {
        audit: { action: "connection.delete", by: asked.by },
        unless: (open) => {
          last = open
          return atVersion(asked.version)(open)
        }
      }
    )
    if (found._tag === "Some")
      yield* revoke(last, found.value.method).pipe(
        Effect.catchAll((failure) =>
          Effect.annotateLogs(Effect.logInfo("connection.token_not_revoked"), {
            connectionId: self.id,
            reason: failure._tag
          })
        ),
        Effect.forkDaemon
      )
  })

  // --- Sweeps ---

  /** Renews a token that is due or was not used for long; expires a connection whose token has ended for good. */
  const look = Effect.fnUntraced(function* (self: ConnectionOwner, organisation: string, scope: Scope.Scope) {
    const open = yield* owners.current(self, organisation)
    const { connection, intent, plain } = open
    if (connection.status !== "active" || plain === null) return
    const { method } = yield* meansOf(open)
    const lifetime = credentialLifetime(plain)
    const now = yield* Clock.currentTimeMillis
    if (!isRenewable(method, plain)) {
      if (!isAlive(lifetime, now)) yield* endUnrenewable(self, organisation)
      return
    }
    // A call may have renewed the token since the sweep selected this connection.
    const failing = connection.refreshFailedAt !== null && coolUntil(connection) <= now
    const due = isDue(lifetime, marginOf(method), now) && coolUntil(connection) <= now
    if (intent !== null || failing || due || needsKeepAlive(lifetime, now)) yield* renewed(self, organisation, scope)
  })

  const abandon = Effect.fnUntraced(function* (self: ConnectionOwner, organisation: string) {
    const open = yield* owners.current(self, organisation)
    if (open.connection.status !== "pending") return
    const at = new Date(yield* Clock.currentTimeMillis).toISOString()
    yield* store
      .abandon(open, {
        events: owners.told("connection.abandoned", open.connection, at),
        audit: owners.audited({ action: "connection.abandon", by: system }, open.connection, open.connection, at)
      })
      .pipe(
        Effect.ensuring(
          Effect.sync(() => {
            self.open = undefined
          })
        ),
        Effect.mapError((failure) => busy(failure._tag === "Stale" ? "it was completed just now" : failure.reason))
      )
  })

  /** A sweep's order never fails: the next sweep selects the connection again. */
  const quietly = <A>(self: ConnectionOwner, effect: Effect.Effect<A, CommandRefusal>) =>
    Effect.as(
      Effect.catchAllCause(effect, (cause) =>
        Effect.annotateLogs(Effect.logDebug("connection.sweep_skipped", cause), { connectionId: self.id })
      ),
      done
    )

  const carryOut = (
    self: ConnectionOwner,
    order: Exclude<ConnectionCommand, { readonly _tag: "Sign" | "RenewRefused" }>,
    scope: Scope.Scope
  ): Effect.Effect<CommandResult, CommandRefusal> => {
    switch (order._tag) {
      case "Create":
        return Effect.map(creating.create(self, order), (session) => ({ _tag: "Opened", session }))
      case "StoreCredential":
        return Effect.as(storeCredential(self, order), done)
      case "Reconnect":
        return Effect.map(reconnect(self, order), (session) => ({ _tag: "Opened", session }))
      case "Test":
        return Effect.map(test(self, order, scope), (tested) => ({ _tag: "Tested", ...tested }))
      case "Refresh":
        return Effect.as(refresh(self, order, scope), done)
      case "Enable":
        return Effect.as(enable(self, order, scope), done)
      case "Disable":
        return Effect.as(disable(self, order), done)
      case "Edit":
        return Effect.as(edit(self, order), done)
      case "Reveal":
        return Effect.map(reveal(self, order), (secrets) => ({ _tag: "Revealed", secrets }))
      case "Disconnect":
        return Effect.as(disconnect(self, order), done)
      case "Submit":
        return Effect.map(sessions.submit(self, order), (outcome) => ({ _tag: "Advanced", outcome }))
      case "Complete":
        return Effect.map(sessions.complete(self, order), (outcome) => ({ _tag: "Advanced", outcome }))
      case "Look":
        return quietly(self, look(self, order.organisationId, scope))
      case "Abandon":
        return quietly(self, abandon(self, order.organisationId))
    }
  }

  return { carryOut }
})

const done: CommandResult = { _tag: "Done" }

const ended = ({ status }: Connection): CommandRefusal => ({
  _tag: "WrongState",
  status,
  message: "the connection is disconnected for good: make a new one"
})
