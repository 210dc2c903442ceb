/** Rows of `connect_sessions`: opened, sent to the provider, redeemed once, failed. */
import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Option } from "effect"
import type {
  AuthorizingSession,
  ConnectionStore,
  ConnectSession
} from "../../../actors/ports/connection/ConnectionStore.js"
import type { AuditRows } from "../AuditRow.js"
import { transactAudited, writeEvents } from "./ChangeWrites.js"
import { databaseUnavailable, execute } from "../database/DatabaseUnavailable.js"

type SessionRow = Omit<AuthorizingSession, "expiresAt"> & { readonly expiresAt: Date }

export const putSession = (sql: SqlClient, session: ConnectSession) =>
  sql`INSERT INTO connect_sessions (id, org, connection_id, token_hash, auth_method, auth_provider, config, redirect_url,
      reconnects, status, error, created_by, expires_at)
    VALUES (${session.id}, ${session.organisationId}, ${session.connectionId}, ${session.tokenHash}, ${session.authMethod},
      ${session.authProvider}, ${JSON.stringify(session.config)}::jsonb, ${session.redirectUrl}, ${session.reconnects},
      ${session.status}, ${session.error}, ${session.createdBy}, ${session.expiresAt})`

export const openConnectSession =
  (sql: SqlClient, auditRows: AuditRows["Type"]): ConnectionStore["Type"]["openSession"] =>
  (session, audit) =>
    transactAudited(sql, auditRows, audit, (rows) =>
      Effect.gen(function* () {
        yield* putSession(sql, session)
        yield* writeEvents(sql, [], rows)
      })
    )

export const authorizeSession =
  (sql: SqlClient): ConnectionStore["Type"]["authorizeSession"] =>
  (id, { asked, config, stateHash, verifier }) =>
    execute(sql`UPDATE connect_sessions SET state_hash = ${stateHash}, verifier = ${verifier}, config = ${JSON.stringify(config)}::jsonb,
      asked = ${JSON.stringify(asked)}::jsonb
    WHERE id = ${id} AND status = 'open'`)

export const redeemSession =
  (sql: SqlClient): ConnectionStore["Type"]["redeemSession"] =>
  (id) =>
    sql`UPDATE connect_sessions SET state_hash = NULL, verifier = NULL
    WHERE id = ${id} AND status = 'open' AND state_hash IS NOT NULL RETURNING 1`.pipe(
      Effect.map((rows) => rows.length === 1),
      Effect.mapError(databaseUnavailable)
    )

export const failSession =
  (sql: SqlClient): ConnectionStore["Type"]["failSession"] =>
  (id, error) =>
    execute(sql`UPDATE connect_sessions SET status = 'failed', error = ${error}, finished_at = now(), state_hash = NULL, verifier = NULL
    WHERE id = ${id} AND status = 'open'`)

export const findSession =
  (sql: SqlClient): ConnectionStore["Type"]["session"] =>
  (by) => {
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
      Effect.mapError(databaseUnavailable)
    )
  }
