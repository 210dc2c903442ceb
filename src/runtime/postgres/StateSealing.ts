/**
 * Seals the values of `svc.state` that earlier releases stored in clear, in the background and in small batches. A batch
 * is one statement: a process that dies repeats at most one, and two nodes repeat each other's at most. Writes go on
 * meanwhile, and store what they write sealed.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { Duration, Effect, Layer } from "effect"
import { backgroundTask, repeatPasses } from "../../actors/BackgroundTask.js"
import { BackgroundTasks } from "../../actors/ports/BackgroundTasks.js"
import type { StoredJob } from "../../actors/ports/FailedJobs.js"
import { Vault } from "../../actors/ports/Vault.js"
import { makeStoredJobs } from "../../actors/StoredJobs.js"
import { notSetAside } from "./FailedJobs.js"
import { WriterSql } from "./Pools.js"
import { sealState, type StateKey, stateKeyOwner, stateKeyOwnerSql } from "./StateRow.js"

const task = "state.seal"
/** Values of a batch, and the characters after which it takes no further one. */
const batchSize = 200
const batchCharacters = 512 * 1024
/** Between two batches: leaves the database and the main loop to requests. */
const breath = Duration.millis(10)
const interval = Duration.seconds(5)

const columns = ["org", "space", "scope", "environment", "owner", "key"] as const
const keyOf = (row: string) => columns.map((column) => `${row}.${column}`).join(", ")

/** The id of a row's job, without what a tenant chose: `/readyz` and the log show it. */
const jobIdSql = `encode(sha256(convert_to(json_build_array(${keyOf("t")})::text, 'UTF8')), 'hex')`

interface ClearRow extends StateKey {
  readonly job: string
  readonly value: string
}

/** `$1` to `$6`: the key after which the batch begins. */
const batchSql = `
  SELECT ${keyOf("b")}, b.job, b.value FROM (
    SELECT t.*, sum(length(t.value)) OVER (ORDER BY ${keyOf("t")}) - length(t.value) AS before FROM (
      SELECT ${keyOf("t")}, t.value::text AS value, ${jobIdSql} AS job FROM key_values t
      WHERE t.value IS NOT NULL AND (${keyOf("t")}) > ($1, $2, $3, $4, $5, $6)
        AND ${notSetAside(task, jobIdSql)} AND ${notSetAside(task, stateKeyOwnerSql)}
      ORDER BY ${keyOf("t")} LIMIT ${batchSize}) t) b
  WHERE b.before < ${batchCharacters} ORDER BY ${keyOf("b")}`

/**
 * `$1` to `$6`: the keys; `$7`: the sealed values. Waits for no lock, so that it deadlocks with no other statement: a
 * locked row is being replaced or removed. No column but the value changes: retention reads the time of the last write.
 */
const sealSql = `
  WITH locked AS (
    SELECT t.ctid, n.sealed
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[])
      AS n (org, space, scope, environment, owner, key, sealed)
    JOIN key_values t ON ${columns.map((column) => `t.${column} = n.${column}`).join(" AND ")}
    WHERE t.value IS NOT NULL FOR UPDATE OF t SKIP LOCKED)
  UPDATE key_values t SET value = NULL, sealed = locked.sealed FROM locked WHERE t.ctid = locked.ctid`

const makeSealing = Effect.gen(function* () {
  const sql = yield* WriterSql
  const vault = yield* Vault
  const rowJobs = yield* makeStoredJobs(task, ({ job, org }: ClearRow): StoredJob => ({ id: job, organisationId: org }))
  /** A data key that cannot be had is one failure, not one of each of its values. */
  const keyJobs = yield* makeStoredJobs(task, (key: StateKey): StoredJob => ({
    id: stateKeyOwner(key),
    organisationId: key.org
  }))

  const seal = (rows: ReadonlyArray<ClearRow>) =>
    Effect.gen(function* () {
      const sealed: Array<Buffer> = []
      for (const row of rows) sealed.push(sealState(yield* vault.of(stateKeyOwner(row)), row, row.value))
      yield* sql.unsafe(sealSql, [...columns.map((column) => rows.map((row) => row[column])), sealed])
    })

  const sealBatch = (rows: ReadonlyArray<ClearRow>) =>
    Effect.gen(function* () {
      const lacking = new Set<string>()
      const owners = new Map(rows.map((row) => [stateKeyOwner(row), row]))
      for (const [owner, row] of owners) if (!(yield* keyJobs.attempt(row, vault.of(owner)))) lacking.add(owner)
      yield* rowJobs.together(
        rows.filter((row) => !lacking.has(stateKeyOwner(row))),
        seal
      )
    })

  const nextBatch = (after: StateKey | undefined): Effect.Effect<ReadonlyArray<ClearRow>, SqlError> =>
    sql.unsafe<ClearRow>(
      batchSql,
      columns.map((column) => after?.[column] ?? "")
    )

  const count = Effect.map(
    sql<{ readonly n: number }>`SELECT count(*)::int AS n FROM key_values WHERE value IS NOT NULL`,
    ([row]) => row?.n ?? 0
  )

  return { count, nextBatch, sealBatch }
})

export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { count, nextBatch, sealBatch } = yield* makeSealing
    const { recordRemaining } = (yield* BackgroundTasks).register(task)

    const pass = (advance: Effect.Effect<void>) =>
      Effect.gen(function* () {
        const before = yield* count
        recordRemaining(before)
        if (before === 0) return
        let after: StateKey | undefined
        for (let passed = 0; ;) {
          const rows = yield* nextBatch(after)
          if (rows.length === 0) break
          yield* sealBatch(rows)
          after = rows.at(-1)
          passed += rows.length
          // An estimate, so that no batch counts the table: the end of the pass counts it.
          recordRemaining(Math.max(1, before - passed))
          yield* Effect.zipRight(advance, Effect.sleep(breath))
        }
        const left = yield* count
        recordRemaining(left)
        if (left < before)
          yield* Effect.annotateLogs(Effect.logInfo("state.sealed"), { values: before - left, remaining: left })
      })

    const { run } = yield* backgroundTask(task, pass)
    yield* Effect.forkScoped(Effect.interruptible(repeatPasses({ run }, { interval, pause: interval })))
  })
)
