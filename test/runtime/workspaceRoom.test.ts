/** A full workspace refuses every write, and can delete to make room; no statement writes far beyond the limit. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type DbCaller, DbRefused, type DbTransaction } from "../../src/actors/ports/run/WorkspaceDb.js"
import { eventually } from "../support/eventually.js"
import { newCaller, type RunningWorkspaces, startWorkspaces } from "../support/workspaces.js"

const MiB = 1024 * 1024
const limit = 16 * MiB

describe("A workspace that is full", () => {
  let world: RunningWorkspaces
  let caller: DbCaller
  const codeOf = async (sql: string, transaction: DbTransaction | null = null) => {
    const answer = await world.query(caller, sql, [], transaction)
    return answer instanceof DbRefused ? answer.code : "done"
  }
  const bytes = () =>
    world.asAdmin("postgres", async (client) => {
      const { rows } = await client.query<{ readonly bytes: number }>(
        `SELECT (pg_database_size('${world.databaseOf(caller)}') - pg_database_size('${world.base}_template'))::float8 AS bytes`
      )
      return rows[0]?.bytes ?? 0
    })

  beforeAll(async () => {
    world = await startWorkspaces({ bytes: limit })
    caller = newCaller()
    for (const sql of [
      "CREATE TABLE filler (id int, word text)",
      "CREATE TABLE small (id serial, word text)",
      "CREATE MATERIALIZED VIEW seen AS SELECT 1 AS one",
      "INSERT INTO small (word) VALUES ('x')"
    ])
      assert.strictEqual(await codeOf(sql), "done", sql)
    // Random text, since Postgres compresses other text.
    await eventually(
      () => codeOf("INSERT INTO filler SELECT i, repeat(gen_random_uuid()::text, 3) FROM generate_series(1, 20000) i"),
      (code) => code === "53100"
    )
  })
  afterAll(() => world.stop())

  const writes = [
    "INSERT INTO small (word) VALUES ('y')",
    "UPDATE small SET word = 'y'",
    "EXPLAIN ANALYZE INSERT INTO small (word) VALUES ('y')",
    "EXPLAIN (ANALYZE, COSTS OFF) UPDATE small SET word = 'y'",
    "SELECT * INTO copied FROM small",
    "CREATE TABLE copied AS SELECT * FROM small",
    "WITH added AS (INSERT INTO small (word) VALUES ('y') RETURNING id) SELECT * FROM added",
    "WITH gone AS (DELETE FROM small RETURNING word) INSERT INTO small (word) SELECT word FROM gone",
    "MERGE INTO small USING (VALUES (9)) AS v (id) ON small.id = v.id WHEN NOT MATCHED THEN INSERT (word) VALUES ('y')",
    "CREATE MATERIALIZED VIEW another AS SELECT * FROM small",
    "REFRESH MATERIALIZED VIEW seen",
    "CREATE INDEX ON small (word)",
    "CREATE SEQUENCE counter",
    "SELECT nextval('small_id_seq')",
    "COMMENT ON TABLE small IS 'x'",
    "ALTER TABLE small ADD COLUMN more text DEFAULT 'y'"
  ]

  it("refuses every write, alone and in a transaction, and answers reads", async () => {
    for (const sql of writes) assert.strictEqual(await codeOf(sql), "53100", sql)
    assert.strictEqual(await codeOf("SELECT * FROM small"), "done")
    for (const sql of writes) {
      const begun = await world.outcome(world.db.begin(caller))
      if (begun instanceof DbRefused) throw begun
      assert.strictEqual(await codeOf("SELECT * FROM small", begun), "done")
      assert.strictEqual(await codeOf(sql, begun), "53100", sql)
      await world.run(world.db.rollback(caller, begun))
    }
  })

  it("deletes rows in a transaction beside reads, and writes again", async () => {
    const begun = await world.outcome(world.db.begin(caller))
    if (begun instanceof DbRefused) throw begun
    assert.strictEqual(await codeOf("SELECT count(*) FROM small", begun), "done")
    assert.strictEqual(await codeOf("DELETE FROM small", begun), "done")
    assert.strictEqual(await codeOf("SELECT count(*) FROM small", begun), "done")
    assert.strictEqual(await codeOf("TRUNCATE filler", begun), "done")
    assert.isUndefined(await world.run(Effect.orDie(world.db.commit(caller, begun))))
    await eventually(
      () => codeOf("INSERT INTO small (word) VALUES ('y')"),
      (code) => code === "done"
    )
  })

  it("stops a statement that would write far beyond the limit, and undoes it", async () => {
    const before = await bytes()
    assert.isBelow(before, limit)
    const code = await codeOf(
      "INSERT INTO filler SELECT i, repeat(gen_random_uuid()::text, 3) FROM generate_series(1, 10000) i, generate_series(1, 10000)"
    )
    assert.strictEqual(code, "53100")
    // The amount written until the next measurement; a busy disk writes less.
    assert.isBelow(await bytes(), 1024 * MiB)
    assert.strictEqual(await codeOf("TRUNCATE filler"), "done")
    await eventually(bytes, (now) => now < limit)
  })
})
