/** Disables a trigger on behalf of the service, with its audit entry and its event, in one statement. */
import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect } from "effect"
import type { DomainEvent } from "../../actors/ports/ConnectionStore.js"
import type { AuditEntry } from "../../domain/Audit.js"
import type { Trigger } from "../../domain/Trigger.js"
import { auditRow } from "./AuditRow.js"

/** `false`: the trigger was changed meanwhile, and nothing was written. */
export const disableTrigger = (
  sql: SqlClient,
  { autoDisabledAt, id, status, updatedAt, version }: Trigger,
  event: DomainEvent,
  audit: AuditEntry
) => {
  const row = auditRow(audit)
  return sql`WITH disabled AS (UPDATE triggers SET status = ${status}, auto_disabled_at = ${autoDisabledAt},
        updated_at = ${updatedAt}, version = ${version}
      WHERE id = ${id} AND version = ${version - 1} RETURNING id),
    stopped AS (UPDATE trigger_states s SET next_fire_at = NULL FROM disabled d WHERE s.trigger_id = d.id),
    noted AS (INSERT INTO audit_entries (id, org, at, actor_type, actor_id, action, resource_type, resource_id,
        customer_id, outcome, entry)
      SELECT ${row.id}, ${row.org}, ${row.at}::timestamptz, ${row.actor_type}, ${row.actor_id}, ${row.action},
        ${row.resource_type}, ${row.resource_id}, ${row.customer_id}, ${row.outcome},
        ${JSON.stringify(row.entry)}::json FROM disabled)
    INSERT INTO domain_events (id, org, type, subject, customer_id, payload, at)
    SELECT ${event.id}, ${event.organisationId}, ${event.type}, ${event.subject}, ${event.customerId},
      ${JSON.stringify(event.payload)}::jsonb, ${event.at}::timestamptz FROM disabled RETURNING id`.pipe(
    Effect.map((rows) => rows.length > 0)
  )
}
