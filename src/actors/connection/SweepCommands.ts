/** The commands of sweeps: renew what is due, and remove a connection that was never completed. */
import { Clock, Effect, type Scope } from "effect"
import { credentialLifetime } from "../../domain/connection/Credential.js"
import { isAlive, isDue, needsKeepAlive } from "../../domain/connection/Refresh.js"
import { coolDownEnd } from "./CallGrant.js"
import { busy, isRenewable, marginOf, type ConnectionOwner, system } from "./ConnectionOwner.js"
import { ConnectionStore } from "../ports/connection/ConnectionStore.js"
import { ConnectionOwners } from "./ConnectionOwners.js"
import { StoredCredentialTest } from "./credential/StoredCredentialTest.js"

export const makeSweepCommands = Effect.gen(function* () {
  const owners = yield* ConnectionOwners
  const store = yield* ConnectionStore
  const { connectorOf, endUnrenewable, renewAndRead } = yield* StoredCredentialTest

  /** Renews a token that is due or was not used for long; expires a connection whose token has ended for good. */
  const renewIfNeeded = Effect.fnUntraced(function* (self: ConnectionOwner, organisation: string, scope: Scope.Scope) {
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
    if (intent !== null || failing || due || needsKeepAlive(lifetime, now)) yield* renewAndRead(self, open, scope)
  })

  /** Deletes a connection that was never completed. */
  const abandonConnection = Effect.fnUntraced(function* (self: ConnectionOwner, organisation: string) {
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

  return { renewIfNeeded, abandonConnection }
})
