/**
 * Executes the commands of users and sweeps on the connection's owner: store a credential, reconnect, reveal, test,
 * refresh, enable, disable, edit, disconnect.
 */
import { Effect, type Scope } from "effect"
import type { ConnectionOwner } from "./ConnectionOwner.js"
import type { CommandResult, ConnectionCommand, CommandRefusal } from "./Protocol.js"
import { ConnectSessions } from "./ConnectSessions.js"
import { makeCredentialCommands } from "./credential/CredentialCommands.js"
import { makeStateCommands } from "./StateCommands.js"
import { makeSweepCommands } from "./SweepCommands.js"

/** Ignores failures of a sweep's command: the next sweep selects the connection again. */
const ignoreFailure = <A>(self: ConnectionOwner, effect: Effect.Effect<A, CommandRefusal>) =>
  Effect.as(
    Effect.catchAllCause(effect, (cause) =>
      Effect.annotateLogs(Effect.logDebug("connection.sweep_skipped", cause), { connectionId: self.id })
    ),
    done
  )

export const make = Effect.gen(function* () {
  const { openReconnectSession, refreshToken, revealCredential, storeCredential, testConnection } =
    yield* makeCredentialCommands
  const { disableConnection, disconnectConnection, editConnection, enableConnection } = yield* makeStateCommands
  const { abandonConnection, renewIfNeeded } = yield* makeSweepCommands
  const sessions = yield* ConnectSessions

  const execute = (
    self: ConnectionOwner,
    command: Exclude<ConnectionCommand, { readonly _tag: "Sign" | "RenewRefused" }>,
    scope: Scope.Scope
  ): Effect.Effect<CommandResult, CommandRefusal> => {
    switch (command._tag) {
      case "StoreCredential":
        return Effect.as(storeCredential(self, command), done)
      case "Reconnect":
        return Effect.map(openReconnectSession(self, command), (session) => ({ _tag: "Opened", session }))
      case "Test":
        return Effect.map(testConnection(self, command, scope), (tested) => ({ _tag: "Tested", ...tested }))
      case "Refresh":
        return Effect.as(refreshToken(self, command, scope), done)
      case "Enable":
        return Effect.as(enableConnection(self, command, scope), done)
      case "Disable":
        return Effect.as(disableConnection(self, command), done)
      case "Edit":
        return Effect.as(editConnection(self, command), done)
      case "Reveal":
        return Effect.map(revealCredential(self, command), (secrets) => ({ _tag: "Revealed", secrets }))
      case "Disconnect":
        return Effect.as(disconnectConnection(self, command), done)
      case "Submit":
        return Effect.map(sessions.submit(self, command), (outcome) => ({ _tag: "Advanced", outcome }))
      case "Complete":
        return Effect.map(sessions.complete(self, command), (outcome) => ({ _tag: "Advanced", outcome }))
      case "CheckDue":
        return ignoreFailure(self, renewIfNeeded(self, command.organisationId, scope))
      case "Abandon":
        return ignoreFailure(self, abandonConnection(self, command.organisationId))
    }
  }

  return { execute }
})

const done: CommandResult = { _tag: "Done" }
