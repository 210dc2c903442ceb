/**
 * An answer of svc.db is bounded before it is in memory, and ends as a result or a typed failure, whatever it contains.
 */
import { afterAll, afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import { Query } from "pg"
import { type DbCaller, DbRefused } from "../../src/actors/ports/run/WorkspaceDb.js"
import { largestAnswers, tooLargeAnswers } from "../support/databaseAnswers.js"
import { announce } from "../support/LogExpectations.js"
import { eventually } from "../support/eventually.js"
import { promised } from "../support/promises.js"
import { newCaller, type RunningWorkspaces, startWorkspaces } from "../support/workspaces.js"
import { ownerOf } from "../support/shareOwners.js"

describe("An answer", () => {
  let world: RunningWorkspaces
  let caller: DbCaller
  beforeAll(async () => {
    world = await startWorkspaces()
    caller = newCaller()
    await world.query(caller, "SELECT 1")
  })
  afterAll(() => world.stop())

  const codeOf = async (sql: string) => {
    const answer = await world.query(caller, sql)
    return answer instanceof DbRefused ? answer.code : `${answer.rowCount} rows`
  }
  const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`

  it("with up to 64 levels of JSON is returned, and deeper ones are refused, as json, jsonb and in arrays of them", async () => {
    const at = await world.query(caller, `SELECT '${nested(64)}'::jsonb AS v`)
    assert.deepStrictEqual(at instanceof DbRefused ? at : at.rows, [{ v: JSON.parse(nested(64)) }])
    assert.strictEqual(await codeOf(`SELECT '${nested(65)}'::jsonb`), "TOO_DEEP")
    for (const depth of [3_000, 6_000]) {
      assert.strictEqual(await codeOf(`SELECT '${nested(depth)}'::jsonb`), "TOO_DEEP")
      assert.strictEqual(await codeOf(`SELECT '${nested(depth)}'::json`), "TOO_DEEP")
      assert.strictEqual(
        await codeOf(`SELECT (repeat('{"a":', ${depth}) || '1' || repeat('}', ${depth}))::json`),
        "TOO_DEEP"
      )
    }
    assert.strictEqual(await codeOf(`SELECT '"${"[".repeat(500)}\\"["'::json`), "1 rows")
  })

  it("with arrays keeps their values, whatever quotes they contain", async () => {
    const answer = await world.query(
      caller,
      `SELECT '{a,"b \\"c\\"","NULL",NULL,"{x}",""}'::text[] AS t, '{{1,2},{3,NULL}}'::int[] AS i, '{}'::text[] AS e,
         '[0:1]={t,f}'::bool[] AS b, '{9007199254740993}'::bigint[] AS n, '{NaN,1.5}'::float8[] AS f`
    )
    assert.deepStrictEqual(answer instanceof DbRefused ? answer : answer.rows, [
      {
        t: ["a", 'b "c"', "NULL", null, "{x}", ""],
        i: [
          [1, 2],
          [3, null]
        ],
        e: [],
        b: [true, false],
        n: ["9007199254740993"],
        f: ["NaN", 1.5]
      }
    ])
  })

  it("with a column of any name keeps it as a member", async () => {
    const answer = await world.query(caller, `SELECT 1 AS "__proto__", 2 AS "constructor"`)
    assert.strictEqual(
      answer instanceof DbRefused ? answer.message : JSON.stringify(answer.rows),
      '[{"__proto__":1,"constructor":2}]'
    )
  })

  it("above the cap fails at the cap", async () => {
    for (const sql of tooLargeAnswers) assert.strictEqual(await codeOf(sql), "TOO_LARGE", sql.slice(0, 60))
    const invalid = await world.query(caller, "SELECT (repeat('x', 5000000))::int")
    assert.isTrue(invalid instanceof DbRefused && invalid.code === "22P02" && invalid.message.length < 3_000)
    assert.strictEqual(await codeOf("SELECT 1"), "1 rows")
  })

  it("of the largest allowed size is returned", async () => {
    for (const sql of largestAnswers) assert.match(await codeOf(sql), /rows$/, sql.slice(0, 60))
  })

  it("waits for room in the ledger of held bytes, and is refused when none comes", async () => {
    const large = "SELECT repeat('x', 6000000) AS t"
    const others = world.ledger.open(ownerOf("others"), "answers")
    const most = world.ledger.readings().capacity / 2
    assert.isTrue(others.tryTake(most))
    const more = world.ledger.open(ownerOf("more"), "answers")
    assert.isTrue(more.tryTake(most - 3_000_000))
    assert.strictEqual(await codeOf(large), "MEMORY_BUSY")
    const waiting = codeOf(large)
    await eventually(
      () => Promise.resolve(world.ledger.readings().waiting),
      (count) => count === 1
    )
    others.release()
    assert.strictEqual(await waiting, "1 rows")
    more.release()
    promised("the memory of an answer is not given back", () =>
      assert.strictEqual(world.ledger.readings().held.answers, 0)
    )
    assert.strictEqual(await codeOf("SELECT 1"), "1 rows")
  })

  it("is refused before it is sent if the protocol or the database cannot represent it", async () => {
    const deep: Array<unknown> = []
    let inner = deep
    for (let i = 0; i < 3_000; i++) {
      const next: Array<unknown> = []
      inner.push(next)
      inner = next
    }
    const refusals = await Promise.all([
      world.query(caller, "SELECT 1 \u0000"),
      world.query(caller, "SELECT $1::jsonb", [JSON.parse(JSON.stringify(["\ud800"]))]),
      world.query(caller, "SELECT $1::jsonb", [JSON.parse(nested(100))]),
      world.query(
        caller,
        "SELECT 1",
        Array.from({ length: 70_000 }, () => 1)
      ),
      world.query(caller, "SELECT $1::text", ["x".repeat(9_000_000)])
    ])
    const codes = refusals.map((answer) => (answer instanceof DbRefused ? answer.code : "answered"))
    assert.deepStrictEqual(codes, ["NOT_STORABLE", "NOT_STORABLE", "NOT_STORABLE", "TOO_LARGE", "TOO_LARGE"])
  })

  describe("whose parser throws", () => {
    const handlers = ["handleDataRow", "handleError", "handleRowDescription", "handleReadyForQuery"] as const
    const originals = handlers.map((name) => [name, Reflect.get(Query.prototype, name)] as const)
    afterEach(() => originals.forEach(([name, value]) => Reflect.set(Query.prototype, name, value)))

    for (const name of handlers) {
      it(`in ${name} fails the call, is logged without values, and affects no other call`, async () => {
        announce(/"workspace_db\.answer_failed".*RangeError/, { required: true })
        const uncaught: Array<unknown> = []
        const listener = (cause: unknown) => void uncaught.push(cause)
        process.on("uncaughtException", listener)
        world.logged.length = 0
        const original: unknown = Reflect.get(Query.prototype, name)
        Reflect.set(Query.prototype, name, function (this: { text: string }, ...args: ReadonlyArray<unknown>) {
          if (this.text.includes("canary")) throw new RangeError("the canary sings")
          if (typeof original === "function") Reflect.apply(original, this, args)
        })
        const sql = name === "handleError" ? "SELECT 1/0 AS canary" : "SELECT 'canary' AS word"
        const [answer, other] = await Promise.all([world.query(caller, sql), world.query(caller, "SELECT 7 AS n")])
        assert.isTrue(answer instanceof DbRefused && answer.code === "UNREACHABLE", JSON.stringify(answer))
        assert.deepStrictEqual(other instanceof DbRefused ? other : other.rows, [{ n: 7 }])
        assert.lengthOf(world.logged, 1)
        assert.include(world.logged[0], "RangeError")
        assert.notInclude(world.logged.join(), "canary")
        assert.deepStrictEqual(uncaught, [])
        process.off("uncaughtException", listener)
      })
    }
  })
})
