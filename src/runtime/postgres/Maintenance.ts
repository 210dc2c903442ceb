/**
 * What time does to the records: partitions are made ahead and dropped when retention has passed; what has expired is
 * removed in small batches; what a deleted customer left is erased. One node at a time, at the start and every hour.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { Duration, Effect, Layer, Schedule } from "effect"
import { resumeWindow } from "../../domain/Limits.js"
import { backgroundTask } from "../../actors/BackgroundTask.js"
import { eraseCustomers } from "./Erasure.js"
import { WriterSql } from "./Pools.js"

const interval = Duration.hours(1)
/** Rows that one statement removes: it holds its locks for milliseconds. */
const batchSize = 1_000
/** Statements for one kind of rows in one pass; what is left has its turn in an hour. */
const maxBatches = 200
/** Arbitrary, and the same in every release. */
const lockKey = 1_937_137_968

const days = (n: number) => `interval '${n} days'`
const resumeInterval = days(Duration.toDays(resumeWindow))
/** No journal is older than its partition, which is dropped after ten days: nothing can name the value any more. */
const journalLifetime = days(10)
/** What is removed: table, its alias, and which rows. */
const expirations: ReadonlyArray<readonly [table: string, condition: string]> = [
  ["claims", "t.expires_at < now()"],
  ["idempotent_replies", "t.expires_at < now()"],
  ["key_values", "t.expires_at < now()"],
  ["draft_snapshots", "t.kept_until < now()"],
  // State of an invocation goes when nothing can resume it: not written lately, its runs ended, the first one long ago.
  [
    "key_values",
    `t.scope = 'INVOCATION' AND t.updated_at < now() - ${resumeInterval}
     AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.org = t.org AND r.record->>'rootId' = t.owner)
     AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.id = t.owner AND e.finished_at > now() - ${resumeInterval})`
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
    `t.retired_at < now() - ${journalLifetime}
     OR EXISTS (SELECT 1 FROM secrets s WHERE s.id = t.secret_id AND s.deleted_at < now() - ${journalLifetime})`
  ],
  [
    "secrets",
    `t.deleted_at < now() - ${journalLifetime} AND NOT EXISTS (SELECT 1 FROM secret_versions v WHERE v.secret_id = t.id)`
  ]
]

/** A row that is written meanwhile is another version, at another place: it stays. */
const deleteBatchSql = (table: string, condition: string) =>
  `WITH old AS (SELECT t.ctid FROM ${table} t WHERE ${condition} LIMIT ${batchSize})
   DELETE FROM ${table} t USING old WHERE t.ctid = old.ctid`

/** One pass, which runs `advance` between its parts. Answers false when another node is at it. */
const runPass = Effect.fnUntraced(function* (advance: Effect.Effect<void>) {
  const sql = yield* WriterSql
  const session = yield* sql.reserve
  const [row] = yield* session.executeValues("SELECT pg_try_advisory_lock($1)", [lockKey])
  if (row?.[0] !== true) return false
  yield* Effect.addFinalizer(() => Effect.ignore(session.executeValues("SELECT pg_advisory_unlock($1)", [lockKey])))
  yield* sql`SELECT svc_partitions()`
  for (const [table, condition] of expirations) yield* Effect.zipLeft(deleteExpired(table, condition, advance), advance)
  yield* eraseCustomers(advance)
  return true
}, Effect.scoped)

/**
 * One pass that reports no progress.
 * @internal Tests run maintenance with it.
 */
export const runMaintenance = runPass(Effect.void)

const deleteExpired = Effect.fnUntraced(function* (
  table: string,
  condition: string,
  advance: Effect.Effect<void>
): Effect.fn.Return<void, SqlError, WriterSql> {
  const sql = yield* WriterSql
  const statement = `WITH gone AS (${deleteBatchSql(table, condition)} RETURNING 1) SELECT count(*)::int AS n FROM gone`
  for (let i = 0; i < maxBatches; i++) {
    const [row] = yield* sql.unsafe<{ readonly n: number }>(statement)
    if ((row?.n ?? 0) < batchSize) return
    yield* advance
  }
})

/** Nothing waits for the first pass: partitions are made days ahead. */
export const layer = Layer.scopedDiscard(
  Effect.flatMap(backgroundTask("maintenance", runPass), ({ run }) =>
    Effect.forkScoped(Effect.interruptible(Effect.repeat(run, Schedule.spaced(interval))))
  )
)
