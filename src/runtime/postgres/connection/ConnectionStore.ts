/**
 * The port `ConnectionStore` on the writer's pool: each change is one transaction, fenced by the connection's revision.
 */
import type { Sql } from "../database/Sql.js"
import { Effect, Layer, Option, Schema } from "effect"
import { ConnectionStore, type CredentialRow, Stale } from "../../../actors/ports/connection/ConnectionStore.js"
import type { Connection } from "../../../domain/connection/Connection.js"
import { WriterSql } from "../database/Pools.js"
import { parameterOf, rowDecoder } from "../record/Table.js"
import { tables } from "../record/RecordTables.js"
import { loadSql, ownedConnection, insertSql, updatedMembers, updateSql } from "./ConnectionRows.js"
import { AuditRows } from "../AuditRow.js"
import { transact, transactAudited, writeEvents } from "./ChangeWrites.js"
import { databaseUnavailable } from "../database/DatabaseUnavailable.js"
import {
  putSession,
  openConnectSession,
  authorizeSession,
  redeemSession,
  failSession,
  findSession
} from "./ConnectSessionRows.js"

const { connections } = tables

const decodeRevision = rowDecoder("connections", { revision: Schema.Number })

const toDate = (millis: number | null) => (millis === null ? null : new Date(millis))

/** Serialises changes of the default connection of a customer, user and connector. */
const lockKind = (sql: Sql, { connector, customerId, organisationId, userId }: Connection) =>
  sql`SELECT pg_advisory_xact_lock(hashtextextended(${[organisationId, customerId, userId, connector].join("|")}, 2))`

/** Selects the connections among which one is the default. */
const kind = (sql: Sql, { connector, customerId, organisationId, userId }: Connection) =>
  sql.and([
    sql`org = ${organisationId}`,
    sql`customer_id = ${customerId}`,
    sql`COALESCE(user_id, '') = ${userId ?? ""}`,
    sql`connector = ${connector}`
  ])

const putCredential = (sql: Sql, { id, organisationId }: Connection, credential: CredentialRow) =>
  sql`INSERT INTO credentials (id, org, connection_id, number, sealed, members, fingerprint, expires_at)
    VALUES (${credential.id}, ${organisationId}, ${id}, ${credential.number}, ${credential.sealed}, ${credential.members},
      ${credential.fingerprint}, ${credential.expiresAt})
    ON CONFLICT (connection_id) DO UPDATE SET number = excluded.number, sealed = excluded.sealed, members = excluded.members,
      fingerprint = excluded.fingerprint, expires_at = excluded.expires_at,
      rotated_at = CASE WHEN ${credential.rotated} THEN now() ELSE credentials.rotated_at END`

const load =
  (sql: Sql): ConnectionStore["Type"]["load"] =>
  (id) =>
    sql.unsafe(loadSql, [id]).pipe(
      Effect.map(([row]) => Option.map(Option.fromNullable(row), ownedConnection)),
      Effect.mapError(databaseUnavailable)
    )

const insert =
  (sql: Sql, auditRows: AuditRows): ConnectionStore["Type"]["insert"] =>
  ({ audit, connection, credential, events, nextLookAt, session }) =>
    transactAudited(sql, auditRows, audit, (rows) =>
      Effect.gen(function* () {
        yield* lockKind(sql, connection)
        const others = yield* sql`SELECT 1 FROM connections WHERE ${kind(sql, connection)} AND is_default LIMIT 1`
        const inserted = { ...connection, isDefault: others.length === 0 }
        const values = connections.members.map((member) => parameterOf(connections, member, inserted[member]))
        const made = yield* sql.unsafe(insertSql, [...values, toDate(nextLookAt)])
        if (made.length === 0) return inserted
        if (credential !== null) yield* putCredential(sql, inserted, credential)
        if (session !== null) yield* putSession(sql, session)
        yield* writeEvents(sql, events, rows)
        return inserted
      })
    )

const save =
  (sql: Sql, auditRows: AuditRows): ConnectionStore["Type"]["save"] =>
  (change) =>
    transactAudited(sql, auditRows, change.audit, (rows) =>
      Effect.gen(function* () {
        const { connection, credential, revision } = change
        const isConnected = connection.status !== "disconnected"
        if (change.makesDefault === true) yield* lockKind(sql, connection)
        const values = updatedMembers.map((member) => parameterOf(connections, member, connection[member]))
        const [row] = (yield* sql.unsafe(updateSql, [
          ...values,
          toDate(change.nextLookAt),
          connection.id,
          revision,
          isConnected
        ])).map(decodeRevision)
        if (row === undefined) return yield* new Stale()
        if (change.makesDefault === true) {
          yield* sql`UPDATE connections SET is_default = false WHERE ${kind(sql, connection)} AND is_default AND id <> ${connection.id}`
          yield* sql`UPDATE connections SET is_default = true WHERE id = ${connection.id}`
        }
        if (credential === "wipe") yield* sql`DELETE FROM credentials WHERE connection_id = ${connection.id}`
        else if (credential !== "keep") yield* putCredential(sql, connection, credential)
        if (change.endsRefresh) yield* sql`DELETE FROM refresh_intents WHERE connection_id = ${connection.id}`
        if (change.session !== undefined) {
          const { error, id, status } = change.session
          yield* sql`UPDATE connect_sessions SET status = ${status}, error = ${error}, finished_at = now(), state_hash = NULL,
          verifier = NULL WHERE id = ${id}`
        }
        yield* writeEvents(sql, change.events, rows)
        return row.revision
      })
    )

const intend =
  (sql: Sql): ConnectionStore["Type"]["intend"] =>
  ({ connection, revision }, intent) =>
    transact(
      sql,
      Effect.gen(function* () {
        const [row] = (yield* sql`UPDATE connections SET revision = revision + 1
        WHERE id = ${connection.id} AND revision = ${revision} RETURNING revision`).map(decodeRevision)
        if (row === undefined) return yield* new Stale()
        yield* sql`INSERT INTO refresh_intents (connection_id, org, refresh_seq, token_hash, attempt, process, at)
        VALUES (${connection.id}, ${connection.organisationId}, ${intent.refreshSeq}, ${intent.tokenHash}, ${intent.attempt},
          ${intent.process}, now())
        ON CONFLICT (connection_id) DO UPDATE SET refresh_seq = excluded.refresh_seq, token_hash = excluded.token_hash,
          attempt = excluded.attempt, process = excluded.process, at = excluded.at`
        return row.revision
      })
    )

const abandon =
  (sql: Sql, auditRows: AuditRows): ConnectionStore["Type"]["abandon"] =>
  ({ connection, revision }, { audit, events }) =>
    transactAudited(sql, auditRows, audit, (rows) =>
      Effect.gen(function* () {
        const deleted =
          yield* sql`DELETE FROM connections WHERE id = ${connection.id} AND revision = ${revision} RETURNING 1`
        if (deleted.length === 0) return yield* new Stale()
        yield* writeEvents(sql, events, rows)
      })
    )

export const layer = Layer.effect(
  ConnectionStore,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const auditRows = yield* AuditRows

    return ConnectionStore.of({
      load: load(sql),
      insert: insert(sql, auditRows),
      save: save(sql, auditRows),
      intend: intend(sql),
      abandon: abandon(sql, auditRows),
      openSession: openConnectSession(sql, auditRows),
      authorizeSession: authorizeSession(sql),
      redeemSession: redeemSession(sql),
      failSession: failSession(sql),
      session: findSession(sql)
    })
  })
)
