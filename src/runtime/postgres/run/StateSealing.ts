/**
 * Seals the values of `svc.state` that earlier releases stored in clear, in the background and in small batches. A batch
 * is one statement: a process that dies repeats at most one, and two nodes repeat each other's at most. Writes go on
 * meanwhile, and store what they write sealed.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { Duration, Effect, Schema } from "effect"
import { leasedTask, type SweepTools } from "../../../actors/LeasedWork.js"
import { BackgroundTasks } from "../../../actors/ports/BackgroundTasks.js"
import { Vault } from "../../../actors/ports/Vault.js"
import { notSetAside } from "../FailedJobs.js"
import { type DueKind, dueSql, takeFound } from "../LeasedWork.js"
import { writeRemaining } from "../database/BackgroundWork.js"
import { WriterSql } from "../database/Pools.js"
import { sealState, type StateKey, stateKeyOwner, stateKeyOwnerSql } from "./StateRow.js"
import { countOf, rowDecoder } from "../record/Table.js"

const name = "state.seal"
/** Values of a batch, and the characters after which it takes no further one. */
const batchSize = 200
const batchCharacters = 512 * 1024
/** Between two batches: leaves the database and the main loop to requests. */
const breath = Duration.millis(10)
const interval = Duration.seconds(5)

const columns = ["org", "space", "scope", "environment", "owner", "key"] as const
const stateKeySql = columns.map((column) => `w.${column}`).join(", ")

/**
 * Values of `svc.state` that earlier releases stored in clear, after the key `$1` to `$6`. One is sealed by the statement
 * that locks it. The id of a job has nothing in clear that a tenant chose: `/readyz` and the log show it.
 */
const kind = {
  task: name,
  table: "key_values",
  key: columns,
  id: `encode(sha256(convert_to(json_build_array(${stateKeySql})::text, 'UTF8')), 'hex')`,
  isDue: "w.value IS NOT NULL",
  isWanted: `(${stateKeySql}) > ($1, $2, $3, $4, $5, $6) AND ${notSetAside(name, stateKeyOwnerSql)}`,
  dueAt: "w.updated_at",
  orderBy: stateKeySql,
  isAnyDueWork: true
} as const satisfies DueKind

const keyOf = (row: string) => columns.map((column) => `${row}.${column}`).join(", ")

const decode = rowDecoder("key_values", {
  org: Schema.String,
  space: Schema.String,
  scope: Schema.String,
  environment: Schema.String,
  owner: Schema.String,
  key: Schema.String,
  id: Schema.String,
  organisationId: Schema.String,
  value: Schema.String
})
type ClearRow = ReturnType<typeof decode>

/** `$1` to `$6`: the key after which the batch begins. */
const batchSql = `
  SELECT ${keyOf("b")}, b.id, b.org AS "organisationId", b.value FROM (
    SELECT t.*, sum(length(t.value)) OVER (ORDER BY ${keyOf("t")}) - length(t.value) AS before
    FROM (${dueSql(kind, `${keyOf("w")}, w.value::text AS value, ${kind.id} AS id`, batchSize)}) t) b
  WHERE b.before < ${batchCharacters} ORDER BY ${keyOf("b")}`

/**
 * `$1` to `$6`: the keys; `$7`: the sealed values. Waits for no lock, so that it deadlocks with no other statement: a
 * locked row is being replaced or removed. No column but the value changes: retention reads the time of the last write.
 */
const sealSql = `
  WITH locked AS (${takeFound(
    {
      ...kind,
      joins: `JOIN unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[])
        AS n (org, space, scope, environment, owner, key, sealed) ON (${keyOf("n")}) = (${keyOf("w")})`
    },
    "w.ctid, n.sealed",
    "true"
  )})
  UPDATE key_values t SET value = NULL, sealed = locked.sealed FROM locked WHERE t.ctid = locked.ctid`

const make = Effect.fnUntraced(function* ({ jobs }: SweepTools) {
  const sql = yield* WriterSql
  const vault = yield* Vault
  const { recordRemaining } = (yield* BackgroundTasks).register(name)
  /** What this process wrote last: a pass that finds nothing writes nothing. */
  let written: number | undefined

  const seal = Effect.fnUntraced(function* (rows: ReadonlyArray<ClearRow>) {
    const sealed: Array<Buffer> = []
    for (const row of rows) sealed.push(sealState(yield* vault.of(stateKeyOwner(row)), row, row.value))
    yield* sql.unsafe(sealSql, [...columns.map((column) => rows.map((row) => row[column])), sealed])
  })

  const sealBatch = Effect.fnUntraced(function* (rows: ReadonlyArray<ClearRow>) {
    const lacking = new Set<string>()
    const owners = new Map(rows.map((row) => [stateKeyOwner(row), row]))
    // A data key that cannot be had is one failure, not one of each of its values.
    for (const [id, row] of owners)
      if (!(yield* jobs.attempt({ id, organisationId: row.org }, vault.of(id)))) lacking.add(id)
    yield* jobs.together(
      rows.filter((row) => !lacking.has(stateKeyOwner(row))),
      seal
    )
  })

  const nextBatch = (after: StateKey | undefined): Effect.Effect<ReadonlyArray<ClearRow>, SqlError> =>
    Effect.map(
      sql.unsafe(
        batchSql,
        columns.map((column) => after?.[column] ?? "")
      ),
      (rows) => rows.map(decode)
    )

  const count = Effect.map(sql`SELECT count(*)::int AS n FROM key_values WHERE value IS NOT NULL`, countOf)

  /** For `/readyz`, the metrics, and `svc cluster status`. */
  const record = (remaining: number) =>
    Effect.suspend(() => {
      recordRemaining(remaining)
      if (remaining === written) return Effect.void
      written = remaining
      return writeRemaining(sql, { task: name, remaining })
    })

  const pass = Effect.fnUntraced(function* (advance: Effect.Effect<void>) {
    const before = yield* count
    yield* record(before)
    if (before === 0) return
    let after: StateKey | undefined
    for (let passed = 0; ;) {
      const rows = yield* nextBatch(after)
      if (rows.length === 0) break
      yield* sealBatch(rows)
      after = rows.at(-1)
      passed += rows.length
      // An estimate, so that no batch counts the table: the end of the pass counts it.
      yield* record(Math.max(1, before - passed))
      yield* Effect.zipRight(advance, Effect.sleep(breath))
    }
    const left = yield* count
    yield* record(left)
    if (left < before)
      yield* Effect.annotateLogs(Effect.logInfo("state.sealed"), { values: before - left, remaining: left })
  })
  return { pass }
})

export const work = [kind] as const

export const task = leasedTask({ name, interval }, make)
