/** The commands for a connection's credential: store, reconnect, reveal, test, refresh. */
import { Clock, Effect, Redacted, type Scope } from "effect"
import { InvalidState, invalid } from "../../../domain/Failure.js"
import type { Connection } from "../../../domain/connection/Connection.js"
import { remedyOf } from "../../../domain/connection/ConnectionStates.js"
import { credentialValues } from "../../../domain/connection/Credential.js"
import { needsClient } from "../../../domain/connector/AuthMethod.js"
import { notActive } from "../CallAuthorizer.js"
import { busy, isRenewable, orBusy, type ConnectionOwner } from "../ConnectionOwner.js"
import { ConnectionStore } from "../../ports/connection/ConnectionStore.js"
import { ConnectionOwners } from "../ConnectionOwners.js"
import { ConnectSessions } from "../ConnectSessions.js"
import { CredentialBuilder } from "./CredentialBuilder.js"
import { StoredCredentialTest } from "./StoredCredentialTest.js"
import { TokenRequests } from "./TokenRequests.js"
import type { PayloadOf } from "../Protocol.js"

/** Refused tests in a row after which the connection has failed. */
const maxRefusals = 2

export const makeCredentialCommands = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const store = yield* ConnectionStore
  const { buildFromInput } = yield* CredentialBuilder
  const { connectorOf, renewAndRead, testStored } = yield* StoredCredentialTest
  const { clientOf } = yield* TokenRequests
  const sessions = yield* ConnectSessions

  /** Replaces the credential by one that passes its test. */
  const storeCredential = Effect.fnUntraced(function* (self: ConnectionOwner, request: PayloadOf<"StoreCredential">) {
    const { connection } = yield* owners.read(self, request.organisationId)
    if (connection.status === "disconnected") return yield* disconnectedRefusal(connection)
    const definition = yield* owners.definitionOf(connection.organisationId, connection.connector, undefined)
    const method = yield* owners.methodOf(definition, request.authMethod ?? connection.authMethod)
    const target = { ...connection, config: { ...connection.config, ...request.config } }
    const { facts, value } = yield* buildFromInput(definition, method, target, request.credential, request.skipTest)
    yield* owners.change(
      self,
      request.organisationId,
      { _tag: "Activate", facts },
      { credential: { value, rotated: true }, audit: { action: "credential.rotate", by: request.by } }
    )
    self.refusalsInARow = 0
  })

  /** Opens a session in which a person replaces the credential. */
  const openReconnectSession = Effect.fnUntraced(function* (self: ConnectionOwner, request: PayloadOf<"Reconnect">) {
    const { connection } = yield* owners.read(self, request.organisationId)
    if (connection.status === "disconnected") return yield* disconnectedRefusal(connection)
    const definition = yield* owners.definitionOf(connection.organisationId, connection.connector, undefined)
    const method = yield* owners.methodOf(definition, request.authMethod ?? connection.authMethod)
    const config = { ...connection.config, ...request.config }
    if (method.type === "oauth2" && needsClient(method)) yield* clientOf(connection, method, {})
    const { link, session } = yield* sessions.makeSession({
      organisationId: connection.organisationId,
      connectionId: self.id,
      authMethod: method.id,
      authProvider: connection.authProvider,
      config,
      redirectUrl: request.redirectUrl,
      reconnects: connection.status !== "pending",
      by: request.by
    })
    const at = new Date(yield* Clock.currentTimeMillis).toISOString()
    const audit = owners.auditOf({ action: "connection.reconnect", by: request.by }, connection, connection, at)
    yield* orBusy(store.openSession(session, audit))
    return link
  })

  /** The parts of the stored credential. */
  const revealCredential = Effect.fnUntraced(function* (self: ConnectionOwner, request: PayloadOf<"Reveal">) {
    const { connection, plain } = yield* owners.read(self, request.organisationId)
    if (plain === null)
      return yield* new InvalidState({
        state: connection.status,
        message: `the connection holds no credential: ${remedyOf(connection.status)}`
      })
    return Object.fromEntries(
      Object.entries(credentialValues(plain)).map(([name, value]) => [name, Redacted.make(value)])
    )
  })

  /** Tests the stored credential; two rejections in a row fail the connection. */
  const testConnection = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    request: PayloadOf<"Test">,
    scope: Scope.Scope
  ) {
    const { organisationId } = request
    const { countsAsRefusal, open, result } = yield* testStored(self, organisationId, scope)
    const message = result._tag === "Passed" ? null : result.message
    const audit = { action: "connection.test", by: request.by }
    if (result._tag === "Passed") self.refusalsInARow = 0
    else if (countsAsRefusal) self.refusalsInARow += 1
    if (
      countsAsRefusal &&
      message !== null &&
      self.refusalsInARow >= maxRefusals &&
      open.connection.status === "active"
    ) {
      self.refusalsInARow = 0
      yield* owners.change(self, organisationId, { _tag: "Reject", reason: message }, { audit })
    } else yield* owners.change(self, organisationId, { _tag: "NoteTest", error: message }, { audit })
    return { ok: message === null, message, accountLabel: result._tag === "Passed" ? result.accountLabel : null }
  })

  /** Renews the token now; fails if no newer one is stored afterwards. */
  const refreshToken = Effect.fnUntraced(function* (
    self: ConnectionOwner,
    request: PayloadOf<"Refresh">,
    scope: Scope.Scope
  ) {
    const open = yield* owners.read(self, request.organisationId)
    if (open.connection.status !== "active") return yield* notActive(open.connection)
    const { method } = yield* connectorOf(open)
    if (!isRenewable(method, open.plain))
      return yield* invalid(
        "connection",
        "NOT_RENEWABLE",
        "has nothing to renew its credential with: reconnect it to store a new one"
      )
    const { connection, credential } = yield* renewAndRead(self, open, scope)
    if (connection.status !== "active") return yield* notActive(connection)
    if (credential?.number === open.credential?.number)
      return yield* busy(connection.health.lastError ?? "the token was not renewed", 30)
  })

  return { storeCredential, openReconnectSession, revealCredential, testConnection, refreshToken }
})

const disconnectedRefusal = ({ status }: Connection): InvalidState =>
  new InvalidState({ state: status, message: "the connection is disconnected for good: make a new one" })
