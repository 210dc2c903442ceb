/** Disables a trigger on behalf of the service, with its audit entry and its event, in one statement. */
import type { Sql } from "../database/Sql.js"
import { Effect } from "effect"
import type { DomainEvent } from "../../../actors/ports/connection/ConnectionStore.js"
import type { Trigger } from "../../../domain/trigger/Trigger.js"
import { type AuditRow, insertAuditRows } from "../AuditRow.js"

const disableSql = `WITH disabled AS (UPDATE triggers SET status = $1, auto_disabled_at = $2, updated_at = $3, version = $4
      WHERE id = $5 AND version = $4::int - 1 RETURNING id),
    stopped AS (UPDATE trigger_states s SET next_fire_at = NULL FROM disabled d WHERE s.trigger_id = d.id),
    noted AS (${insertAuditRows("$6")} WHERE EXISTS (SELECT FROM disabled))
    INSERT INTO domain_events (id, org, type, subject, customer_id, payload, at)
    SELECT $7, $8, $9, $10, $11, $12::jsonb, $13::timestamptz FROM disabled RETURNING id`

/** `false`: the trigger was changed meanwhile, and nothing was written. */
export const disableTrigger = (
  sql: Sql,
  { autoDisabledAt, id, status, updatedAt, version }: Trigger,
  { at, customerId, id: eventId, organisationId, payload, subject, type }: DomainEvent,
  audit: ReadonlyArray<AuditRow>
) =>
  Effect.map(
    sql.unsafe(disableSql, [
      status,
      autoDisabledAt,
      updatedAt,
      version,
      id,
      JSON.stringify(audit),
      eventId,
      organisationId,
      type,
      subject,
      customerId,
      JSON.stringify(payload),
      at
    ]),
    (disabled) => disabled.length > 0
  )
