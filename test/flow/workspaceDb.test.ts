/**
 * svc.db: a workspace has a schema of its own and reaches nothing else. A crash of the service undoes open
 * transactions.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"
import { attempts } from "../../src/runtime/workspace/Canary.js"
import { largeReads } from "../support/largeReads.js"
import { worldOf } from "../support/World.js"

describe("A workspace", () => {
  let svc: Running
  let other: Awaited<ReturnType<Running["organisation"]>>
  let runs = 0
  beforeAll(async () => {
    svc = await start()
    other = await svc.organisation("Other")
  })
  afterAll(() => svc.stop())

  /** Runs a workflow with this body. Returns its output, or its error as `{name, code, message}`. */
  const run = async (body: string, input: unknown = {}, key = svc.first.key) => {
    const made = await svc.ask("POST", "/api/v1/workflows", {
      key,
      body: {
        name: `sql_${(runs += 1)}`,
        form: "code",
        code: `export default async (ctx) => { try { ${body} } catch (e) { return { name: e.name, code: e.code, message: e.message, data: e.detail } } }`
      }
    })
    const { id } = made.body.data
    await svc.ask("POST", `/api/v1/workflows/${id}/publish`, { key, body: {} })
    return (await svc.ask("POST", `/api/v1/workflows/${id}/execute`, { key, body: { input } })).body
  }
  const one = (sql: string, key?: string) => run("return await svc.db.query(ctx.input.sql)", { sql }, key)

  it("creates, fills and queries tables, with values as parameters", async () => {
    const answer = await run(`
      await svc.db.query("CREATE TABLE orders (id int PRIMARY KEY, total numeric(12,2), tags text[], at timestamptz, more jsonb, paid boolean, big bigint)")
      const added = await svc.db.query(
        "INSERT INTO orders VALUES ($1, $2, $3, $4, $5, $6, $7), (2, NULL, NULL, NULL, NULL, NULL, NULL)",
        [1, "19.90", ["a", "b"], "2026-11-21T07:10:41.123Z", { x: [1] }, true, "9007199254740993"])
      const rows = await svc.db.query("SELECT * FROM orders WHERE id = ANY($1) ORDER BY id", [[1, 2]])
      return { added: added.rowCount, rows, count: rows.rowCount, fields: rows.fields.map((f) => f.name), keys: Object.keys(rows) }`)
    assert.deepStrictEqual(answer, {
      added: 2,
      rows: [
        {
          id: 1,
          total: "19.90",
          tags: ["a", "b"],
          at: "2026-11-21T07:10:41.123Z",
          more: { x: [1] },
          paid: true,
          big: "9007199254740993"
        },
        { id: 2, total: null, tags: null, at: null, more: null, paid: null, big: null }
      ],
      count: 2,
      fields: ["id", "total", "tags", "at", "more", "paid", "big"],
      keys: ["0", "1"]
    })
    const injected = await run(
      `return await svc.db.query("SELECT count(*)::int AS n FROM orders WHERE tags[1] = $1", ["' OR true --"])`
    )
    assert.deepStrictEqual(injected, [{ n: 0 }])
    const wrong = await one("SELECT nothing FROM orders")
    assert.deepInclude(wrong, { name: "DatabaseError", code: "42703" })
  })

  it("reaches nothing of the server, of the service, or of another workspace, by whatever statement", async () => {
    await one("CREATE TABLE hidden (word text)")
    const schema = (await one("SELECT current_schema() AS s"))[0].s
    assert.match(schema, /^ws_[0-9a-f]{12}$/)
    const others = [
      `SELECT * FROM ${schema}.hidden`,
      `INSERT INTO ${schema}.hidden VALUES ('x')`,
      `DROP TABLE ${schema}.hidden`,
      "SELECT * FROM hidden",
      `CREATE TABLE ${schema}.mine (x int)`
    ]
    for (const sql of others) assert.strictEqual((await one(sql, other.key)).name, "DatabaseError", sql)
    const seen = await one(
      "SELECT table_schema, table_name FROM information_schema.tables WHERE table_name = 'hidden'",
      other.key
    )
    assert.deepStrictEqual(seen, [])
    const sessions = [
      "BEGIN",
      "COMMIT",
      "SET statement_timeout = 0",
      "RESET ALL",
      "LISTEN x",
      "PREPARE p AS SELECT 1",
      "DECLARE c CURSOR FOR SELECT 1",
      "VACUUM",
      "GRANT ALL ON hidden TO PUBLIC",
      "ALTER ROLE CURRENT_USER SET statement_timeout = 0",
      "/* a /* b */ */ -- c\n SET ROLE postgres",
      "SELECT 1; SELECT 2",
      "EXPLAIN ANALYZE SELECT pg_sleep(1)",
      "WITH x AS (SELECT set_config('search_path', 'public', false)) SELECT * FROM x",
      "SELECT * FROM svc.runs",
      "SELECT * FROM pg_authid",
      "CREATE TABLE s AS SELECT pg_advisory_lock(1)",
      "CREATE VIEW v AS SELECT pg_notify('a', 'b'); SELECT * FROM v",
      "CREATE TABLE d (x int DEFAULT lo_create(0)); INSERT INTO d VALUES (DEFAULT)",
      "   "
    ]
    for (const sql of [...attempts, ...sessions]) {
      const answer = await one(sql)
      assert.match(answer.name ?? `it was answered: ${JSON.stringify(answer)}`, /^(DatabaseError|TypeError)$/, sql)
    }
  })

  it("stops a statement that returns too much or waits too long for a lock, and says what to do", async () => {
    const many = await one("SELECT * FROM generate_series(1, 10001)")
    assert.deepStrictEqual([many.name, many.code], ["DatabaseError", "TOO_LARGE"])
    assert.lengthOf(await one("SELECT * FROM generate_series(1, 10000)"), 10_000)
    const wide = await one("SELECT repeat('x', 9000000) AS x")
    assert.strictEqual(wide.code, "TOO_LARGE")
    assert.deepStrictEqual(await one("SELECT 1 AS still"), [{ still: 1 }])
    const refused = await one("SET x = 1")
    assert.match(refused.message, /one statement: SELECT, INSERT/)
  })

  it("commits a transaction completely or not at all", async () => {
    await one("CREATE TABLE accounts (id int PRIMARY KEY, amount int CHECK (amount >= 0))")
    const moved = await run(`
      await svc.db.query("INSERT INTO accounts VALUES (1, 10), (2, 0)")
      return await svc.db.transaction(async (tx) => {
        await tx.query("UPDATE accounts SET amount = amount - $1 WHERE id = 1", [4])
        await tx.query("UPDATE accounts SET amount = amount + $1 WHERE id = 2", [4])
        const outside = await svc.db.query("SELECT amount FROM accounts ORDER BY id")
        return outside.map((row) => row.amount)
      })`)
    assert.deepStrictEqual(moved, [10, 0])
    const overdrawn = await run(`
      return await svc.db.transaction(async (tx) => {
        await tx.query("UPDATE accounts SET amount = amount + 100 WHERE id = 2")
        await tx.query("UPDATE accounts SET amount = amount - 100 WHERE id = 1")
      })`)
    assert.strictEqual(overdrawn.code, "23514")
    const thrown = await run(`
      return await svc.db.transaction(async (tx) => {
        await tx.query("UPDATE accounts SET amount = 0")
        throw new RangeError("changed my mind")
      })`)
    assert.strictEqual(thrown.name, "RangeError")
    const swallowed = await run(`
      return await svc.db.transaction(async (tx) => {
        await tx.query("UPDATE accounts SET amount = 99 WHERE id = 1")
        try { await tx.query("SELECT broken") } catch {}
      })`)
    assert.strictEqual(swallowed.code, "25P02")
    assert.deepStrictEqual(await one("SELECT amount FROM accounts ORDER BY id"), [{ amount: 6 }, { amount: 4 }])
  })

  it("warns on saving if a statement is concatenated from values", async () => {
    const made = await svc.ask("POST", "/api/v1/workflows", {
      key: svc.first.key,
      body: {
        name: "careless",
        form: "code",
        code: "export default async (ctx) => svc.db.query(`SELECT ${ctx.input.id}`)"
      }
    })
    assert.match(JSON.stringify(made.body.data.warnings), /svc\.db\.query is not constant/)
  })
})

describe("The whole service", () => {
  const world = worldOf({
    allow: true,
    answer: (request, response) => void setTimeout(() => response.end("{}"), request.url === "/slow" ? 1500 : 1)
  })
  beforeAll(() => world.start())
  afterAll(() => world.stop())

  it("answers runs that read from svc.db what is too large, too deep or just allowed", async () => {
    const { output, workflow, run, dev } = { ...world.api(), output: world.output }
    const id = await workflow(
      "asks_much",
      "instant",
      `export default async (ctx) => {
        try { return { rows: (await svc.db.query(ctx.input.sql)).length } } catch (e) { return { name: e.name, code: e.code } }
      }`
    )
    const answered = async (sql: string) => (await run(id, { sql })).body
    assert.deepStrictEqual(await answered("SELECT 1"), { rows: 1 })
    for (const [sql, expected] of largeReads) assert.deepStrictEqual(await answered(sql), expected, sql)
    assert.strictEqual((await fetch(`${dev.baseUrl}/readyz`)).status, 200)
    assert.notMatch(output(), /RangeError|ERR_STRING_TOO_LONG/)
  })

  it("undoes a transaction that a crash interrupts, and repeats it when the run continues", async () => {
    const { run, workflow } = world.api()
    const id = await workflow(
      "cut_off",
      "standard",
      `export default async () => {
        await svc.db.query("CREATE TABLE IF NOT EXISTS events (what text)")
        await svc.db.transaction(async (tx) => {
          await tx.query("INSERT INTO events VALUES ('first')")
          await fetch("${world.systems().url}/slow")
          await tx.query("INSERT INTO events VALUES ('second')")
        })
        return (await svc.db.query("SELECT what FROM events ORDER BY what")).map((row) => row.what)
      }`
    )
    const started = await run(id)
    assert.strictEqual(started.status, 202)
    await eventually(
      async () => world.systems().requests.length,
      (calls) => calls > 0
    )
    await world.crash()
    const ended = await world.api().ended(String(started.body.executionId), 60_000)
    assert.deepStrictEqual([ended.status, ended.output], ["completed", ["first", "second"]])
    assert.include(JSON.stringify(ended.steps), "TRANSACTION_LOST")
  })
})
