/** The commands of sweeps: renew what is due, and remove a connection that was never completed. */
import { Clock, Effect, type Scope } from "effect"
import { credentialLifetime } from "../../domain/connection/Credential.js"
import { isAlive, isDue, needsKeepAlive } from "../../domain/connection/Refresh.js"
import { coolDownEnd } from "./CallGrant.js"
import { busy, isRenewable, marginOf, type ConnectionOwner, system } from "./ConnectionOwner.js"
import type { CommandContext } from "./CommandContext.js"

/** Renews a token that is due or was not used for long; expires a connection whose token has ended for good. */
export const renewIfNeeded = Effect.fnUntraced(function* (
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

/** Deletes a connection that was never completed. */
export const abandonConnection = Effect.fnUntraced(function* (
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
