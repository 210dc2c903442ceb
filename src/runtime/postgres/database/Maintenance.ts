/**
 * Maintenance of the tables, at the start and every hour, by one node at a time: creates partitions ahead, drops those
 * past their retention, deletes expired rows in small batches, announces expiring keys,
 * counts what organisations store, and erases deleted customers.
 */
import { Duration, Effect, Layer } from "effect"
import { resumeWindow } from "../../../domain/Limits.js"
import { draftHistory } from "../../../domain/workflow/Draft.js"
import { backgroundTask, repeatEvery } from "../../../actors/BackgroundTask.js"
import { eraseCustomers } from "../organisation/Erasure.js"
import { announceExpiringKeys } from "../organisation/ExpiringKeys.js"
import { countStorage } from "../organisation/StorageUsage.js"
import { countDays } from "../organisation/UsageDays.js"
import { WriterSql } from "./Pools.js"
import { countOf } from "../record/Table.js"

const interval = Duration.hours(1)
/** Rows that one statement deletes, so that it holds its locks for milliseconds only. */
const batchSize = 1_000
/** Statements for one kind of rows in one pass; the next pass deletes the rest. */
const maxBatches = 200
/** Arbitrary, and the same in every release. */
const lockKey = 1_937_137_968

const days = (n: number) => `interval '${n} days'`
const resumeInterval = days(Duration.toDays(resumeWindow))
/** A journal's partition is dropped after ten days: then no journal refers to a secret's old value any more. */
const journalLifetime = days(10)
/** The tables with rows that expire, each with its condition on the row `t`. */
const expirations: ReadonlyArray<readonly [table: string, condition: string]> = [
  ["claims", "t.expires_at < now()"],
  ["idempotent_replies", "t.expires_at < now()"],
  ["key_values", "t.expires_at < now()"],
  ["sync_report_parts", "t.expires_at < now()"],
  ["sync_reports", "t.expires_at < now()"],
  ["draft_saves", "t.at < now() - interval '1 hour'"],
  // As long as a run can be resumed, at least.
  ["write_intents", `t.at < now() - ${resumeInterval}`],
  // Twice as long as a watch can be continued.
  ["record_changes", "t.at < now() - interval '10 minutes'"],
  ["draft_snapshots", "t.kept_until < now()"],
  ["workflow_drafts", `t.replaced_at < now() - ${days(Duration.toDays(draftHistory.lifetime))}`],
  // State of an invocation expires when no run can resume it: not written lately, all its runs ended, the first long
  // ago.
  [
    "key_values",
    `t.scope = 'INVOCATION' AND t.updated_at < now() - ${resumeInterval}
     AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.org = t.org AND r.record->>'rootId' = t.owner)
     AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.id = t.owner AND e.finished_at > now() - ${resumeInterval})`
  ],
  // Addresses that no configuration names any more: those of an erased customer, too.
  [
    "mail_addresses",
    `t.created_at < now() - ${days(1)} AND NOT EXISTS (SELECT FROM settings s, svc_mail_addresses(s.value::jsonb) a
      WHERE s.org = t.org AND s.key = 'notifications' AND a = t.address)`
  ],
  ["rate_windows", `t.minute < now() - ${days(1)}`],
  // Longer than any window of a provider's limits.
  ["provider_limits", `t.updated_at < now() - ${days(32)}`],
  // The turns of organisations and customers without waiting rows have no effect.
  [
    "queue_organisations",
    "NOT EXISTS (SELECT 1 FROM start_queue q WHERE q.priority = t.priority AND q.org = t.org AND NOT q.held AND q.claimed_by IS NULL)"
  ],
  [
    "queue_flows",
    "NOT EXISTS (SELECT 1 FROM start_queue q WHERE q.priority = t.priority AND q.org = t.org AND q.flow = t.flow AND NOT q.held AND q.claimed_by IS NULL)"
  ],
  // Ids sort by time, so the primary key finds the old rows.
  [
    "deliveries",
    `t.id < 'dlv_' || substr(svc_ulid_bound(now() - ${days(7)}), 6) AND t.status = 'delivered' AND t.endpoint_id IS NULL
     AND t.finished_at < now() - ${days(7)}`
  ],
  // Kept for a repetition: dead letters, what a disabled endpoint missed, and every delivery of a listed attempt.
  [
    "deliveries",
    `t.id < 'dlv_' || substr(svc_ulid_bound(now() - ${days(30)}), 6) AND t.status <> 'pending' AND t.finished_at < now() - ${days(30)}`
  ],
  // Their jobs succeeded on another node, or are gone: those that are due again are tried at once.
  ["failed_jobs", `GREATEST(t.failed_at, t.set_aside_until) < now() - ${days(1)}`],
  // Longer than any range that is answered.
  ["usage_days", `t.day < now() - ${days(400)}`],
  ["notifications", `t.id < 'ntf_' || substr(svc_ulid_bound(now() - ${days(90)}), 6)`],
  ["approvals", `t.id < 'apv_' || substr(svc_ulid_bound(now() - ${days(90)}), 6) AND t.status <> 'open'`],
  // The id answers as deleted for a month.
  ["dead_letters", "t.expires_at < now()"],
  ["replays", `t.finished_at < now() - ${days(30)}`],
  // The newest stays: the next one has its number, and one more.
  [
    "releases",
    `t.status <> 'deployed' AND t.created_at < now() - ${days(400)} AND EXISTS (SELECT FROM releases n
       WHERE n.space = t.space AND n.customer_id IS NOT DISTINCT FROM t.customer_id AND n.number > t.number)`
  ],
  ["triggers", `t.deleted_at < now() - ${days(30)}`],
  ["delivery_attempts", `t.id < 'att_' || substr(svc_ulid_bound(now() - ${days(30)}), 6)`],
  [
    "secret_versions",
    `t.retired_at < now() - ${journalLifetime}
     OR EXISTS (SELECT 1 FROM secrets s WHERE s.id = t.secret_id AND s.deleted_at < now() - ${journalLifetime})`
  ],
  [
    "secrets",
    `t.deleted_at < now() - ${journalLifetime} AND NOT EXISTS (SELECT 1 FROM secret_versions v WHERE v.secret_id = t.id)`
  ]
]

/** Deletes by `ctid`: a row that is updated meanwhile has a new one and stays. */
const deleteBatchSql = (table: string, condition: string) =>
  `WITH old AS (SELECT t.ctid FROM ${table} t WHERE ${condition} LIMIT ${batchSize})
   DELETE FROM ${table} t USING old WHERE t.ctid = old.ctid`

/** One pass; runs `advance`, which reports progress, between its parts. Returns false when another node is at it. */
const runPass = Effect.fnUntraced(function* (advance: Effect.Effect<void>) {
  const sql = yield* WriterSql
  const session = yield* sql.reserve
  const [row] = yield* session.executeValues("SELECT pg_try_advisory_lock($1)", [lockKey])
  if (row?.[0] !== true) return false
  yield* Effect.addFinalizer(() => Effect.ignore(session.executeValues("SELECT pg_advisory_unlock($1)", [lockKey])))
  yield* sql`SELECT svc_partitions()`
  for (const [table, condition] of expirations) yield* Effect.zipLeft(deleteExpired(table, condition, advance), advance)
  yield* Effect.zipLeft(announceExpiringKeys, advance)
  yield* countStorage(advance)
  yield* Effect.zipLeft(countDays, advance)
  yield* eraseCustomers(advance)
  return true
}, Effect.scoped)

/**
 * One pass that reports no progress.
 * @internal Tests run maintenance with it.
 */
export const runMaintenance = runPass(Effect.void)

const deleteExpired = Effect.fnUntraced(function* (table: string, condition: string, advance: Effect.Effect<void>) {
  const sql = yield* WriterSql
  const statement = `WITH gone AS (${deleteBatchSql(table, condition)} RETURNING 1) SELECT count(*)::int AS n FROM gone`
  for (let i = 0; i < maxBatches; i++) {
    if (countOf(yield* sql.unsafe(statement)) < batchSize) return
    yield* advance
  }
})

/** The start of the service does not wait for the first pass: partitions are created days ahead. */
export const layer = Layer.scopedDiscard(
  Effect.flatMap(backgroundTask("maintenance", runPass), ({ run }) => repeatEvery(interval, run))
)
