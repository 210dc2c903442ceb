/** What Postgres refuses is a failing check with its cause in words, until it works again. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { Client } from "pg"
import { TestDatabase } from "../support/Database.js"
import { eventually } from "../support/eventually.js"
import { announce } from "../support/LogExpectations.js"
import { type Running, start } from "../support/InProcess.js"

let svc: Running
let admin: Client
beforeAll(async () => {
  svc = await start()
  const { admin: login } = await svc.run(TestDatabase)
  admin = new Client({ connectionString: Redacted.value(login) })
  await admin.connect()
})
afterAll(async () => {
  await admin.end()
  await svc.stop()
})

const readyz = async () => {
  const { body, status } = await svc.ask("GET", "/readyz")
  return { status, state: body.status, database: body.checks.database }
}
const metrics = async () => (await svc.ask("GET", "/metrics")).text
const isReady = () => eventually(readyz, ({ state }) => state === "ready")

/** Every insert of a customer fails with the condition, as it does when Postgres meets it. */
const refuseCustomers = async (condition: string) => {
  await admin.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION USING ERRCODE = '${condition}', MESSAGE = 'canary_secret'; END $$`)
  await admin.query("CREATE TRIGGER refuse BEFORE INSERT ON customers FOR EACH ROW EXECUTE FUNCTION refuse()")
}
const acceptCustomers = () => admin.query("DROP FUNCTION refuse CASCADE")

const makeCustomer = (name: string) => svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name } })

/** The path of a webhook that anybody may send to. */
const makePublicWebhook = async (): Promise<string> => {
  const { body, text } = await svc.ask("POST", "/api/v1/triggers", {
    key: svc.first.key,
    body: {
      type: "webhook",
      name: "public",
      webhook: { auth: "public" },
      routes: [{ workflowId: svc.first.workflowId }]
    }
  })
  assert.isDefined(body.data?.webhook, text)
  return new URL(body.data.webhook.url).pathname
}

describe.sequential("a database", () => {
  it.each([
    ["disk_full", "53100", "the disk of the database is full", 503, "not_ready"],
    ["out_of_memory", "53200", "the database has too little memory", 200, "degraded"],
    ["io_error", "58030", "the database cannot read or write its files", 503, "not_ready"]
  ] as const)("that refuses writes with %s says so until it is over", async (name, code, cause, status, state) => {
    announce(new RegExp(`database\\.refuses.*"condition":"${name}","sqlState":"${code}"`), { required: true })
    await isReady()
    await refuseCustomers(code)
    const refused = await makeCustomer(`c-${name}`)
    assert.deepStrictEqual([refused.status, refused.body.message], [503, `${cause}`])
    assert.notInclude(refused.text, "canary")
    const told = await readyz()
    assert.deepInclude(told, { status, state })
    assert.deepInclude(told.database, { ok: false })
    assert.include(told.database.detail, cause)
    assert.deepInclude(told.database.refuses[0], { condition: name, sqlState: code, refusals: 1 })
    const exported = await metrics()
    assert.include(exported, `svc_database_refusing{condition="${name}"} 1`)
    assert.include(exported, `svc_database_errors_total{condition="${name}",sqlstate="${code}"} 1`)
    await acceptCustomers()
    const { database } = await isReady()
    assert.deepStrictEqual(database, { ok: true })
    assert.notInclude(await metrics(), "svc_database_refusing")
    assert.strictEqual((await makeCustomer(`c-${name}`)).status, 201)
  })

  it("that is read-only is not ready, and answers no request with an error of the service", async () => {
    announce(/database\.refuses.*"condition":"read_only"/, { required: true })
    announce(/background_task\.|audit\.|event\.not_dispatched|read_only_sql_transaction/)
    await isReady()
    const webhook = await makePublicWebhook()
    const sendWebhook = () => svc.ask("POST", webhook, { body: { order: 1 } })
    assert.strictEqual((await sendWebhook()).status, 202)
    const { rows } = await admin.query<{ readonly name: string }>("SELECT current_database() AS name")
    const name = rows[0]?.name ?? ""
    await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    // Existing sessions keep their setting.
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
      AND application_name ~ '^svc (app|writer|journal) '`
    await admin.query(end)
    const refused = await eventually(
      () => makeCustomer("c-read-only"),
      ({ body }) => body.message === "the database is read-only"
    )
    assert.strictEqual(refused.status, 503)
    const event = await sendWebhook()
    assert.deepStrictEqual([event.status, event.body.message], [503, "the database is read-only"])
    const told = await readyz()
    assert.deepInclude(told, { status: 503, state: "not_ready" })
    assert.include(told.database.detail, "the database is read-only")
    await admin.query("SET default_transaction_read_only = off")
    await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = off`)
    await admin.query(end)
    await isReady()
    assert.strictEqual((await makeCustomer("c-read-only")).status, 201)
    assert.strictEqual((await sendWebhook()).status, 202)
  })
})
