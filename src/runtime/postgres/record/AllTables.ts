/**
 * Every table, and what becomes of its rows in time. Tables without records of management have their row here, also if
 * nothing becomes of it: rows go with those that they refer to (`ON DELETE CASCADE`), or with their partition
 * (`svc_partitions`). Contract: conventions, status codes.
 */
import { Duration } from "effect"
import { resumeWindow } from "../../../domain/Limits.js"
import { addCounts, areCountsKept, countedColumns } from "../event/EventCounts.js"
import { tables } from "./RecordTables.js"
import {
  batchSize,
  days,
  deletedBefore,
  endRunsAfter,
  erasableCustomers,
  erasableWorkflows,
  eraseAfter,
  ofErasableCustomer,
  ofErasableWorkflow,
  type TableRules
} from "./TableRules.js"

const resumeInterval = days(Duration.toDays(resumeWindow))

const expiring: TableRules = { expires: ["t.expires_at < now()"] }
const ofCustomers: TableRules = { erases: [ofErasableCustomer] }

/** Moves the deadline: the sweep of runs ends those past it. */
const endRunsSql = `UPDATE runs SET deadline_at = now()
  WHERE customer_id IN (${deletedBefore(endRunsAfter)}) AND deadline_at > now()`

/** Erases finished runs with their steps, logs, blobs, journals, reports, deliveries and state. */
const eraseExecutionsSql = `WITH gone AS MATERIALIZED (
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

/** What is erased is not missing. */
const eraseEventsSql = (table: "events" | "event_records") =>
  `WITH gone AS (DELETE FROM ${table} WHERE customer_id IN (${erasableCustomers}) RETURNING ${countedColumns.join(", ")})
   ${addCounts(`SELECT * FROM gone WHERE ${areCountsKept("svc_event_minute(gone.id)", "gone.class")}`, -1)}`

/** A claim whose event is gone would be one that nothing accounts for. */
const eraseClaimsSql = (["events", "event_records"] as const).map(
  (table) =>
    `DELETE FROM claims c USING ${table} e WHERE e.customer_id IN (${erasableCustomers}) AND c.org = e.org
       AND c.scope IN ('event', 'tick') AND c.target_id = e.id`
)

/** Whether no row of the queue waits: then the turns of its organisation or customer have no effect. */
const isIdle = (queue: string) =>
  `NOT EXISTS (SELECT 1 FROM start_queue q WHERE q.priority = t.priority AND ${queue} AND NOT q.held AND q.claimed_by IS NULL)`

/** Changes of other records, erased after them: what deletes those tells of it. Kept for twice as long as a watch can be continued. */
const recordChanges: TableRules = { expires: ["t.at < now() - interval '10 minutes'"], ...ofCustomers }

/** By the name of the table. */
const otherTables = {
  // Runs
  executions: { isStorage: true, erasedInBatches: eraseExecutionsSql },
  steps: { isStorage: true },
  logs: { isStorage: true },
  blobs: { isStorage: true },
  journal: {},
  // After the executions that they become: first they are made to end.
  runs: { erasedInBatches: endRunsSql },
  execution_stats: ofCustomers,
  execution_failures: ofCustomers,
  execution_stats_position: {},
  sync_reports: {
    ...expiring,
    // Of runs whose records have expired before.
    erasedBy: [
      `WITH r AS (DELETE FROM sync_reports WHERE customer_id IN (${erasableCustomers}) RETURNING id)
       DELETE FROM sync_report_parts t USING r WHERE t.report_id = r.id`
    ]
  },
  sync_report_parts: { ...expiring, isStorage: true },
  key_values: {
    expires: [
      "t.expires_at < now()",
      // State of an invocation expires when no run can resume it: not written lately, all its runs ended, the first long ago.
      `t.scope = 'INVOCATION' AND t.updated_at < now() - ${resumeInterval}
       AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.org = t.org AND r.record->>'rootId' = t.owner)
       AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.id = t.owner AND e.finished_at > now() - ${resumeInterval})`
    ],
    // Repeated while the tombstone exists: a last run may still write state.
    erases: [
      `t.scope = 'CUSTOMER' AND t.owner IN (${erasableCustomers})`,
      `t.scope = 'WORKFLOW' AND t.owner IN (${erasableWorkflows})`
    ],
    isStorage: true
  },
  // As long as a run can be resumed, at least.
  write_intents: { expires: [`t.at < now() - ${resumeInterval}`] },
  approval_links: {},
  idempotent_replies: expiring,

  // Queues and events
  lanes: {},
  start_queue: { erases: [`starts_with(t.id, 'evt_') AND t.flow IN (${erasableCustomers})`] },
  queue_classes: {},
  queue_organisations: {
    expires: [isIdle("q.org = t.org")],
    // Whose turn it is in the queue.
    erasedBy: [`UPDATE queue_organisations SET turn = '' WHERE turn IN (${erasableCustomers})`]
  },
  queue_flows: {
    expires: [isIdle("q.org = t.org AND q.flow = t.flow")],
    erases: [`t.flow IN (${erasableCustomers})`]
  },
  events: { isStorage: true, erasedBy: [eraseEventsSql("events")] },
  event_records: { isStorage: true, erasedBy: [eraseEventsSql("event_records")] },
  event_counts: {},
  claims: { ...expiring, erasedBy: eraseClaimsSql },
  // The id answers as deleted for a month.
  dead_letters: { ...expiring, ...ofCustomers, isStorage: true },
  replays: { expires: [`t.finished_at < now() - ${days(30)}`] },
  domain_events: ofCustomers,
  notification_reads: {},
  // Addresses that no configuration names any more: those of an erased customer, too.
  mail_addresses: {
    expires: [
      `t.created_at < now() - ${days(1)} AND NOT EXISTS (SELECT FROM settings s, svc_mail_addresses(s.value::jsonb) a
         WHERE s.org = t.org AND s.key = 'notifications' AND a = t.address)`
    ]
  },

  // Workflows and connections
  draft_snapshots: { expires: ["t.kept_until < now()"], erases: [ofErasableWorkflow] },
  draft_saves: { expires: ["t.at < now() - interval '1 hour'"] },
  connection_limits: {},
  connect_sessions: {},
  refresh_intents: {},
  polls: {},
  poll_items: {},
  // Longer than any window of a provider's limits.
  provider_limits: { expires: [`t.updated_at < now() - ${days(32)}`] },

  // Organisations, people and keys
  // Without the key of a customer the values of its audit entries cannot be read any more.
  data_keys: { erases: [`t.org IN (${erasableCustomers})`] },
  audit_entries: {},
  audit_seal: {},
  audit_heads: {},
  audit_checkpoints: {},
  identities: {},
  sessions: {},
  sign_in_links: {},
  mail_sign_ins: {},
  oidc_sign_ins: {},
  invited_people: {},
  invite_mails: {},
  secret_checks: {},
  rate_windows: { expires: [`t.minute < now() - ${days(1)}`] },
  storage_usage: {},
  // Longer than any range that is answered.
  usage_days: { expires: [`t.day < now() - ${days(400)}`] },

  // Nodes
  nodes: {},
  place_leases: {},
  background_work: {},
  // Their jobs succeeded on another node, or are gone: those that are due again are tried at once.
  failed_jobs: { expires: [`GREATEST(t.failed_at, t.set_aside_until) < now() - ${days(1)}`] },
  service_release: {},
  svc_migrations: {}
} satisfies { readonly [table: string]: TableRules }

/** The name and the rules of each table, after those of the tables that it refers to: rows are deleted in the opposite order. */
export const allTables: ReadonlyArray<readonly [name: string, rules: TableRules]> = [
  ["record_changes", recordChanges],
  ...Object.values<TableRules & { readonly name: string; readonly isView?: boolean }>(tables).flatMap((table) =>
    table.isView === true ? [] : [[table.name, table] as const]
  ),
  ...Object.entries<TableRules>(otherTables)
]
