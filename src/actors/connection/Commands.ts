/**
 * Executes the commands of users and sweeps on the connection's owner: store a credential, reconnect, reveal, test,
 * refresh, enable, disable, edit, disconnect.
 */
import { Clock, Effect, Either, Redacted, type Scope } from "effect"
import { type Connection } from "../../domain/connection/Connection.js"
import { remedyOf } from "../../domain/connection/ConnectionStates.js"
import { credentialLifetime, credentialValues } from "../../domain/connection/Credential.js"
import { isAlive, isDue, needsKeepAlive } from "../../domain/connection/Refresh.js"
import { configuredUrl } from "../../domain/connector/BaseUrl.js"
import { type AuthMethod, needsClient } from "../../domain/connector/AuthMethod.js"
import type { JsonObject } from "../../domain/Json.js"
import type { Initiator, CredentialSecrets } from "../ports/Connections.js"
import { ConnectionStore } from "../ports/ConnectionStore.js"
import { TokenEndpoint } from "../ports/TokenEndpoint.js"
import { notActive } from "./CallAuthorizer.js"
import { coolDownEnd } from "./CallGrant.js"
import { CredentialBuilder } from "./CredentialBuilder.js"
import {
  busy,
  isRenewable,
  marginOf,
  orBusy,
  type OpenConnection,
  type ConnectionOwner,
  ConnectionOwners,
  failWith,
  system
} from "./ConnectionOwner.js"
import { make as makeCreation } from "./ConnectionCreation.js"
import { StoredCredentialTest } from "./StoredCredentialTest.js"
import type { CommandResult, ConnectionCommand, CommandRefusal } from "./Protocol.js"
import { TokenRefresh } from "./TokenRefresh.js"
import { ConnectSessions } from "./ConnectSessions.js"

interface CommandPayload {
  readonly organisationId: string
  readonly by: Initiator
}

/** Refused tests in a row after which the connection has failed. */
const maxRefusals = 2

interface CommandContext {
  readonly owners: ConnectionOwners["Type"]
  readonly store: ConnectionStore["Type"]
  readonly endpoint: TokenEndpoint["Type"]
  readonly creation: Effect.Effect.Success<typeof makeCreation>
  readonly buildFromInput: CredentialBuilder["Type"]["buildFromInput"]
  readonly endUnrenewable: StoredCredentialTest["Type"]["endUnrenewable"]
  readonly connectorOf: StoredCredentialTest["Type"]["connectorOf"]
  readonly testStored: StoredCredentialTest["Type"]["testStored"]
  readonly renewAndRead: StoredCredentialTest["Type"]["renewAndRead"]
  readonly clientOf: TokenRefresh["Type"]["clientOf"]
  readonly sessions: ConnectSessions["Type"]
}

const storeCredential = Effect.fnUntraced(function* (
  { owners, buildFromInput }: CommandContext,
  self: ConnectionOwner,
  request: CommandPayload & {
    readonly authMethod: string | null
    readonly credential: CredentialSecrets
    readonly config: JsonObject | null
    readonly skipTest: boolean
  }
) {
  const { connection } = yield* owners.read(self, request.organisationId)
  if (connection.status === "disconnected") return yield* failWith(disconnectedRefusal(connection))
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

const reconnect = Effect.fnUntraced(function* (
  { owners, clientOf, sessions, store }: CommandContext,
  self: ConnectionOwner,
  request: CommandPayload & {
    readonly redirectUrl: string | null
    readonly authMethod: string | null
    readonly config: JsonObject | null
  }
) {
  const { connection } = yield* owners.read(self, request.organisationId)
  if (connection.status === "disconnected") return yield* failWith(disconnectedRefusal(connection))
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

const reveal = Effect.fnUntraced(function* (
  { owners }: CommandContext,
  self: ConnectionOwner,
  request: CommandPayload
) {
  const { connection, plain } = yield* owners.read(self, request.organisationId)
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

const test = Effect.fnUntraced(function* (
  { testStored, owners }: CommandContext,
  self: ConnectionOwner,
  request: CommandPayload,
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

const refresh = Effect.fnUntraced(function* (
  { owners, connectorOf, renewAndRead }: CommandContext,
  self: ConnectionOwner,
  request: CommandPayload,
  scope: Scope.Scope
) {
  const open = yield* owners.read(self, request.organisationId)
  if (open.connection.status !== "active") return yield* failWith(notActive(open.connection))
  const { method } = yield* connectorOf(open)
  if (!isRenewable(method, open.plain))
    return yield* failWith({
      _tag: "Invalid",
      path: "connection",
      code: "NOT_RENEWABLE",
      message: "has nothing to renew its credential with: reconnect it to store a new one"
    })
  const { connection, credential } = yield* renewAndRead(self, request.organisationId, scope)
  if (connection.status !== "active") return yield* failWith(notActive(connection))
  if (credential?.number === open.credential?.number)
    return yield* failWith(busy(connection.health.lastError ?? "the token was not renewed", 30))
})

const enable = Effect.fnUntraced(function* (
  { owners, testStored }: CommandContext,
  self: ConnectionOwner,
  request: CommandPayload,
  scope: Scope.Scope
) {
  const { connection, plain } = yield* owners.read(self, request.organisationId)
  if (connection.status === "inactive" && plain !== null) {
    const { open, result } = yield* testStored(self, request.organisationId, scope)
    // The refresh before the test found that the provider has revoked the grant.
    if (open.connection.status === "expired") return yield* failWith(notActive(open.connection))
    if (result._tag === "NotPassed") return yield* failWith({ _tag: "CredentialRefused", message: result.message })
  }
  const audit = { action: "connection.enable", by: request.by }
  yield* owners.change(self, request.organisationId, { _tag: "Enable" }, { audit })
})

const disable = ({ owners }: CommandContext, self: ConnectionOwner, { by, organisationId }: CommandPayload) =>
  owners.change(self, organisationId, { _tag: "Disable" }, { audit: { action: "connection.disable", by } })

const requireVersion =
  (version: number | null) =>
  ({ connection }: OpenConnection): CommandRefusal | undefined =>
    version === null || version === connection.version ? undefined : { _tag: "VersionMismatch" }

const edit = (
  { owners }: CommandContext,
  self: ConnectionOwner,
  request: CommandPayload & {
    readonly label: string | null
    readonly tags: { readonly [name: string]: string } | null
    readonly isDefault: boolean
    readonly version: number | null
  }
) =>
  owners.change(
    self,
    request.organisationId,
    { _tag: "Edit", label: request.label ?? undefined, tags: request.tags ?? undefined },
    {
      audit: { action: "connection.update", by: request.by },
      makesDefault: request.isDefault,
      precondition: requireVersion(request.version)
    }
  )

/** Revokes the token at the provider. The credential is deleted here already, so a failure changes nothing. */
const revoke = Effect.fnUntraced(function* (
  { endpoint, clientOf }: CommandContext,
  { connection, plain }: OpenConnection,
  method: AuthMethod
) {
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
  context: CommandContext,
  self: ConnectionOwner,
  request: CommandPayload & { readonly version: number | null }
) {
  const before = yield* context.owners.read(self, request.organisationId)
  if (before.connection.status === "disconnected") return yield* failWith({ _tag: "NotFound" })
  const found = yield* Effect.option(context.connectorOf(before))
  // A refresh may replace the token before the change commits: `precondition` sees the token to revoke.
  let last = before
  yield* context.owners.change(
    self,
    request.organisationId,
    { _tag: "Disconnect" },
    {
      audit: { action: "connection.delete", by: request.by },
      precondition: (open) => {
        last = open
        return requireVersion(request.version)(open)
      }
    }
  )
  if (found._tag === "Some")
    yield* revoke(context, last, found.value.method).pipe(
      Effect.catchAll((failure) =>
        Effect.annotateLogs(Effect.logInfo("connection.token_not_revoked"), {
          connectionId: self.id,
          reason: failure._tag
        })
      ),
      Effect.forkDaemon
    )
})

/** Renews a token that is due or was not used for long; expires a connection whose token has ended for good. */
const checkDue = Effect.fnUntraced(function* (
  { owners, connectorOf, endUnrenewable, renewAndRead }: CommandContext,
  self: ConnectionOwner,
  organisation: string,
  scope: Scope.Scope
) {
  const open = yield* owners.read(self, organisation)
  const { connection, intent, plain } = open
  if (connection.status !== "active" || plain === null) return
  const { method } = yield* connectorOf(open)
  const lifetime = credentialLifetime(plain)
  const now = yield* Clock.currentTimeMillis
  if (!isRenewable(method, plain)) {
    if (!isAlive(lifetime, now)) yield* endUnrenewable(self, organisation)
    return
  }
  // A call may have renewed the token since the sweep selected this connection.
  const failing = connection.refreshFailedAt !== null && coolDownEnd(connection) <= now
  const due = isDue(lifetime, marginOf(method), now) && coolDownEnd(connection) <= now
  if (intent !== null || failing || due || needsKeepAlive(lifetime, now)) yield* renewAndRead(self, organisation, scope)
})

const abandon = Effect.fnUntraced(function* (
  { owners, store }: CommandContext,
  self: ConnectionOwner,
  organisation: string
) {
  const open = yield* owners.read(self, organisation)
  if (open.connection.status !== "pending") return
  const at = new Date(yield* Clock.currentTimeMillis).toISOString()
  yield* store
    .abandon(open, {
      events: owners.eventsOf("connection.abandoned", open.connection, at),
      audit: owners.auditOf({ action: "connection.abandon", by: system }, open.connection, open.connection, at)
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

/** Ignores failures of a sweep's command: the next sweep selects the connection again. */
const ignoreFailure = <A>(self: ConnectionOwner, effect: Effect.Effect<A, CommandRefusal>) =>
  Effect.as(
    Effect.catchAllCause(effect, (cause) =>
      Effect.annotateLogs(Effect.logDebug("connection.sweep_skipped", cause), { connectionId: self.id })
    ),
    done
  )

const execute = (
  context: CommandContext,
  self: ConnectionOwner,
  command: Exclude<ConnectionCommand, { readonly _tag: "Sign" | "RenewRefused" }>,
  scope: Scope.Scope
): Effect.Effect<CommandResult, CommandRefusal> => {
  switch (command._tag) {
    case "Create":
      return Effect.map(context.creation.create(self, command), (session) => ({ _tag: "Opened", session }))
    case "StoreCredential":
      return Effect.as(storeCredential(context, self, command), done)
    case "Reconnect":
      return Effect.map(reconnect(context, self, command), (session) => ({ _tag: "Opened", session }))
    case "Test":
      return Effect.map(test(context, self, command, scope), (tested) => ({ _tag: "Tested", ...tested }))
    case "Refresh":
      return Effect.as(refresh(context, self, command, scope), done)
    case "Enable":
      return Effect.as(enable(context, self, command, scope), done)
    case "Disable":
      return Effect.as(disable(context, self, command), done)
    case "Edit":
      return Effect.as(edit(context, self, command), done)
    case "Reveal":
      return Effect.map(reveal(context, self, command), (secrets) => ({ _tag: "Revealed", secrets }))
    case "Disconnect":
      return Effect.as(disconnect(context, self, command), done)
    case "Submit":
      return Effect.map(context.sessions.submit(self, command), (outcome) => ({ _tag: "Advanced", outcome }))
    case "Complete":
      return Effect.map(context.sessions.complete(self, command), (outcome) => ({ _tag: "Advanced", outcome }))
    case "CheckDue":
      return ignoreFailure(self, checkDue(context, self, command.organisationId, scope))
    case "Abandon":
      return ignoreFailure(self, abandon(context, self, command.organisationId))
  }
}

export const make = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const store = yield* ConnectionStore
  const endpoint = yield* TokenEndpoint
  const creation = yield* makeCreation
  const { buildFromInput } = yield* CredentialBuilder
  const { endUnrenewable, connectorOf, testStored, renewAndRead } = yield* StoredCredentialTest
  const { clientOf } = yield* TokenRefresh
  const sessions = yield* ConnectSessions

  const context: CommandContext = {
    owners,
    store,
    endpoint,
    creation,
    buildFromInput,
    endUnrenewable,
    connectorOf,
    testStored,
    renewAndRead,
    clientOf,
    sessions
  }

  return {
    execute: (
      self: ConnectionOwner,
      command: Exclude<ConnectionCommand, { readonly _tag: "Sign" | "RenewRefused" }>,
      scope: Scope.Scope
    ) => execute(context, self, command, scope)
  }
})

const done: CommandResult = { _tag: "Done" }

const disconnectedRefusal = ({ status }: Connection): CommandRefusal => ({
  _tag: "WrongState",
  status,
  message: "the connection is disconnected for good: make a new one"
})
