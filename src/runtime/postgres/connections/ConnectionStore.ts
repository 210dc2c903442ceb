/**
 * The port `ConnectionStore` on the writer's pool: each change is one transaction, fenced by the connection's revision.
 */
import { SqlError } from "@effect/sql/SqlError"
import { Effect, Layer, Option } from "effect"
import {
  type AuthorizingSession,
  type ConnectionChange,
  ConnectionStore,
  type ConnectSession,
  type CredentialRow,
  type DomainEvent,
  type OwnedConnection,
  type NewConnection,
  Stale
} from "../../../actors/ports/ConnectionStore.js"
import type { AuditEntry } from "../../../domain/Audit.js"
import type { Connection } from "../../../domain/connection/Connection.js"
import { Unavailable } from "../../../domain/Failure.js"
import type { CredentialId } from "../../../domain/Ids.js"
import { auditRow } from "../AuditRow.js"
import { WriterSql } from "../Pools.js"
import { columnOf, parameterOf, recordOf, selectColumns } from "../records/Table.js"
import { connections } from "./ConnectionTables.js"

const unavailable = () => new Unavailable({ reason: "the database cannot be reached", retryAfterSeconds: 1 })

/** Members that the statement of a change does not write. */
const separatelyWritten: ReadonlySet<string> = new Set(["id", "isDefault", "lastUsedAt"])
const updatedMembers = connections.members.filter((member) => !separatelyWritten.has(member))

const insertSql = `INSERT INTO connections (${connections.members.map((member) => `"${columnOf(connections, member)}"`).join(", ")},
    next_look_at)
  VALUES (${connections.members.map((_, i) => `$${i + 1}`).join(", ")}, $${connections.members.length + 1})
  ON CONFLICT (id) DO NOTHING RETURNING 1`

const updateSql = `UPDATE connections SET ${updatedMembers
  .map((member, i) => `"${columnOf(connections, member)}" = $${i + 1}`)
  .join(
    ", "
  )}, next_look_at = $${updatedMembers.length + 1}, revision = revision + 1, is_default = is_default AND $${updatedMembers.length + 4},
    disconnected_at = CASE WHEN $${updatedMembers.length + 4} THEN NULL ELSE COALESCE(disconnected_at, now()) END
  WHERE id = $${updatedMembers.length + 2} AND revision = $${updatedMembers.length + 3}
  RETURNING revision`

const loadSql = `SELECT ${selectColumns(connections)
  .split(", ")
  .map((part) => `c.${part}`)
  .join(", ")}, c.revision AS held_revision, k.id AS credential_id, k.number AS credential_number,
    k.sealed AS credential_sealed, i.refresh_seq, i.token_hash, i.attempt, i.at AS intent_at
  FROM connections c LEFT JOIN credentials k ON k.connection_id = c.id LEFT JOIN refresh_intents i ON i.connection_id = c.id
  WHERE c.id = $1`

interface LoadRow {
  readonly held_revision: number
  readonly credential_id: CredentialId | null
  readonly credential_number: number
  readonly credential_sealed: Uint8Array
  readonly refresh_seq: number | null
  readonly token_hash: string
  readonly attempt: number
  readonly intent_at: Date
}

/** Interned texts: very many connections in memory share them. */
const internedTexts = new Map<string, string>()
const intern = <Text extends string | null>(text: Text): Text => {
  if (text === null) return text
  const held = internedTexts.get(text)
  if (held !== undefined) return held as Text
  if (internedTexts.size >= 10_000) internedTexts.clear()
  internedTexts.set(text, text)
  return text
}
const emptyObject = {}
const emptyList: ReadonlyArray<never> = []
const internEmpty = <A extends object>(value: A): A => (Object.keys(value).length === 0 ? (emptyObject as A) : value)

/**
 * Copies a connection into an object literal. Owners keep it in memory while they are idle, and an object that is built
 * member by member takes six times as much in V8.
 */
const compactConnection = (read: Connection): Connection => ({
  id: read.id,
  organisationId: intern(read.organisationId),
  connector: intern(read.connector),
  connectorVersion: intern(read.connectorVersion),
  customerId: read.customerId,
  userId: read.userId,
  label: intern(read.label),
  accountLabel: read.accountLabel,
  authMethod: intern(read.authMethod),
  authProvider: intern(read.authProvider),
  status: read.status,
  health: read.health,
  config: internEmpty(read.config),
  scopes: read.scopes.length === 0 ? emptyList : read.scopes,
  isDefault: read.isDefault,
  expiresAt: read.expiresAt,
  lastRefreshAt: read.lastRefreshAt,
  refreshFailedAt: read.refreshFailedAt,
  lastUsedAt: read.lastUsedAt,
  metadata: internEmpty(read.metadata),
  tags: internEmpty(read.tags),
  credentialFingerprint: read.credentialFingerprint,
  createdBy: intern(read.createdBy),
  createdAt: read.createdAt,
  updatedAt: read.updatedAt,
  version: read.version
})

const ownedConnection = ({
  attempt,
  credential_id,
  credential_number,
  credential_sealed,
  held_revision,
  intent_at,
  refresh_seq,
  token_hash,
  ...row
}: LoadRow & { readonly [member: string]: unknown }): OwnedConnection => ({
  connection: compactConnection(recordOf<Connection>(row)),
  revision: held_revision,
  credential:
    credential_id === null ? null : { id: credential_id, number: credential_number, sealed: credential_sealed },
  intent:
    refresh_seq === null ? null : { refreshSeq: refresh_seq, tokenHash: token_hash, attempt, at: intent_at.getTime() }
})

type SessionRow = Omit<AuthorizingSession, "expiresAt"> & { readonly expiresAt: Date }

const toDate = (millis: number | null) => (millis === null ? null : new Date(millis))

export const layer = Layer.effect(
  ConnectionStore,
  Effect.gen(function* () {
    const sql = yield* WriterSql

    const transact = <A, E>(body: Effect.Effect<A, E>) =>
      sql.withTransaction(body).pipe(
        Effect.catchIf(
          (error): error is Extract<E, SqlError> | SqlError => error instanceof SqlError,
          () => unavailable()
        )
      )

    const writeEvents = (events: ReadonlyArray<DomainEvent>, audit: ReadonlyArray<AuditEntry>) =>
      Effect.gen(function* () {
        if (events.length > 0)
          yield* sql`INSERT INTO domain_events (id, org, type, subject, customer_id, payload, at)
            SELECT id, org, type, subject, customer_id, payload, at FROM jsonb_to_recordset(${JSON.stringify(
              events.map(({ customerId, organisationId, ...event }) => ({
                ...event,
                org: organisationId,
                customer_id: customerId
              }))
            )}::jsonb) AS t(id text, org text, type text, subject text, customer_id text, payload jsonb, at timestamptz)`
        if (audit.length > 0)
          yield* sql`INSERT INTO audit_entries (id, org, at, actor_type, actor_id, action, resource_type, resource_id, customer_id,
              outcome, entry)
            SELECT id, org, at, actor_type, actor_id, action, resource_type, resource_id, customer_id, outcome, entry
            FROM json_to_recordset(${JSON.stringify(audit.map(auditRow))}::json) AS t(id text, org text, at timestamptz,
              actor_type text, actor_id text, action text, resource_type text, resource_id text, customer_id text, outcome text,
              entry json)`
      })

    /** Serialises changes of the default connection of a customer, user and connector. */
    const lockKind = ({ connector, customerId, organisationId, userId }: Connection) =>
      sql`SELECT pg_advisory_xact_lock(hashtextextended(${[organisationId, customerId, userId, connector].join("|")}, 2))`

    const kind = ({ connector, customerId, organisationId, userId }: Connection) =>
      sql.and([
        sql`org = ${organisationId}`,
        sql`customer_id = ${customerId}`,
        sql`COALESCE(user_id, '') = ${userId ?? ""}`,
        sql`connector = ${connector}`
      ])

    const putCredential = ({ id, organisationId }: Connection, credential: CredentialRow) =>
      sql`INSERT INTO credentials (id, org, connection_id, number, sealed, members, fingerprint, expires_at)
        VALUES (${credential.id}, ${organisationId}, ${id}, ${credential.number}, ${credential.sealed}, ${credential.members},
          ${credential.fingerprint}, ${credential.expiresAt})
        ON CONFLICT (connection_id) DO UPDATE SET number = excluded.number, sealed = excluded.sealed, members = excluded.members,
          fingerprint = excluded.fingerprint, expires_at = excluded.expires_at,
          rotated_at = CASE WHEN ${credential.rotated} THEN now() ELSE credentials.rotated_at END`

    const putSession = (session: ConnectSession) =>
      sql`INSERT INTO connect_sessions (id, org, connection_id, token_hash, auth_method, auth_provider, config, redirect_url,
          reconnects, status, error, created_by, expires_at)
        VALUES (${session.id}, ${session.organisationId}, ${session.connectionId}, ${session.tokenHash}, ${session.authMethod},
          ${session.authProvider}, ${JSON.stringify(session.config)}::jsonb, ${session.redirectUrl}, ${session.reconnects},
          ${session.status}, ${session.error}, ${session.createdBy}, ${session.expiresAt})`

    const load: ConnectionStore["Type"]["load"] = (id) =>
      sql.unsafe<LoadRow & { readonly [member: string]: unknown }>(loadSql, [id]).pipe(
        Effect.map(([row]) => Option.map(Option.fromNullable(row), ownedConnection)),
        Effect.mapError(unavailable)
      )

    const insert = ({ audit, connection, credential, events, nextLookAt, session }: NewConnection) =>
      transact(
        Effect.gen(function* () {
          yield* lockKind(connection)
          const others = yield* sql`SELECT 1 FROM connections WHERE ${kind(connection)} AND is_default LIMIT 1`
          const inserted = { ...connection, isDefault: others.length === 0 }
          const values = connections.members.map((member) => parameterOf(connections, member, inserted[member]))
          const rows = yield* sql.unsafe(insertSql, [...values, toDate(nextLookAt)])
          if (rows.length === 0) return inserted
          if (credential !== null) yield* putCredential(inserted, credential)
          if (session !== null) yield* putSession(session)
          yield* writeEvents(events, audit)
          return inserted
        })
      )

    const save = (change: ConnectionChange) =>
      transact(
        Effect.gen(function* () {
          const { connection, credential, revision } = change
          const isConnected = connection.status !== "disconnected"
          if (change.makesDefault === true) yield* lockKind(connection)
          const values = updatedMembers.map((member) => parameterOf(connections, member, connection[member]))
          const [row] = yield* sql.unsafe<{ readonly revision: number }>(updateSql, [
            ...values,
            toDate(change.nextLookAt),
            connection.id,
            revision,
            isConnected
          ])
          if (row === undefined) return yield* new Stale()
          if (change.makesDefault === true) {
            yield* sql`UPDATE connections SET is_default = false WHERE ${kind(connection)} AND is_default AND id <> ${connection.id}`
            yield* sql`UPDATE connections SET is_default = true WHERE id = ${connection.id}`
          }
          if (credential === "wipe") yield* sql`DELETE FROM credentials WHERE connection_id = ${connection.id}`
          else if (credential !== "keep") yield* putCredential(connection, credential)
          yield* sql`DELETE FROM refresh_intents WHERE connection_id = ${connection.id}`
          if (change.session !== undefined) {
            const { error, id, status } = change.session
            yield* sql`UPDATE connect_sessions SET status = ${status}, error = ${error}, finished_at = now(), state_hash = NULL,
              verifier = NULL WHERE id = ${id}`
          }
          yield* writeEvents(change.events, change.audit)
          return row.revision
        })
      )

    const intend: ConnectionStore["Type"]["intend"] = ({ connection, revision }, intent) =>
      transact(
        Effect.gen(function* () {
          const [row] = yield* sql<{ readonly revision: number }>`UPDATE connections SET revision = revision + 1
            WHERE id = ${connection.id} AND revision = ${revision} RETURNING revision`
          if (row === undefined) return yield* new Stale()
          yield* sql`INSERT INTO refresh_intents (connection_id, org, refresh_seq, token_hash, attempt, at)
            VALUES (${connection.id}, ${connection.organisationId}, ${intent.refreshSeq}, ${intent.tokenHash}, ${intent.attempt}, now())
            ON CONFLICT (connection_id) DO UPDATE SET refresh_seq = excluded.refresh_seq, token_hash = excluded.token_hash,
              attempt = excluded.attempt, at = excluded.at`
          return row.revision
        })
      )

    const abandon: ConnectionStore["Type"]["abandon"] = ({ connection, revision }, { audit, events }) =>
      transact(
        Effect.gen(function* () {
          const deleted =
            yield* sql`DELETE FROM connections WHERE id = ${connection.id} AND revision = ${revision} RETURNING 1`
          if (deleted.length === 0) return yield* new Stale()
          yield* writeEvents(events, audit)
        })
      )

    const openSession: ConnectionStore["Type"]["openSession"] = (session, audit) =>
      transact(
        Effect.gen(function* () {
          yield* putSession(session)
          yield* writeEvents([], audit)
        })
      )

    const authorizeSession: ConnectionStore["Type"]["authorizeSession"] = (
      id,
      { asked, config, stateHash, verifier }
    ) =>
      sql`UPDATE connect_sessions SET state_hash = ${stateHash}, verifier = ${verifier}, config = ${JSON.stringify(config)}::jsonb,
          asked = ${JSON.stringify(asked)}::jsonb
        WHERE id = ${id} AND status = 'open'`.pipe(Effect.asVoid, Effect.mapError(unavailable))

    const redeemSession: ConnectionStore["Type"]["redeemSession"] = (id) =>
      sql`UPDATE connect_sessions SET state_hash = NULL, verifier = NULL
        WHERE id = ${id} AND status = 'open' AND state_hash IS NOT NULL RETURNING 1`.pipe(
        Effect.map((rows) => rows.length === 1),
        Effect.mapError(unavailable)
      )

    const failSession: ConnectionStore["Type"]["failSession"] = (id, error) =>
      sql`UPDATE connect_sessions SET status = 'failed', error = ${error}, finished_at = now(), state_hash = NULL, verifier = NULL
        WHERE id = ${id} AND status = 'open'`.pipe(Effect.asVoid, Effect.mapError(unavailable))

    const session: ConnectionStore["Type"]["session"] = (by) => {
      const condition =
        "tokenHash" in by
          ? sql`token_hash = ${by.tokenHash}`
          : "stateHash" in by
            ? sql`state_hash = ${by.stateHash}`
            : sql`id = ${by.id}`
      return sql<SessionRow>`SELECT id, org AS "organisationId", connection_id AS "connectionId", token_hash AS "tokenHash", verifier,
          auth_method AS "authMethod", auth_provider AS "authProvider", config, redirect_url AS "redirectUrl", reconnects, status, error,
          created_by AS "createdBy", expires_at AS "expiresAt", asked,
          (SELECT c.common_callback FROM connections c WHERE c.id = connection_id) AS "commonCallback"
        FROM connect_sessions WHERE ${condition}`.pipe(
        Effect.map(([row]) =>
          Option.map(Option.fromNullable(row), (found) => ({ ...found, expiresAt: found.expiresAt.toISOString() }))
        ),
        Effect.mapError(unavailable)
      )
    }

    return ConnectionStore.of({
      load,
      insert,
      save,
      intend,
      abandon,
      openSession,
      authorizeSession,
      redeemSession,
      failSession,
      session
    })
  })
)
