/**
 * Erases the data of deleted customers within 24 hours; a tombstone with their id stays for thirty days. Their entries of
 * the audit trail stay for good, without their values, whose key is destroyed. What is erased of a table, its row says; a
 * test reads the catalogue and fails for a table without one. Contract: conventions, status codes.
 */
import { Effect } from "effect"
import { WriterSql } from "../database/Pools.js"
import { allTables } from "../record/AllTables.js"
import { batchSize, maxBatches } from "../record/TableRules.js"

const backwards = allTables.toReversed()

const batchStatements = backwards.flatMap(([, { erasedInBatches }]) => erasedInBatches ?? [])

/** Repeated while the tombstone exists: a last run may still write state. */
const statements = backwards.flatMap(
  ([table, { erasedBy, erases = [] }]) =>
    erasedBy ?? erases.map((condition) => `DELETE FROM ${table} t WHERE ${condition}`)
)

/** Erases in batches and runs `advance`, which reports progress, after each statement. */
export const eraseCustomers = Effect.fnUntraced(function* (advance: Effect.Effect<void>) {
  const sql = yield* WriterSql
  for (const statement of batchStatements) {
    for (let i = 0; i < maxBatches; i++) {
      const rows = yield* Effect.zipLeft(sql.unsafe(statement), advance)
      if (rows.length < batchSize) break
    }
  }
  yield* Effect.forEach(statements, (statement) => Effect.zipLeft(sql.unsafe(statement), advance), {
    discard: true
  }).pipe(sql.withTransaction)
})
