/** What every change of a connection writes, and the transaction around it. */
import type { Sql } from "../database/Sql.js"
import { SqlError } from "@effect/sql/SqlError"
import { Effect } from "effect"
import type { DomainEvent } from "../../../actors/ports/connection/ConnectionStore.js"
import type { AuditEntry } from "../../../domain/audit/Audit.js"
import { type AuditRow, type AuditRows, writeAuditRows } from "../AuditRow.js"
import { databaseUnavailable } from "../database/DatabaseUnavailable.js"

/** Runs a change in one transaction; a database that does not answer is `Unavailable`. */
export const transact = <A, E>(sql: Sql, body: Effect.Effect<A, E>) =>
  sql
    .withTransaction(body)
    .pipe(
      Effect.catchIf(
        (error): error is Extract<E, SqlError> | SqlError => error instanceof SqlError,
        databaseUnavailable
      )
    )

/** The same with the rows of its audit entries, which are made before the transaction has a connection. */
export const transactAudited = <A, E>(
  sql: Sql,
  auditRows: AuditRows,
  audit: ReadonlyArray<AuditEntry>,
  body: (rows: ReadonlyArray<AuditRow>) => Effect.Effect<A, E>
) => Effect.flatMap(auditRows.of(audit), (rows) => transact(sql, body(rows)))

/** Writes what a change tells: domain events and audit entries. */
export const writeEvents = Effect.fnUntraced(function* (
  sql: Sql,
  events: ReadonlyArray<DomainEvent>,
  audit: ReadonlyArray<AuditRow>
) {
  if (events.length > 0)
    yield* sql`INSERT INTO domain_events (id, org, type, subject, customer_id, payload, at)
        SELECT id, org, type, subject, customer_id, payload, at FROM jsonb_to_recordset(${JSON.stringify(
          events.map(({ customerId, organisationId, ...event }) => ({
            ...event,
            org: organisationId,
            customer_id: customerId
          }))
        )}::jsonb) AS t(id text, org text, type text, subject text, customer_id text, payload jsonb, at timestamptz)`
  yield* writeAuditRows(sql, audit)
})
