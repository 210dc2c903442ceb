/** A customer's limits, its own or of its plan: on stored records, calls and starts of runs. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import { publishConnector, startCalls, stopCalls, svc, systems } from "../support/calls.js"

beforeAll(async () => {
  await startCalls()
  for (const slug of ["acme", "other"]) await publishConnector(slug)
})
afterAll(() => stopCalls())

let later = 0
const ask = (method: string, target: string, body?: object, headers: { readonly [name: string]: string } = {}) =>
  svc.ask(method, target, { key: svc.first.key, headers, later, ...(body === undefined ? {} : { body }) })

let names = 0
const customer = async (more: object): Promise<string> => {
  const made = await ask("POST", "/api/v1/customers", { name: `customer ${++names}`, ...more })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data.id
}
const code = "export default async (ctx) => ctx.input"
const flow = (customerId: string | null) =>
  ask("POST", "/api/v1/workflows", { name: `flow_${++names}`, form: "code", code, customerId })
const install = (customerId: string, status = "active") =>
  ask("POST", "/api/v1/installations", { customerId, integration: `integration-${++names}`, status })
const makeKey = (customerId: string) =>
  ask("POST", "/api/v1/api-keys", { name: `key ${++names}`, customers: { mode: "subset", ids: [customerId] } })
const connect = (customerId: string, connector: string) =>
  ask("POST", "/api/v1/connections", {
    customerId,
    connector,
    config: { base: systems.url },
    credential: { apiKey: "k" }
  })
const execute = (customerId: string, headers: { readonly [name: string]: string } = {}) =>
  ask("POST", `/api/v1/workflows/${svc.first.workflowId}/execute`, {}, { "x-end-org-id": customerId, ...headers })

const trigger = (customerId: string) =>
  ask("POST", "/api/v1/triggers", {
    type: "event",
    name: `trigger ${++names}`,
    customerId,
    event: { type: "order.placed" },
    routes: [{ workflowId: svc.first.workflowId }]
  })

const kept: ReadonlyArray<
  readonly [dimension: string, make: (customerId: string, n: number) => ReturnType<typeof ask>]
> = [
  ["flows_per_tenant", flow],
  ["active_integrations", (id) => install(id)],
  ["api_keys_per_customer", makeKey],
  ["triggers", trigger],
  ["connectors_per_tenant", (id, n) => connect(id, ["acme", "acme", "other"][n] ?? "other")]
]

describe("what is kept for a customer", () => {
  for (const [dimension, make] of kept)
    it(`is bounded by the customer's own limit, and no other customer's: ${dimension}`, async () => {
      const [bounded, free] = [await customer({ limits: { [dimension]: 1 } }), await customer({})]
      // A second connection to the same connector does not count as another connector.
      const allowed = dimension === "connectors_per_tenant" ? 2 : 1
      for (let n = 0; n < allowed; n++) assert.strictEqual((await make(bounded, n)).status, 201)
      const refused = await make(bounded, allowed)
      assert.deepStrictEqual([refused.status, refused.body.code], [403, "PLAN_LIMIT_REACHED"], refused.text)
      assert.deepStrictEqual(refused.body.quota, { dimension, limit: 1, used: 1, resetAt: null })
      for (let n = 0; n < 3; n++) assert.strictEqual((await make(free, n)).status, 201)
      assert.strictEqual(
        (await ask("PUT", `/api/v1/customers/${bounded}`, { limits: { [dimension]: null } })).status,
        200
      )
      assert.strictEqual((await make(bounded, allowed)).status, 201)
    })

  it("never exceeds the limit under concurrent creation", async () => {
    const id = await customer({ limits: { flows_per_tenant: 3 } })
    const answers = await Promise.all(Array.from({ length: 8 }, () => flow(id)))
    assert.lengthOf(
      answers.filter(({ status }) => status === 201),
      3
    )
  })

  it("is limited by the customer's plan if it has no limit of its own, also after reactivation", async () => {
    const id = await customer({ plan: "starter", limits: { active_integrations: 6 } })
    for (let n = 0; n < 6; n++) assert.strictEqual((await install(id)).status, 201)
    const paused = await install(id, "paused")
    const activated = await ask("PUT", `/api/v1/installations/${paused.body.data.id}`, { status: "active" })
    assert.deepStrictEqual([activated.status, activated.body.quota?.limit], [403, 6], activated.text)
    for (let n = 0; n < 10; n++) assert.strictEqual((await flow(id)).status, 201)
    assert.deepInclude((await flow(id)).body.quota, { dimension: "flows_per_tenant", limit: 10, used: 10 })
    assert.strictEqual((await flow(null)).status, 201)
  })

  it("has limits of the known dimensions only", async () => {
    const refused = await ask("POST", "/api/v1/customers", { name: "x", limits: { flows: 1 } })
    assert.deepStrictEqual([refused.status, refused.body.details[0].path], [422, "limits.flows"], refused.text)
  })
})

describe("calls for a customer", () => {
  it("are limited per minute, whichever header names it", async () => {
    const id = await customer({ limits: { api_calls_per_minute: 3 }, externalRef: "counted" })
    const other = await customer({})
    const calls = [
      () => ask("GET", "/api/v1/customers", undefined, { "x-end-org-id": id }),
      () => ask("GET", "/api/v1/secrets", undefined, { "x-end-org-ref": "counted" }),
      () => execute(id)
    ]
    // In the middle of a minute, so that all calls are in one.
    later = 90_000 - (Date.now() % 60_000)
    for (const call of calls) assert.strictEqual((await call()).status, 200)
    for (const call of calls) {
      const refused = await call()
      assert.deepStrictEqual([refused.status, refused.body.code], [429, "RATE_LIMITED"], refused.text)
      assert.deepStrictEqual(
        [refused.headers["x-ratelimit-limit"], refused.headers["x-ratelimit-remaining"]],
        ["3", "0"]
      )
      assert.isDefined(refused.headers["retry-after"])
    }
    assert.strictEqual((await execute(other)).status, 200)
    assert.strictEqual((await ask("GET", `/api/v1/customers/${id}`)).status, 200)
    later += 60_000
    assert.strictEqual((await ask("GET", "/api/v1/customers", undefined, { "x-end-org-id": id })).status, 200)
  })
})

describe("starts of runs", () => {
  it("for a customer are limited per day; repetitions and failed starts do not count", async () => {
    const id = await customer({ limits: { events_per_day: 2 } })
    const keyed = { "idempotency-key": "once" }
    const first = await execute(id, keyed)
    assert.strictEqual(first.status, 200)
    for (let n = 0; n < 3; n++) assert.strictEqual((await execute(id, keyed)).headers["idempotent-replayed"], "true")
    assert.strictEqual((await execute(id, { "x-svc-env": "nowhere" })).status, 409)
    assert.strictEqual((await execute(id)).status, 200)
    const refused = await execute(id)
    assert.deepStrictEqual([refused.status, refused.body.code], [429, "QUOTA_EXCEEDED"], refused.text)
    const midnight = new Date(new Date().setUTCHours(24, 0, 0, 0)).toISOString()
    assert.deepStrictEqual(refused.body.quota, { dimension: "events_per_day", limit: 2, used: 2, resetAt: midnight })
    assert.isAbove(Number(refused.headers["retry-after"]), 0)
    const executionId = first.headers["x-svc-execution-id"]
    const again = await ask("POST", `/api/v1/executions/${executionId}/rerun`, {})
    assert.deepStrictEqual([again.status, again.body.code], [429, "QUOTA_EXCEEDED"], again.text)
    const tomorrow = await svc.ask("POST", `/api/v1/workflows/${svc.first.workflowId}/execute`, {
      key: svc.first.key,
      body: {},
      headers: { "x-end-org-id": id },
      later: "1 day"
    })
    assert.strictEqual(tomorrow.status, 200)
  })

  it("and calls for a customer never exceed the limits under concurrent requests", async () => {
    const days = await customer({ limits: { events_per_day: 5 } })
    const starts = await Promise.all(Array.from({ length: 16 }, () => execute(days)))
    assert.lengthOf(
      starts.filter(({ status }) => status === 200),
      5
    )
    const minutes = await customer({ limits: { api_calls_per_minute: 5 } })
    const named = { "x-end-org-id": minutes }
    const calls = await Promise.all(Array.from({ length: 16 }, () => ask("GET", "/api/v1/customers", undefined, named)))
    assert.lengthOf(
      calls.filter(({ status }) => status === 200),
      5
    )
  })

  it("of an organisation are limited per day by its plan, over all its customers", async () => {
    const small = await svc.organisation("Small", "starter")
    // Most of the day's thousand are taken: a window of the plan's calls would end the test before.
    const { organisationId } = small
    await svc.run(
      Effect.flatMap(
        WriterSql,
        (sql) =>
          sql`INSERT INTO rate_windows (org, bucket, minute, granted) VALUES (${organisationId}, 'starts', date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC', 997)`
      )
    )
    const start = (customerId?: string) =>
      svc.ask("POST", `/api/v1/workflows/${small.workflowId}/execute`, {
        key: small.key,
        body: {},
        headers: customerId === undefined ? {} : { "x-end-org-id": customerId }
      })
    assert.deepStrictEqual(
      [(await start()).status, (await start(small.customerId)).status, (await start()).status],
      [200, 200, 200]
    )
    const refused = await start()
    assert.deepStrictEqual([refused.status, refused.body.quota?.limit], [429, 1_000], refused.text)
  })
})
