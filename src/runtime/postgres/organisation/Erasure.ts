/**
 * Erases the data of deleted customers within 24 hours; a tombstone with their id stays for thirty days. Their entries of
 * the audit trail stay for good, without their values, whose key is destroyed. Every table with a customer's rows has a statement here; a test reads the
 * catalogue and fails for a table without one. Contract: conventions, status codes.
 */
import { Effect } from "effect"
import { erasedMembers } from "../../../domain/organisation/Customer.js"
import { addCounts, areCountsKept, countedColumns } from "../event/EventCounts.js"
import { WriterSql } from "../database/Pools.js"
import { columnOf } from "../record/Table.js"

/** Runs that one statement erases, so that it holds its locks for milliseconds only. */
const batchSize = 1_000
/** Statements in one pass; the next pass erases the rest. */
const maxBatches = 200

/** Maintenance runs every hour: one pass ends unfinished runs, a later one erases them, and one may be late. */
const endRunsAfter = "interval '20 hours'"
const eraseAfter = "interval '22 hours'"
const forgetAfter = "interval '30 days'"

const deletedBefore = (age: string) => `SELECT id FROM customers WHERE deleted_at < now() - ${age}`
const erasableCustomers = deletedBefore(eraseAfter)
/** Workflows that belong to such a customer. */
const erasableWorkflows = `SELECT w.id FROM workflows w WHERE w.customer_id IN (${erasableCustomers})`
/** What is left of a customer. An empty array of Postgres is written as an empty object of JSON. */
const erasedColumns = Object.entries(erasedMembers)
  .map(([member, value]) => `${columnOf(member)} = ${value === null ? "NULL" : value === "" ? "''" : "'{}'"}`)
  .join(", ")

/** The customers of a person: `[]` means all customers. */
const customersOf = (user: string) => `jsonb_array_elements_text(${user}.customer_ids) AS c (id)`

/** Moves the deadline: the sweep of runs ends those past it. */
const endRunsSql = `UPDATE runs SET deadline_at = now()
  WHERE customer_id IN (${deletedBefore(endRunsAfter)}) AND deadline_at > now()`

/** Erases finished runs with their steps, logs, blobs, journals, reports, deliveries and state. */
const eraseRunsSql = `WITH gone AS MATERIALIZED (
    SELECT e.id, e.class FROM executions e JOIN customers c ON c.org = e.org AND c.id = e.customer_id
    WHERE c.deleted_at < now() - ${eraseAfter} LIMIT ${batchSize}),
  s AS (DELETE FROM steps t USING gone g WHERE t.id = g.id AND t.class = g.class),
  l AS (DELETE FROM logs t USING gone g WHERE t.id = g.id AND t.class = g.class),
  b AS (DELETE FROM blobs t USING gone g WHERE t.id = g.id AND t.class = g.class),
  j AS (DELETE FROM journal t USING gone g WHERE t.id = g.id),
  d AS (DELETE FROM deliveries t USING gone g WHERE t.execution_id = g.id),
  r AS (DELETE FROM sync_reports t USING gone g WHERE t.execution_id = g.id RETURNING t.id),
  p AS (DELETE FROM sync_report_parts t USING r WHERE t.report_id = r.id),
  k AS (DELETE FROM key_values t USING gone g WHERE t.scope = 'INVOCATION' AND t.owner = g.id)
  DELETE FROM executions t USING gone g WHERE t.id = g.id AND t.class = g.class RETURNING 1 AS one`

/**
 * The other tables, in the order of their references. Repeated while the tombstone exists: a last run may still write
 * state.
 */
const eraseRecordsSql = [
  `DELETE FROM key_values WHERE scope = 'CUSTOMER' AND owner IN (${erasableCustomers})`,
  `DELETE FROM key_values WHERE scope = 'WORKFLOW' AND owner IN (${erasableWorkflows})`,
  // Of runs whose records have expired before.
  `WITH r AS (DELETE FROM sync_reports WHERE customer_id IN (${erasableCustomers}) RETURNING id)
     DELETE FROM sync_report_parts t USING r WHERE t.report_id = r.id`,
  `DELETE FROM settings WHERE level = 'tenant' AND scope_id IN (${erasableCustomers})`,
  `DELETE FROM settings WHERE level = 'flow' AND scope_id IN (${erasableWorkflows})`,
  `DELETE FROM installations WHERE customer_id IN (${erasableCustomers})`,
  // Cascades to their versions.
  `DELETE FROM field_maps WHERE customer_id IN (${erasableCustomers})`,
  // The row stays, empty: no revision may be given twice.
  `UPDATE map_publications SET customer_id = NULL, connector = '', entity = NULL, model = NULL, field_map_id = NULL
    WHERE customer_id IN (${erasableCustomers})`,
  // Cascades to their states.
  `DELETE FROM triggers WHERE customer_id IN (${erasableCustomers})`,
  // Cascades to credentials, refresh intents and connect sessions. The sweep of connections has revoked them before.
  `DELETE FROM connections WHERE customer_id IN (${erasableCustomers})`,
  `DELETE FROM draft_snapshots WHERE workflow_id IN (${erasableWorkflows})`,
  `DELETE FROM workflow_drafts WHERE workflow_id IN (${erasableWorkflows})`,
  `DELETE FROM deployments WHERE customer_id IN (${erasableCustomers}) OR workflow_id IN (${erasableWorkflows})`,
  `DELETE FROM environment_releases WHERE customer_id IN (${erasableCustomers})`,
  `DELETE FROM releases WHERE customer_id IN (${erasableCustomers})`,
  `DELETE FROM workflow_versions WHERE workflow_id IN (${erasableWorkflows})`,
  `DELETE FROM workflows WHERE customer_id IN (${erasableCustomers})`,
  `DELETE FROM secret_versions WHERE secret_id IN (SELECT s.id FROM secrets s WHERE s.customer_id IN (${erasableCustomers}))`,
  `DELETE FROM secrets WHERE customer_id IN (${erasableCustomers})`,
  `DELETE FROM environments WHERE customer_id IN (${erasableCustomers})`,
  // Cascades to the mails that ask for them.
  `DELETE FROM approvals WHERE customer_id IN (${erasableCustomers})`,
  `DELETE FROM notifications WHERE customer_id IN (${erasableCustomers})`,
  `DELETE FROM deliveries WHERE customer_id IN (${erasableCustomers})`,
  // A claim whose event is gone would be one that nothing accounts for.
  ...["events", "event_records"].map(
    (table) =>
      `DELETE FROM claims c USING ${table} e WHERE e.customer_id IN (${erasableCustomers}) AND c.org = e.org
         AND c.scope IN ('event', 'tick') AND c.target_id = e.id`
  ),
  `DELETE FROM start_queue q WHERE starts_with(q.id, 'evt_') AND q.flow IN (${erasableCustomers})`,
  // Whose turn it is in the queue.
  `UPDATE queue_organisations SET turn = '' WHERE turn IN (${erasableCustomers})`,
  `DELETE FROM queue_flows WHERE flow IN (${erasableCustomers})`,
  // What is erased is not missing.
  ...["events", "event_records"].map(
    (table) =>
      `WITH gone AS (DELETE FROM ${table} WHERE customer_id IN (${erasableCustomers}) RETURNING ${countedColumns.join(", ")})
       ${addCounts(`SELECT * FROM gone WHERE ${areCountsKept("svc_event_minute(gone.id)", "gone.class")}`, -1)}`
  ),
  `DELETE FROM dead_letters WHERE customer_id IN (${erasableCustomers})`,
  `DELETE FROM execution_stats WHERE customer_id IN (${erasableCustomers})`,
  `DELETE FROM execution_failures WHERE customer_id IN (${erasableCustomers})`,
  // Last of what is told of: the statements above tell of what they delete.
  `DELETE FROM record_changes WHERE customer_id IN (${erasableCustomers})`,
  // Without it the values of their audit entries cannot be read any more.
  `DELETE FROM data_keys WHERE org IN (${erasableCustomers})`,
  `DELETE FROM domain_events WHERE customer_id IN (${erasableCustomers})`,
  // A user of these customers only is deleted too: an empty list would mean all customers.
  `DELETE FROM users u WHERE u.customer_ids <> '[]'
     AND NOT EXISTS (SELECT FROM ${customersOf("u")} WHERE c.id NOT IN (${erasableCustomers}))`,
  `UPDATE users u SET version = u.version + 1, updated_at = now(),
     customer_ids = (SELECT jsonb_agg(c.id) FROM ${customersOf("u")} WHERE c.id NOT IN (${erasableCustomers}))
     WHERE EXISTS (SELECT FROM ${customersOf("u")} WHERE c.id IN (${erasableCustomers}))`,
  // A key without a customer left is revoked.
  `UPDATE api_keys k SET version = k.version + 1, updated_at = now(), customer_ids = kept.ids,
     revoked_at = CASE WHEN kept.ids = '{}' THEN COALESCE(k.revoked_at, now()) ELSE k.revoked_at END
     FROM (SELECT o.id, ARRAY(SELECT c FROM unnest(o.customer_ids) c WHERE c NOT IN (${erasableCustomers})) AS ids
       FROM api_keys o WHERE o.customer_ids && ARRAY(${erasableCustomers})) kept
     WHERE k.id = kept.id`,
  // The id stays as a tombstone: records may refer to it.
  `UPDATE customers SET ${erasedColumns}, slug = id, erased_at = now() WHERE deleted_at < now() - ${eraseAfter} AND erased_at IS NULL`,
  `DELETE FROM customers WHERE deleted_at < now() - ${forgetAfter} AND erased_at IS NOT NULL`
]

/** Erases in batches and runs `advance`, which reports progress, after each statement. */
export const eraseCustomers = Effect.fnUntraced(function* (advance: Effect.Effect<void>) {
  const sql = yield* WriterSql
  yield* Effect.zipLeft(sql.unsafe(endRunsSql), advance)
  for (let i = 0; i < maxBatches; i++) {
    const rows = yield* Effect.zipLeft(sql.unsafe(eraseRunsSql), advance)
    if (rows.length < batchSize) break
  }
  yield* Effect.forEach(eraseRecordsSql, (statement) => Effect.zipLeft(sql.unsafe(statement), advance), {
    discard: true
  }).pipe(sql.withTransaction)
})
