/**
 * All rows of a deleted customer are erased. The test creates them through the API and searches every table of the
 * database's catalogue, so that it covers new tables too.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runMaintenance } from "../../src/runtime/postgres/database/Maintenance.js"
import { type AuditAnswer, hashOf, storedForm, valueAtPath } from "../support/auditChain.js"
import { sumExecutions } from "../../src/runtime/postgres/run/ExecutionStats.js"
import { keyOfCustomers, openPanel } from "../support/embed.js"
import { eventually } from "../support/eventually.js"
import { makeKey } from "../support/keys.js"
import { publishConnector, startCalls, stopCalls, svc, systems } from "../support/calls.js"

beforeAll(async () => {
  await startCalls()
  const unifiedFields = [{ from: "id", to: "id" }]
  await publishConnector("acme", "1.0.0", {
    entities: [{ name: "person", unified: "crm/contact", read: "list", unifiedFields }]
  })
  await ask("POST", "/api/v1/webhook-endpoints", { url: `${systems.url}/events`, events: ["*"] })
})
afterAll(() => stopCalls())

const ask = async (
  method: string,
  target: string,
  body?: object,
  headers: { readonly [name: string]: string } = {}
) => {
  const answer = await svc.ask(method, target, {
    key: svc.first.key,
    headers,
    ...(body === undefined ? {} : { body })
  })
  assert.isBelow(answer.status, 300, `${method} ${target} ${answer.text}`)
  return answer
}
const sql = <A extends object>(statement: string) => svc.sql<A>(statement)
const maintain = () => svc.run(Effect.scoped(runMaintenance))

/** Tables that keep rows of a deleted customer, with the reason. */
const keepers: ReadonlyMap<string, string> = new Map([
  ["audit_entries", "no entry of the trail is ever removed, but its values are"],
  ["customers", "the tombstone of thirty days"]
])

/** Tables whose rows wait for a second only; those of a deleted customer are erased, too. */
const passing: ReadonlySet<string> = new Set(["domain_events"])

/** Every table that is not a partition. */
const tables = async (condition = "true") =>
  (
    await sql<{ name: string }>(
      `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND ${condition} ORDER BY 1`
    )
  ).map(({ name }) => name)

const customerTables = () =>
  tables(`EXISTS (SELECT FROM information_schema.columns i
    WHERE i.table_schema = 'public' AND i.table_name = c.relname AND i.column_name LIKE '%customer%')`)

/** The number of rows of each table with the text in any column; tables without such rows are omitted. */
const rowsWith = async (text: string): Promise<ReadonlyMap<string, number>> => {
  const found = new Map<string, number>()
  for (const table of await tables()) {
    const [row] = await sql<{ n: number }>(
      `SELECT count(*)::int AS n FROM ${table} t WHERE strpos(t::text, '${text}') > 0`
    )
    if ((row?.n ?? 0) > 0) found.set(table, row?.n ?? 0)
  }
  return found
}

/** Creates a customer with rows in every table that may have rows of a customer. */
const furnish = async (name: string): Promise<string> => {
  const { id } = (
    await ask("POST", "/api/v1/customers", { name: `canary ${name}`, adminEmail: `${name}@canary.example` })
  ).body.data
  const acting = { "x-end-org-id": id }
  await ask("POST", "/api/v1/notifications", { title: `canary ${name}`, customerId: id })
  await ask("POST", "/api/v1/secrets", { name: "TOKEN", value: `canary ${name}`, customerId: id })
  await ask("PUT", "/api/v1/config", { level: "tenant", scopeId: id, key: "env.A", value: `canary ${name}` })
  await ask("POST", "/api/v1/users/invite", { email: `only@${name}.example`, role: "viewer", customerIds: [id] })
  await ask("POST", "/api/v1/users/invite", {
    email: `both@${name}.example`,
    role: "viewer",
    customerIds: [id, svc.first.customerId]
  })
  for (const ids of [[id], [id, svc.first.customerId]])
    await ask("POST", "/api/v1/api-keys", { name: `of ${name} ${ids.length}`, customers: { mode: "subset", ids } })
  const panel = await keyOfCustomers(svc, [id, svc.first.customerId])
  await openPanel(svc, id, { userName: `canary ${name}`, metadata: { note: `canary ${name}` } }, panel)
  const connection = await ask("POST", "/api/v1/connections", {
    connector: "acme",
    customerId: id,
    label: `canary ${name}`,
    config: { base: systems.url },
    credential: { apiKey: "k" }
  })
  const workflow = (body: string, tier: string, customerId: string | null) =>
    ask("POST", "/api/v1/workflows", {
      name: `w_${name}_${tier}`,
      form: "code",
      tier,
      customerId,
      code: `export default async (ctx) => { /* ${customerId === null ? "shared" : `canary ${name}`} */ ${body} }`
    })
  const own = (
    await workflow(
      "await svc.state.set('a', 1, { scope: 'CUSTOMER' }); await svc.state.set('a', 1, { scope: 'WORKFLOW' });" +
        "await svc.state.set('a', 1, { scope: 'INVOCATION' }); console.log('canary');" +
        "await svc.diff.compare({ name: 'canary', key: 'note', source: [ctx.input], target: [] }); return ctx.input",
      "instant",
      id
    )
  ).body.data.id
  await ask("POST", `/api/v1/workflows/${own}/publish`, {})
  // Another key, so that the state that it replaces is kept.
  const { key } = await makeKey(svc, {})
  const changed = { code: `export default async () => "canary ${name}"` }
  assert.strictEqual((await svc.ask("PUT", `/api/v1/workflows/${own}`, { key, body: changed })).status, 200)
  await ask("PUT", "/api/v1/config", { level: "flow", scopeId: own, key: "env.A", value: `canary ${name}` })
  const fieldMap = await ask("POST", "/api/v1/field-maps", {
    connector: "acme",
    entity: "person",
    model: "crm.contact",
    customerId: id,
    name: `canary ${name}`,
    fields: [{ to: "title", default: `canary ${name}` }]
  })
  await ask("POST", `/api/v1/field-maps/${fieldMap.body.data.id}/publish`, { notes: `canary ${name}` })
  await ask("POST", "/api/v1/installations", {
    customerId: id,
    integration: "acme-sync",
    workflowIds: [own],
    connections: { acme: connection.body.data.id },
    config: { greeting: `canary ${name}` }
  })
  await ask("POST", "/api/v1/triggers", {
    type: "schedule",
    name: `canary ${name}`,
    customerId: id,
    routes: [{ workflowId: own }],
    schedule: { mode: "daily" }
  })
  await ask("POST", `/api/v1/workflows/${own}/execute`, { input: { note: `canary ${name}` } }, acting)
  await ask("POST", `/api/v1/workflows/${own}/execute`, { input: {}, draft: true }, acting)
  const waits =
    "await Promise.all([svc.approval({ approvers: ['a@b.example'], message: String(ctx.input.note) })," +
    "new Promise((done) => setTimeout(done, 3_600_000))])"
  const long = (await workflow(waits, "long", null)).body.data.id
  await ask("POST", `/api/v1/workflows/${long}/publish`, {})
  await ask("POST", `/api/v1/workflows/${long}/execute`, { input: { note: `canary ${name}` } }, acting)
  const failing = (await workflow("throw new Error('no')", "standard", id)).body.data.id
  await ask("POST", `/api/v1/workflows/${failing}/publish`, {})
  const send = async (workflowId: string, times: number) => {
    const trigger = await ask("POST", "/api/v1/triggers", {
      type: "webhook",
      name: `canary ${workflowId}`,
      customerId: id,
      webhook: { auth: "public", executionMode: "sequential" },
      routes: [{ workflowId }]
    })
    const { pathname } = new URL(trigger.body.data.webhook.url)
    for (let n = 0; n < times; n++) await ask("POST", pathname, { note: `canary ${name}` })
  }
  await send(failing, 1)
  // The second event waits until the run of the first has ended.
  await send(long, 2)
  await ask("POST", "/api/v1/environments", { name: `canary ${name}`, slug: "e", customerId: id })
  const pins = [{ workflowId: own }, { workflowId: svc.first.workflowId }]
  const release = { name: `canary ${name}`, customerId: id, workflows: pins, environment: "e" }
  assert.strictEqual((await ask("POST", "/api/v1/releases", release)).status, 201)
  await eventually(
    () => rowsWith(id),
    (found) =>
      ["approvals", "executions", "runs", "deliveries", "events", "event_records", "dead_letters"].every((table) =>
        found.has(table)
      ) && !found.has("domain_events")
  )
  // The service does so once a minute, and at that moment by itself alone.
  await eventually(
    async () => {
      await svc.run(sumExecutions)
      return await rowsWith(id)
    },
    (found) => found.has("execution_stats") && found.has("execution_failures")
  )
  return id
}

const withoutKeepers = (found: ReadonlyMap<string, number>) =>
  Object.fromEntries([...found].filter(([table]) => !keepers.has(table)))

/** The entries of the customer have no values any more, and the chain is intact. */
const provesErasedEntries = async (customer: string) => {
  const entries: ReadonlyArray<AuditAnswer> = (await ask("GET", `/api/v1/audit?customer_id=${customer}&page_size=200`))
    .body.data
  const commitments = entries.flatMap((entry) => entry.commitments.map((one) => ({ entry, ...one })))
  assert.isAbove(commitments.length, 10)
  for (const { entry, path, salt } of commitments)
    assert.deepStrictEqual([valueAtPath(entry, path), salt], ["[erased]", null])
  for (const entry of entries.filter(({ seq }) => seq !== null))
    assert.strictEqual(hashOf(storedForm(entry), entry.seq, entry.prevHash), entry.hash)
  assert.deepInclude((await ask("GET", "/api/v1/audit/verify")).body.data, { firstBadSeq: null })
}

describe("a customer that was deleted", () => {
  it("has only its tombstone and audit entries left after a day; other customers lose nothing", async () => {
    const gone = await furnish("gone")
    const kept = await furnish("kept")
    const before = await rowsWith(gone)
    assert.deepStrictEqual(
      (await customerTables()).filter((table) => !before.has(table) && !passing.has(table)),
      [],
      "this test puts a row of the customer into every table that has a column for it"
    )
    const keptBefore = await rowsWith(kept)
    await ask("DELETE", `/api/v1/customers/${gone}`)
    await maintain()
    assert.containsAllKeys(await rowsWith(gone), ["installations", "workflows", "secrets"], "not before its time")

    await sql(`UPDATE customers SET deleted_at = now() - interval '23 hours' WHERE id = '${gone}'`)
    await maintain()
    // The sweep of runs ends the run that waits for an hour, and the next pass of maintenance erases it.
    await eventually(
      () => rowsWith(gone),
      (found) => !found.has("runs")
    )
    // The pass after the end of the run may meet what that published.
    const left = await eventually(
      async () => {
        await maintain()
        return withoutKeepers(await rowsWith(gone))
      },
      (found) => Object.keys(found).length === 0
    )
    assert.deepStrictEqual(left, {})
    assert.deepStrictEqual(Object.fromEntries(await rowsWith("canary gone")), {}, "not in the audit trail either")
    await provesErasedEntries(gone)
    assert.deepStrictEqual(withoutKeepers(await rowsWith("gone.example")), { users: 1 })
    const [tombstone] = await sql<object>(
      `SELECT name, slug, admin_email AS email, plan FROM customers WHERE id = '${gone}'`
    )
    assert.deepStrictEqual(tombstone, { name: "", slug: gone, email: null, plan: null })

    const keptAfter = await rowsWith(kept)
    for (const [table, n] of keptBefore) if (!keepers.has(table)) assert.strictEqual(keptAfter.get(table), n, table)
  })

  it("restricts people and keys to their other customers, and gives none access to all", async () => {
    const users = await sql<{ email: string; ids: ReadonlyArray<string> }>(
      "SELECT email, customer_ids AS ids FROM users WHERE email LIKE '%gone.example'"
    )
    assert.deepStrictEqual(users, [{ email: "both@gone.example", ids: [svc.first.customerId] }])
    const keys = await sql<object>(
      "SELECT name, customers_mode AS mode, customer_ids AS ids, revoked_at IS NOT NULL AS revoked FROM api_keys WHERE name LIKE 'of gone%' ORDER BY name"
    )
    assert.deepStrictEqual(keys, [
      { name: "of gone 1", mode: "subset", ids: [], revoked: true },
      { name: "of gone 2", mode: "subset", ids: [svc.first.customerId], revoked: false }
    ])
  })

  it("loses its tombstone after thirty days, also if it had workflows", async () => {
    await sql("UPDATE customers SET deleted_at = now() - interval '31 days' WHERE deleted_at IS NOT NULL")
    await maintain()
    assert.deepStrictEqual(await sql("SELECT id FROM customers WHERE deleted_at IS NOT NULL"), [])
  })
})
