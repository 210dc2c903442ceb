/**
 * What time does to the records: partitions are made ahead and dropped when retention has passed; what has expired is
 * removed in small batches; what a deleted customer left is erased. One node at a time, at the start and every hour.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { Duration, Effect, Layer, Schedule } from "effect"
import { resumeWindow } from "../../domain/Limits.js"
import { backgroundTask } from "../../actors/BackgroundTask.js"
import { WriterSql } from "./Pools.js"

const interval = Duration.hours(1)
/** Rows that one statement removes: it holds its locks for milliseconds. */
const batch = 1_000
/** Statements for one kind of rows in one pass; what is left has its turn in an hour. */
const mostBatches = 200
/** Arbitrary, and the same in every release. */
const lockKey = 1_937_137_968

const days = (n: number) => `interval '${n} days'`
const resume = days(Duration.toDays(resumeWindow))
/** No journal is older than its partition, which is dropped after ten days: nothing can name the value any more. */
const unnamed = days(10)
/** An hour before the contract's limit, so that a pass that comes late is not too late. */
const erasure = "interval '22 hours'"

/** What is removed: table, its alias, and which rows. */
const expired: ReadonlyArray<readonly [table: string, condition: string]> = [
  ["claims", "t.expires_at < now()"],
  ["idempotent_replies", "t.expires_at < now()"],
  ["key_values", "t.expires_at < now()"],
  ["draft_snapshots", "t.kept_until < now()"],
  // State of an invocation goes when nothing can resume it: not written lately, its runs ended, the first one long ago.
  [
    "key_values",
    `t.scope = 'INVOCATION' AND t.updated_at < now() - ${resume}
     AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.org = t.org AND r.record->>'rootId' = t.owner)
     AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.id = t.owner AND e.finished_at > now() - ${resume})`
  ],
  ["rate_windows", `t.minute < now() - ${days(1)}`],
  // Longer than any window that a provider counts in.
  ["provider_limits", `t.updated_at < now() - ${days(32)}`],
  // Ids carry the time, so the primary key finds the old ones.
  [
    "deliveries",
    `t.id < 'dlv_' || substr(svc_ulid_bound(now() - ${days(7)}), 6) AND t.status = 'delivered' AND t.finished_at < now() - ${days(7)}`
  ],
  // Kept for a manual repetition as long as a dead letter is.
  [
    "deliveries",
    `t.id < 'dlv_' || substr(svc_ulid_bound(now() - ${days(30)}), 6) AND t.status = 'exhausted' AND t.finished_at < now() - ${days(30)}`
  ],
  [
    "secret_versions",
    `t.retired_at < now() - ${unnamed}
     OR EXISTS (SELECT 1 FROM secrets s WHERE s.id = t.secret_id AND s.deleted_at < now() - ${unnamed})`
  ],
  [
    "secrets",
    `t.deleted_at < now() - ${unnamed} AND NOT EXISTS (SELECT 1 FROM secret_versions v WHERE v.secret_id = t.id)`
  ]
]

/** A row that is written meanwhile is another version, at another place: it stays. */
const removal = (table: string, condition: string) =>
  `WITH old AS (SELECT t.ctid FROM ${table} t WHERE ${condition} LIMIT ${batch})
   DELETE FROM ${table} t USING old WHERE t.ctid = old.ctid`

const gone = `SELECT id FROM customers WHERE deleted_at < now() -`

/** What belonged to customers that are gone; repeated until the tombstone goes, for a last run may still write state. */
const erasing = [
  `DELETE FROM key_values WHERE scope = 'CUSTOMER' AND owner IN (${gone} ${erasure})`,
  `DELETE FROM secret_versions WHERE secret_id IN (SELECT s.id FROM secrets s WHERE s.customer_id IN (${gone} ${erasure}))`,
  `DELETE FROM settings WHERE level = 'tenant' AND scope_id IN (${gone} ${erasure})`,
  `DELETE FROM secrets WHERE customer_id IN (${gone} ${erasure})`,
  `DELETE FROM environments WHERE customer_id IN (${gone} ${erasure})`,
  // The id stays as a tombstone, so that records that name it can be read.
  `UPDATE customers SET name = '', slug = id, external_ref = NULL, admin_email = NULL, metadata = '{}', limits = '{}',
     erased_at = now() WHERE deleted_at < now() - ${erasure} AND erased_at IS NULL`,
  `DELETE FROM customers c WHERE c.deleted_at < now() - ${days(30)} AND c.erased_at IS NOT NULL
     AND NOT EXISTS (SELECT 1 FROM workflows w WHERE w.customer_id = c.id)`
]

/** What the runs of deleted customers left, run by run: nothing of a run stays without the rest of it. */
const erasedRuns = `WITH gone AS MATERIALIZED (
    SELECT e.id, e.class FROM executions e JOIN customers c ON c.org = e.org AND c.id = e.customer_id
    WHERE c.deleted_at < now() - ${erasure} LIMIT ${batch}),
  s AS (DELETE FROM steps t USING gone g WHERE t.id = g.id AND t.class = g.class),
  l AS (DELETE FROM logs t USING gone g WHERE t.id = g.id AND t.class = g.class),
  b AS (DELETE FROM blobs t USING gone g WHERE t.id = g.id AND t.class = g.class),
  j AS (DELETE FROM journal t USING gone g WHERE t.id = g.id),
  d AS (DELETE FROM deliveries t USING gone g WHERE t.execution_id = g.id)
  DELETE FROM executions t USING gone g WHERE t.id = g.id AND t.class = g.class RETURNING 1 AS one`

const eraseRuns = Effect.fnUntraced(function* (advance: Effect.Effect<void>) {
  const sql = yield* WriterSql
  for (let i = 0; i < mostBatches; i++) {
    const rows = yield* Effect.zipLeft(sql.unsafe(erasedRuns), advance)
    if (rows.length < batch) return
  }
})

/** One pass, which runs `advance` between its parts. Answers false when another node is at it. */
const passWith = Effect.fnUntraced(function* (advance: Effect.Effect<void>) {
  const sql = yield* WriterSql
  const session = yield* sql.reserve
  const [row] = yield* session.executeValues("SELECT pg_try_advisory_lock($1)", [lockKey])
  if (row?.[0] !== true) return false
  yield* Effect.addFinalizer(() => Effect.ignore(session.executeValues("SELECT pg_advisory_unlock($1)", [lockKey])))
  yield* sql`SELECT svc_partitions()`
  for (const [table, condition] of expired) yield* Effect.zipLeft(removed(table, condition, advance), advance)
  yield* eraseRuns(advance)
  yield* Effect.forEach(erasing, (statement) => Effect.zipLeft(sql.unsafe(statement), advance), {
    discard: true
  }).pipe(sql.withTransaction)
  return true
}, Effect.scoped)

export const pass = passWith(Effect.void)

const removed = Effect.fnUntraced(function* (
  table: string,
  condition: string,
  advance: Effect.Effect<void>
): Effect.fn.Return<void, SqlError, WriterSql> {
  const sql = yield* WriterSql
  const statement = `WITH gone AS (${removal(table, condition)} RETURNING 1) SELECT count(*)::int AS n FROM gone`
  for (let i = 0; i < mostBatches; i++) {
    const [row] = yield* sql.unsafe<{ readonly n: number }>(statement)
    if ((row?.n ?? 0) < batch) return
    yield* advance
  }
})

/** Nothing waits for the first pass: partitions are made days ahead. */
export const layer = Layer.scopedDiscard(
  Effect.flatMap(backgroundTask("maintenance", passWith), ({ run }) =>
    Effect.forkScoped(Effect.interruptible(Effect.repeat(run, Schedule.spaced(interval))))
  )
)
