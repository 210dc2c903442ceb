/** Rows of `connect_sessions`: opened, sent to the provider, redeemed once, failed. */
import type { Sql } from "../database/Sql.js"
import { Effect, Option, Schema } from "effect"
import type { ConnectionStore, ConnectSession } from "../../../actors/ports/connection/ConnectionStore.js"
import type { AuditRows } from "../AuditRow.js"
import { transactAudited, writeEvents } from "./ChangeWrites.js"
import { databaseUnavailable, execute } from "../database/DatabaseUnavailable.js"
import type { AuthorizationRequest } from "../../../domain/connection/Callback.js"
import { ConnectionId, ConnectSessionId, OrganisationId } from "../../../domain/Ids.js"
import { storedDocument, StoredObject } from "../../../domain/Json.js"
import { AnsweredTime } from "../../../domain/Time.js"
import { rowDecoder } from "../record/Table.js"

const decode = rowDecoder("connect_sessions", {
  id: ConnectSessionId,
  organisationId: OrganisationId,
  connectionId: ConnectionId,
  tokenHash: Schema.String,
  authMethod: Schema.String,
  authProvider: Schema.NullOr(Schema.String),
  config: StoredObject,
  redirectUrl: Schema.NullOr(Schema.String),
  reconnects: Schema.Boolean,
  status: Schema.Literal("open", "completed", "failed", "expired"),
  error: Schema.NullOr(Schema.String),
  createdBy: Schema.String,
  expiresAt: AnsweredTime,
  verifier: Schema.NullOr(Schema.Uint8ArrayFromSelf),
  asked: Schema.NullOr(storedDocument<AuthorizationRequest>()),
  commonCallback: Schema.Boolean
})

export const putSession = (sql: Sql, session: ConnectSession) =>
  sql`INSERT INTO connect_sessions (id, org, connection_id, token_hash, auth_method, auth_provider, config, redirect_url,
      reconnects, status, error, created_by, expires_at)
    VALUES (${session.id}, ${session.organisationId}, ${session.connectionId}, ${session.tokenHash}, ${session.authMethod},
      ${session.authProvider}, ${JSON.stringify(session.config)}::jsonb, ${session.redirectUrl}, ${session.reconnects},
      ${session.status}, ${session.error}, ${session.createdBy}, ${session.expiresAt})`

export const openConnectSession =
  (sql: Sql, auditRows: AuditRows["Type"]): ConnectionStore["Type"]["openSession"] =>
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
    return sql`SELECT id, org AS "organisationId", connection_id AS "connectionId", token_hash AS "tokenHash", verifier,
      auth_method AS "authMethod", auth_provider AS "authProvider", config, redirect_url AS "redirectUrl", reconnects, status, error,
      created_by AS "createdBy", expires_at AS "expiresAt", asked,
      (SELECT c.common_callback FROM connections c WHERE c.id = connection_id) AS "commonCallback"
    FROM connect_sessions WHERE ${condition}`.pipe(
      Effect.map(([row]) => Option.map(Option.fromNullable(row), decode)),
      Effect.mapError(databaseUnavailable)
    )
  }
