/**
 * Maintenance of the tables, at the start and every hour, by one node at a time: creates partitions ahead, drops those
 * past their retention, deletes expired rows in small batches, announces expiring keys,
 * counts what organisations store, and erases deleted customers.
 */
import { Duration, Effect, Layer } from "effect"
import { backgroundTask, repeatEvery } from "../../../actors/BackgroundTask.js"
import { eraseCustomers } from "../organisation/Erasure.js"
import { announceExpiringKeys } from "../organisation/ExpiringKeys.js"
import { countStorage } from "../organisation/StorageUsage.js"
import { countDays } from "../organisation/UsageDays.js"
import { WriterSql } from "./Pools.js"
import { allTables } from "../record/AllTables.js"
import { countOf } from "../record/Table.js"
import { batchSize, maxBatches } from "../record/TableRules.js"

const interval = Duration.hours(1)
/** Arbitrary, and the same in every release. */
const lockKey = 1_937_137_968

/** The tables with rows that expire, each with its condition on the row `t`. */
const expirations = allTables
  .toReversed()
  .flatMap(([table, { expires = [] }]) => expires.map((condition) => [table, condition] as const))

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
