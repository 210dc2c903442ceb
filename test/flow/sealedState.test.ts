/**
 * Values of `svc.state` rest sealed, those of earlier releases after the background has sealed them; a workflow sees no
 * difference.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { Client } from "pg"
import { assertHidden } from "../support/collector.js"
import { TestDatabase } from "../support/Database.js"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"
import { announceSetAside } from "../support/failedJobs.js"

let svc: Running
let admin: Client
beforeAll(async () => {
  svc = await start()
  admin = new Client({ connectionString: Redacted.value((await svc.run(TestDatabase)).admin) })
  await admin.connect()
})
afterAll(async () => {
  await admin.end()
  await svc.stop()
})

const ask = async (
  method: string,
  target: string,
  body?: object,
  headers: { readonly [name: string]: string } = {}
) => {
  const answer = await svc.ask(method, target, { key: svc.first.key, headers, ...(body === undefined ? {} : { body }) })
  assert.isBelow(answer.status, 300, `${method} ${target} ${answer.text}`)
  return answer.body
}

let names = 0
/** Publishes a workflow with this body; the returned function runs it. */
const workflow = async (body: string) => {
  names += 1
  const made = await ask("POST", "/api/v1/workflows", {
    name: `state_${names}`,
    form: "code",
    tier: "instant",
    code: `export default async (ctx) => { ${body} }`
  })
  await ask("POST", `/api/v1/workflows/${made.data.id}/publish`, {})
  return (input: object = {}, customer?: string) =>
    ask(
      "POST",
      `/api/v1/workflows/${made.data.id}/execute`,
      { input },
      customer === undefined ? {} : { "x-org-id": customer }
    )
}

const rows = async <A extends object>(text: string, values: ReadonlyArray<unknown> = []) =>
  (await admin.query<A>(text, [...values])).rows

/** Inserts what an earlier release stored: `values` is a query of keys and values. */
const insertClear = (values: string, more: { readonly expires?: string } = {}) =>
  admin.query(
    `INSERT INTO key_values (org, space, scope, environment, owner, key, value, expires_at, updated_at)
     SELECT $1, $2, 'ORG', 'live', '', key, value::json, ${more.expires ?? "NULL"}, '2026-01-01' FROM (${values}) AS t (key, value)`,
    [svc.first.organisationId, svc.first.spaceId]
  )
const clear = () => rows<{ readonly key: string }>("SELECT key FROM key_values WHERE value IS NOT NULL ORDER BY key")

describe("values of svc.state", () => {
  it("are nowhere in the table, in any scope; a customer's are under the customer's key", async () => {
    const customer = (await ask("POST", "/api/v1/customers", { name: "Sealed" })).data.id
    const write = await workflow(`
      for (const scope of ["ORG", "WORKFLOW", "INVOCATION", "CUSTOMER"]) {
        await svc.state.set("text", ctx.input.text, { scope })
        await svc.state.set("deep", { list: [ctx.input.text] }, { scope })
        await svc.state.set("number", 7391826455, { scope })
        await svc.state.increment("number", 1, { scope })
        await svc.state.compareAndSet("swapped", null, ctx.input.text, { scope })
      }
      return Promise.all(["ORG", "CUSTOMER"].flatMap((scope) =>
        ["text", "deep", "number", "swapped"].map((key) => svc.state.get(key, { scope }))))`)
    const text = "canary-in-the-state"
    const result = await write({ text }, customer)
    const expected = [text, { list: [text] }, 7391826456, text]
    assert.deepStrictEqual(result, [...expected, ...expected])
    const stored = await rows<{ readonly row: string; readonly sealed: Buffer }>(
      "SELECT t::text AS row, sealed FROM key_values t"
    )
    assert.lengthOf(stored, 16)
    const places = new Map([
      ["the rows", stored.map(({ row }) => row).join("\n")],
      ["what is sealed", stored.map(({ sealed }) => sealed.toString("latin1")).join("\n")]
    ])
    const canaries = new Map([
      ["text", text],
      ["number", "739182645"]
    ])
    assertHidden(canaries, places)
    assert.lengthOf(await rows("SELECT FROM data_keys WHERE org = $1", [customer]), 1)
  })

  it("of earlier releases and new ones are read and changed alike, while the background seals them", async () => {
    await insertClear(`VALUES ('old text', '"kept"'), ('old number', '41'), ('old null', 'null'),
      ('old object', '{"b":1,"a":[2]}'), ('old gone', '1'), ('old twice', '1')`)
    await insertClear(`VALUES ('old expired', '"never seen"')`, { expires: "now() - interval '1 second'" })
    const use = await workflow(`
      const seen = {}
      for (const key of ["text", "null", "object", "expired"]) seen[key] = await svc.state.get("old " + key)
      seen.number = await svc.state.increment("old number", 1)
      seen.swapped = await svc.state.compareAndSet("old object", { a: [2], b: 1 }, "new")
      seen.not = await svc.state.compareAndSet("old text", "other", "new")
      seen.gone = [await svc.state.delete("old gone"), await svc.state.delete("old gone")]
      await svc.state.set("old twice", 2)
      seen.after = await Promise.all(["number", "object", "text", "gone", "twice"].map((key) => svc.state.get("old " + key)))
      return seen`)
    assert.deepStrictEqual(await use(), {
      text: "kept",
      null: null,
      object: { b: 1, a: [2] },
      expired: null,
      number: 42,
      swapped: true,
      not: false,
      gone: [true, false],
      after: [42, "new", "kept", null, 2]
    })
    await eventually(clear, (left) => left.length === 0)
  })

  it("of earlier releases are all sealed but one that cannot be, which is set aside and named without its key", async () => {
    await admin.query("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'poison'; END $$")
    await admin.query(`CREATE TRIGGER refused BEFORE UPDATE ON key_values FOR EACH ROW
      WHEN (OLD.key = 'a poisoned key' AND NEW.value IS NULL) EXECUTE FUNCTION refuse()`)
    announceSetAside("state.seal")
    await insertClear(`SELECT 'many ' || n, '{"n":' || n || '}' FROM generate_series(1, 1500) n
      UNION ALL SELECT 'a poisoned key', '1'
      UNION ALL SELECT 'wide ' || n, '"' || repeat('x', 200000) || '"' FROM generate_series(1, 12) n`)
    const ready = await eventually(
      async () => (await svc.ask("GET", "/readyz")).body,
      ({ checks }) => checks.tasks.setAside.length > 0
    )
    assert.strictEqual(ready.status, "degraded")
    assert.deepStrictEqual(ready.checks.tasks.inProgress, [{ name: "state.seal", remaining: 1 }])
    assert.strictEqual(ready.checks.tasks.setAside[0].task, "state.seal")
    assert.notInclude(JSON.stringify(ready), "poisoned key")
    assert.match((await svc.ask("GET", "/metrics")).text, /^svc_task_remaining_jobs\{task="state\.seal"\} 1$/m)
    assert.deepStrictEqual(await rows("SELECT task, remaining FROM background_work"), [
      { task: "state.seal", remaining: 1 }
    ])
    assert.deepStrictEqual(await clear(), [{ key: "a poisoned key" }])
    const [kept] = await rows("SELECT FROM key_values WHERE key LIKE 'many %' AND updated_at <> '2026-01-01'")
    assert.isUndefined(kept, "sealing is no write: retention reads the time of the last one")
    const read = await workflow(
      "let sum = 0; for (let n = 1; n <= 1500; n += 37) sum += (await svc.state.get('many ' + n)).n;" +
        "return [sum, (await svc.state.get('wide 7')).length, await svc.state.increment('a poisoned key', 1)]"
    )
    const sum = Array.from({ length: 41 }, (_, n) => 1 + 37 * n).reduce((one, other) => one + other, 0)
    // The trigger refuses every update of this key: the run cannot write it, so it is removed first.
    await admin.query("DROP TRIGGER refused ON key_values")
    assert.deepStrictEqual(await read(), [sum, 200_000, 2])
    assert.deepStrictEqual(await clear(), [], "a write seals what it replaces")
  })

  it("count each of 64 concurrent increments once, on a row of an earlier release, too", async () => {
    await insertClear("VALUES ('contended', '1000')")
    const count = await workflow("return svc.state.increment('contended', 1)")
    const results = await Promise.all(Array.from({ length: 64 }, () => count()))
    assert.deepStrictEqual(
      results.map(Number).toSorted((one, other) => one - other),
      Array.from({ length: 64 }, (_, n) => 1001 + n)
    )
    const within = await workflow(
      "await Promise.all(Array.from({ length: 64 }, () => svc.state.increment('contended', 1)));" +
        "return svc.state.get('contended')"
    )
    assert.strictEqual(await within(), 1128)
  })
})
