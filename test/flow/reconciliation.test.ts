/** Reconciliation names every event of which somebody removed a row, whichever, and nothing that is in order. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Client } from "pg"
import type { Answer } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { connectEmbedded } from "../support/embeddedPostgres.js"
import { announce } from "../support/LogExpectations.js"
import { startService } from "../support/Service.js"
import { drained, makeWebhook, sendWebhook, type WebhookTrigger } from "../support/webhooks.js"
import { worldOf } from "../support/World.js"

const world = worldOf({ allow: false })
const call = (method: string, path: string, body?: unknown) => world.api().call(method, `/api/v1${path}`, body)
let database: Client
let succeeding: WebhookTrigger
let failing: WebhookTrigger
let unstartable: WebhookTrigger
let keyed: WebhookTrigger

// The command prints text.
announce(/^[^{]/)

beforeAll(async () => {
  await world.start()
  const client = world.api()
  database = await connectEmbedded(world.dataDir)
  const echo = await client.workflow("echo", "instant", "export default async (ctx) => ctx.input")
  const fails = await client.workflow("fails", "instant", "export default async () => { throw new Error('no') }")
  const strict = await client.workflow("strict", "instant", "export default async () => 1", {
    inputContract: { type: "object", required: ["never"] }
  })
  succeeding = await makeWebhook(client, [{ workflowId: echo }])
  failing = await makeWebhook(client, [{ workflowId: fails }])
  unstartable = await makeWebhook(client, [{ workflowId: strict }], {}, { delivery: { maxAttempts: 1 } })
  keyed = await makeWebhook(client, [{ workflowId: echo }], { deduplicationKey: "n" })
})
afterAll(async () => {
  await database.end()
  await world.stop()
})

const reconciled = async (): Promise<Answer["body"]> => (await call("GET", "/events/reconciliation")).body.data

const settled = (id: string): Promise<Answer["body"]> =>
  eventually(
    async () => (await call("GET", `/events/${id}`)).body?.data,
    (found) => found !== undefined && found.status !== "received"
  )

let n = 0
const send = async ({ path }: WebhookTrigger): Promise<string> => {
  const sent = await sendWebhook(world.api(), path, JSON.stringify({ n: (n += 1) }))
  assert.strictEqual(sent.status, 202, sent.text)
  return sent.body.eventId
}

/** Sends an event and awaits its end, and that of its run. */
const ended = async (trigger: WebhookTrigger): Promise<string> => {
  const id = await send(trigger)
  const { deliveries } = await settled(id)
  for (const { executionId } of deliveries) if (executionId !== null) await world.api().ended(executionId)
  return id
}

/** Sends an event that stays held, since its customer is suspended. */
const held = async (): Promise<string> => {
  const customerId = (await call("POST", "/customers", { name: `held ${(n += 1)}` })).body.data.id
  const { routes } = (await call("GET", `/triggers/${succeeding.id}`)).body.data
  const trigger = await makeWebhook(world.api(), [{ workflowId: routes[0].workflowId }], {}, { customerId })
  assert.strictEqual((await call("PUT", `/customers/${customerId}`, { status: "suspended" })).status, 200)
  const id = await send(trigger)
  assert.strictEqual((await settled(id)).status, "held")
  return id
}

const verifyEvents = async () => {
  const one = startService({ dataDir: world.dataDir, command: ["verify-events", "--since", "1h"] })
  return { code: await one.ended, output: one.output() }
}

/**
 * Deletes the row, asserts that both forms of the reconciliation name the event and nothing else, and inserts the row
 * again.
 */
const assertNamed = async (table: string, column: string, event: string, key = event) => {
  const { rows } = await database.query(`DELETE FROM ${table} WHERE ${column} = $1 RETURNING *`, [key])
  assert.lengthOf(rows, 1)
  assert.deepStrictEqual((await reconciled()).unaccounted, [event])
  const said = await verifyEvents()
  assert.strictEqual(said.code, 1, said.output)
  assert.deepStrictEqual(said.output.match(/^evt_\w+$/gm), [event], said.output)
  const [row] = rows
  const names = Object.keys(row)
  const values = names.map((name) => (isDocument(row[name]) ? JSON.stringify(row[name]) : row[name]))
  await database.query(
    `INSERT INTO ${table} (${names.join(", ")}) OVERRIDING SYSTEM VALUE VALUES (${names.map((_, i) => `$${i + 1}`).join(", ")})`,
    values
  )
  assert.deepStrictEqual((await reconciled()).unaccounted, [])
}

const isDocument = (value: unknown) =>
  typeof value === "object" && value !== null && !(value instanceof Date) && !(value instanceof Uint8Array)

describe("reconciliation names the event of a removed row", () => {
  it("of events, and of start_queue", async () => {
    const id = await held()
    await assertNamed("events", "id", id)
    await assertNamed("start_queue", "id", id)
  })

  it("of event_records, whether or not a claim remembers it", async () => {
    await assertNamed("event_records", "id", await ended(succeeding))
    await assertNamed("event_records", "id", await ended(keyed))
  })

  it("of dead_letters, of an event that could not start and of a run that failed", async () => {
    const dead = await ended(unstartable)
    assert.strictEqual((await settled(dead)).status, "dead")
    await assertNamed("dead_letters", "event_id", dead)
    await assertNamed("dead_letters", "event_id", await ended(failing))
  })

  it("of executions", async () => {
    const id = await ended(succeeding)
    const [{ executionId }] = (await settled(id)).deliveries
    await assertNamed("executions", "id", id, executionId)
  })
})

describe("reconciliation of an event without a deduplication value", () => {
  it("names the trigger and the minute if every row of it is gone, and how many they are", async () => {
    const ids = [await ended(succeeding), await ended(succeeding)]
    const minutes = await database.query<{ minute: Date; n: number }>(
      `SELECT to_timestamp(svc_event_minute(id) * 60::bigint) AS minute, count(*)::int AS n FROM event_records
       WHERE id = ANY($1) GROUP BY 1 ORDER BY 1`,
      [ids]
    )
    const { accepted } = await reconciled()
    const tables = { executions: "record->'trigger'->>'eventId' = ANY($1)", event_records: "id = ANY($1)" }
    for (const [table, condition] of Object.entries(tables)) {
      await database.query(`CREATE TEMP TABLE gone_${table} AS SELECT * FROM ${table} LIMIT 0`)
      const moved = `WITH gone AS (DELETE FROM ${table} WHERE ${condition} RETURNING *) INSERT INTO gone_${table} SELECT * FROM gone`
      assert.strictEqual((await database.query(moved, [ids])).rowCount, 2)
    }
    const found = await reconciled()
    const expected = minutes.rows.map(({ minute, n }) => ({
      triggerId: succeeding.id,
      minute: minute.toISOString(),
      events: n
    }))
    assert.deepStrictEqual([found.unaccounted, found.missing, found.accepted], [[], expected, accepted])
    const said = await verifyEvents()
    assert.strictEqual(said.code, 1, said.output)
    for (const { events, minute } of expected)
      assert.include(said.output, `${events} accepted in the minute of ${minute}, of ${succeeding.id}, have no row`)
    for (const table of Object.keys(tables)) await database.query(`INSERT INTO ${table} SELECT * FROM gone_${table}`)
    assert.deepStrictEqual((await reconciled()).missing, [])
  })

  it("counts each accepted event once, however it ended, and no rejected one", async () => {
    const headers = { "webhook-timestamp": "1" }
    assert.strictEqual((await sendWebhook(world.api(), failing.path, "{}", headers)).status, 400)
    await drained(world.api())
    const { rows } = await database.query(
      `SELECT COALESCE(c.n, 0)::int AS counted, k.n::int AS kept FROM
         (SELECT trigger_id, minute, sum(n) AS n FROM event_counts GROUP BY 1, 2) c
         FULL JOIN (SELECT COALESCE(trigger_id, '') AS trigger_id, svc_event_minute(id) AS minute, count(*) AS n FROM
           (SELECT id, trigger_id, status FROM events UNION ALL SELECT id, trigger_id, status FROM event_records) e
           WHERE status <> 'rejected' GROUP BY 1, 2) k USING (trigger_id, minute)`
    )
    assert.isAbove(rows.length, 0)
    for (const { counted, kept } of rows) assert.strictEqual(counted, kept, JSON.stringify(rows))
  })
})

describe("reconciliation", () => {
  it("counts what is held, and what was released", async () => {
    const before = await reconciled()
    const id = await held()
    const during = await reconciled()
    assert.deepStrictEqual([during.held, during.accepted], [before.held + 1, before.accepted + 1])
    const { customerId } = (await call("GET", `/events/${id}`)).body.data
    assert.strictEqual((await call("PUT", `/customers/${customerId}`, { status: "active" })).status, 200)
    await eventually(reconciled, (now) => now.held === before.held && now.executed === before.executed + 1)
    const { accepted, dead, duplicate, executed, held: stillHeld, ignored, unaccounted } = await drained(world.api())
    assert.strictEqual(accepted, executed + ignored + stillHeld + dead + duplicate)
    assert.deepStrictEqual(unaccounted, [])
  })

  it("accounts for discarded dead letters and for the repetitions of an event", async () => {
    const id = await ended(failing)
    const letters = (await call("GET", `/dlq?trigger_id=${failing.id}`)).body.data
    for (const letter of letters) await call("DELETE", `/dlq/${letter.id}`)
    const body = JSON.stringify({ n: "again" })
    for (const status of [202, 200])
      assert.strictEqual((await sendWebhook(world.api(), keyed.path, body)).status, status)
    assert.include(
      letters.map(({ eventId }: { eventId: string }) => eventId),
      id
    )
    assert.deepStrictEqual((await drained(world.api())).unaccounted, [])
  })

  it("accounts for a customer whose events were erased", async () => {
    const customerId = (await call("POST", "/customers", { name: "erased" })).body.data.id
    const { routes } = (await call("GET", `/triggers/${keyed.id}`)).body.data
    const route = [{ workflowId: routes[0].workflowId }]
    await ended(await makeWebhook(world.api(), route, { deduplicationKey: "n" }, { customerId }))
    assert.strictEqual((await call("DELETE", `/customers/${customerId}`)).status, 202)
    // The first pass of maintenance, which follows the start, erases who was deleted long enough ago.
    await database.query("UPDATE customers SET deleted_at = now() - interval '2 days' WHERE id = $1", [customerId])
    await world.crash()
    await eventually(
      async () => (await database.query("SELECT FROM event_records WHERE customer_id = $1", [customerId])).rows.length,
      (left) => left === 0
    )
    const { missing, unaccounted } = await reconciled()
    assert.deepStrictEqual([unaccounted, missing], [[], []])
  })
})
