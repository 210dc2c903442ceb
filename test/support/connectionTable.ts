/** The stored connections in memory, fenced by their revisions. */
import { Effect, Option } from "effect"
import {
  ConnectionStore,
  type DomainEvent,
  type OwnedConnection,
  Stale
} from "../../src/actors/ports/connection/ConnectionStore.js"
import type { AuditEntry } from "../../src/domain/audit/Audit.js"
import type { AuthorizingSession } from "../../src/domain/connection/ConnectSession.js"
import type { Unavailable } from "../../src/domain/Failure.js"
import type { RefreshIntent } from "../../src/domain/connection/Refresh.js"
import type { ConnectionId, ConnectSessionId } from "../../src/domain/Ids.js"

type Answer = Effect.Effect<void, Unavailable>

/** `statement`: what each statement waits for; where it fails, nothing is written. `intended`: the same once an intent is. */
export const connectionTable = ({
  intended = Effect.void,
  statement = Effect.void
}: { readonly statement?: Answer | undefined; readonly intended?: Answer | undefined } = {}) => {
  const rows = new Map<ConnectionId, OwnedConnection & { readonly look: number | null }>()
  const notAsked = { verifier: null, stateHash: null, asked: null, commonCallback: false }
  const sessions = new Map<ConnectSessionId, AuthorizingSession & { readonly stateHash: string | null }>()
  const events: Array<DomainEvent> = []
  const audit: Array<AuditEntry> = []
  const counted = { loads: 0 }

  const fenced = (id: ConnectionId, revision: number) =>
    Effect.flatMap(statement, () => {
      const row = rows.get(id)
      return row === undefined || row.revision !== revision ? Effect.fail(new Stale()) : Effect.succeed(row)
    })

  const store = ConnectionStore.of({
    load: (id) =>
      Effect.zipRight(
        // As a statement, during which others ask too.
        Effect.zipRight(Effect.yieldNow(), statement),
        Effect.sync(() => {
          counted.loads += 1
          return Option.fromNullable(rows.get(id))
        })
      ),
    insert: ({ audit: told, connection, credential, events: said, nextLookAt, session }) =>
      Effect.sync(() => {
        const made = { ...connection, isDefault: true }
        rows.set(connection.id, { connection: made, revision: 1, credential, intent: null, look: nextLookAt })
        if (session !== null) sessions.set(session.id, { ...session, ...notAsked })
        events.push(...said)
        audit.push(...told)
        return made
      }),
    save: (change) =>
      Effect.map(fenced(change.connection.id, change.revision), (row) => {
        const credential =
          change.credential === "keep" ? row.credential : change.credential === "wipe" ? null : change.credential
        const revision = row.revision + 1
        rows.set(change.connection.id, {
          connection: change.connection,
          revision,
          credential,
          intent: change.endsRefresh ? null : row.intent,
          look: change.nextLookAt
        })
        if (change.session !== undefined) {
          const session = sessions.get(change.session.id)
          if (session !== undefined)
            sessions.set(session.id, { ...session, status: change.session.status, stateHash: null })
        }
        events.push(...change.events)
        audit.push(...change.audit)
        return revision
      }),
    intend: ({ connection, revision }, intent: RefreshIntent) =>
      Effect.flatMap(fenced(connection.id, revision), (row) => {
        rows.set(connection.id, { ...row, revision: row.revision + 1, intent })
        return Effect.as(intended, row.revision + 1)
      }),
    abandon: ({ connection, revision }, told) =>
      Effect.map(fenced(connection.id, revision), () => {
        rows.delete(connection.id)
        events.push(...told.events)
      }),
    openSession: (session) => Effect.sync(() => void sessions.set(session.id, { ...session, ...notAsked })),
    authorizeSession: (id, change) =>
      Effect.sync(() => {
        const session = sessions.get(id)
        if (session !== undefined) sessions.set(id, { ...session, ...change })
      }),
    redeemSession: (id) =>
      Effect.sync(() => {
        const session = sessions.get(id)
        if (session === undefined || session.stateHash === null || session.status !== "open") return false
        sessions.set(id, { ...session, stateHash: null })
        return true
      }),
    failSession: (id, error) =>
      Effect.sync(() => {
        const session = sessions.get(id)
        if (session !== undefined) sessions.set(id, { ...session, status: "failed", error })
      }),
    session: (where) =>
      Effect.sync(() =>
        Option.fromNullable(
          [...sessions.values()].find((one) =>
            "id" in where
              ? one.id === where.id
              : "tokenHash" in where
                ? one.tokenHash === where.tokenHash
                : one.stateHash === where.stateHash
          )
        )
      )
  })

  return { store, rows, sessions, events, audit, counted }
}
