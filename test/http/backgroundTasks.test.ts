/** A background task that stops working is named in /readyz, and requests are still served. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { Redacted } from "effect"
import { Client } from "pg"
import { TestDatabase } from "../support/Database.js"
import { eventually } from "../support/eventually.js"
import { announce } from "../support/LogExpectations.js"
import { type Running, start } from "../support/InProcess.js"
import { scaled } from "../support/slowness.js"

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
  return { status, state: body.status, tasks: body.checks.tasks.failing.map(({ name }: { name: string }) => name) }
}
const metric = async (name: string) =>
  Number(new RegExp(`^${name}\\{task="keys.uses"\\} (\\d+)$`, "m").exec((await svc.ask("GET", "/metrics")).text)?.[1])

it(
  "a task that Postgres refuses is named in /readyz and counted, and works again once it is allowed",
  async () => {
    announce(/background_task\.failed.*42501.*"task":"keys.uses"/, { required: true })
    const { key } = svc.first
    await eventually(readyz, ({ state }) => state === "ready")
    await admin.query("REVOKE UPDATE ON api_keys FROM svc_writer")
    assert.strictEqual((await svc.ask("GET", "/api/v1/customers", { key })).status, 200)

    const broken = await eventually(readyz, ({ tasks }) => tasks.includes("keys.uses"))
    assert.deepStrictEqual(broken, { status: 200, state: "degraded", tasks: ["keys.uses"] })
    assert.strictEqual(await metric("svc_task_failing"), 1)
    assert.isAtLeast(await metric("svc_task_failures_total"), 3)
    assert.strictEqual((await svc.ask("GET", "/api/v1/customers", { key })).status, 200, "requests are served")

    await admin.query("GRANT UPDATE ON api_keys TO svc_writer")
    await eventually(readyz, ({ state }) => state === "ready")
    assert.strictEqual(await metric("svc_task_failing"), 0)
    const { rows } = await admin.query("SELECT 1 FROM api_keys WHERE last_used_at IS NOT NULL")
    assert.isNotEmpty(rows, "what failed was written later")
  },
  scaled(150_000)
)
