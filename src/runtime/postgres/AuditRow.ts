/** The row of an audit entry: the entry as a document, and the columns that queries filter by. */
import type { AuditEntry } from "../../domain/Audit.js"

export const auditRow = (entry: AuditEntry) => ({
  id: entry.id,
  org: entry.organisationId,
  at: entry.at,
  actor_type: entry.actor.type,
  actor_id: entry.actor.id,
  action: entry.action,
  resource_type: entry.resource.type,
  resource_id: entry.resource.id,
  customer_id: entry.customerId,
  outcome: entry.outcome,
  entry
})
