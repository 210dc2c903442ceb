/** Rows of `connect_sessions`: opened, sent to the provider, redeemed once, failed. */
import type { Sql } from "../database/Sql.js"
import { Effect, Option } from "effect"
import type { ConnectionStore } from "../../../actors/ports/connection/ConnectionStore.js"
import type { AuditRows } from "../AuditRow.js"
import { transactAudited, writeEvents } from "./ChangeWrites.js"
import { databaseUnavailable, execute } from "../database/DatabaseUnavailable.js"
import { AuthorizingSession, type ConnectSession } from "../../../domain/connection/ConnectSession.js"
import { insertRecord } from "../record/Repository.js"
import { rowDecoder, selectColumns } from "../record/Table.js"
import { connectSessions } from "../record/RecordTables.js"

const decode = rowDecoder("connect_sessions", AuthorizingSession)

/** Stores a session within the transaction of its connection. */
export const putSession = (sql: Sql, session: ConnectSession) => insertRecord({ sql, table: connectSessions }, session)

export const openConnectSession =
  (sql: Sql, auditRows: AuditRows): ConnectionStore["Type"]["openSession"] =>
  (session, audit) =>
    transactAudited(sql, auditRows, audit, (rows) =>
      Effect.gen(function* () {
        yield* putSession(sql, session)
        yield* writeEvents(sql, [], rows)
      })
    )

export const authorizeSession =
  (sql: Sql): ConnectionStore["Type"]["authorizeSession"] =>
  (id, { asked, config, stateHash, verifier }) =>
    execute(sql`UPDATE connect_sessions SET state_hash = ${stateHash}, verifier = ${verifier}, config = ${JSON.stringify(config)}::jsonb,
      asked = ${JSON.stringify(asked)}::jsonb
    WHERE id = ${id} AND status = 'open'`)

export const redeemSession =
  (sql: Sql): ConnectionStore["Type"]["redeemSession"] =>
  (id) =>
    sql`UPDATE connect_sessions SET state_hash = NULL, verifier = NULL
    WHERE id = ${id} AND status = 'open' AND state_hash IS NOT NULL RETURNING 1`.pipe(
      Effect.map((rows) => rows.length === 1),
      Effect.mapError(databaseUnavailable)
    )

export const failSession =
  (sql: Sql): ConnectionStore["Type"]["failSession"] =>
  (id, error) =>
    execute(sql`UPDATE connect_sessions SET status = 'failed', error = ${error}, finished_at = now(), state_hash = NULL, verifier = NULL
    WHERE id = ${id} AND status = 'open'`)

export const findSession =
  (sql: Sql): ConnectionStore["Type"]["session"] =>
  (by) => {
    const condition =
      "tokenHash" in by
        ? sql`token_hash = ${by.tokenHash}`
        : "stateHash" in by
          ? sql`state_hash = ${by.stateHash}`
          : sql`id = ${by.id}`
    return sql`SELECT ${sql.literal(selectColumns(connectSessions))}, verifier, asked,
      (SELECT c.common_callback FROM connections c WHERE c.id = connection_id) AS "commonCallback"
    FROM connect_sessions WHERE ${condition}`.pipe(
      Effect.map(([row]) => Option.map(Option.fromNullable(row), decode)),
      Effect.mapError(databaseUnavailable)
    )
  }
