/**
 * Executes the commands of users and sweeps on the connection's owner: store a credential, reconnect, reveal, test,
 * refresh, enable, disable, edit, disconnect.
 */
import { Effect, type Scope } from "effect"
import { ConnectionStore } from "../ports/connection/ConnectionStore.js"
import { TokenEndpoint } from "../ports/connection/TokenEndpoint.js"
import { CredentialBuilder } from "./credential/CredentialBuilder.js"
import type { ConnectionOwner } from "./ConnectionOwner.js"
import { ConnectionOwners } from "./ConnectionOwners.js"
import { make as makeCreation } from "./ConnectionCreation.js"
import { StoredCredentialTest } from "./credential/StoredCredentialTest.js"
import type { CommandResult, ConnectionCommand, CommandRefusal } from "./Protocol.js"
import { TokenRefresh } from "./credential/TokenRefresh.js"
import { ConnectSessions } from "./ConnectSessions.js"
import type { CommandContext } from "./CommandContext.js"
import {
  storeCredential,
  openReconnectSession,
  testConnection,
  refreshToken,
  revealCredential
} from "./credential/CredentialCommands.js"
import { enableConnection, disableConnection, editConnection, disconnectConnection } from "./StateCommands.js"
import { renewIfNeeded, abandonConnection } from "./SweepCommands.js"

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
      return Effect.map(openReconnectSession(context, self, command), (session) => ({ _tag: "Opened", session }))
    case "Test":
      return Effect.map(testConnection(context, self, command, scope), (tested) => ({ _tag: "Tested", ...tested }))
    case "Refresh":
      return Effect.as(refreshToken(context, self, command, scope), done)
    case "Enable":
      return Effect.as(enableConnection(context, self, command, scope), done)
    case "Disable":
      return Effect.as(disableConnection(context, self, command), done)
    case "Edit":
      return Effect.as(editConnection(context, self, command), done)
    case "Reveal":
      return Effect.map(revealCredential(context, self, command), (secrets) => ({ _tag: "Revealed", secrets }))
    case "Disconnect":
      return Effect.as(disconnectConnection(context, self, command), done)
    case "Submit":
      return Effect.map(context.sessions.submit(self, command), (outcome) => ({ _tag: "Advanced", outcome }))
    case "Complete":
      return Effect.map(context.sessions.complete(self, command), (outcome) => ({ _tag: "Advanced", outcome }))
    case "CheckDue":
      return ignoreFailure(self, renewIfNeeded(context, self, command.organisationId, scope))
    case "Abandon":
      return ignoreFailure(self, abandonConnection(context, self, command.organisationId))
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
