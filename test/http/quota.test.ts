/** What an organisation and its customers use of their limits, and the totals of days. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runMaintenance } from "../../src/runtime/postgres/database/Maintenance.js"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"

let svc: Running
beforeAll(async () => {
  svc = await start()
})
afterAll(() => svc.stop())

const sql = (statement: string) => svc.sql(statement)
const ask = (target: string, key: string) => svc.ask("GET", `/api/v1/quota/${target}`, { key })

interface Use {
  readonly dimension: string
  readonly used: number
}

describe("The use of quotas", () => {
  it("shows the organisation's limits, and a customer's", async () => {
    const world = await svc.organisation("Starter", "starter")
    await sql(`UPDATE customers SET limits = '{"events_per_day": 4}' WHERE id = '${world.customerId}'`)
    const target = `/api/v1/workflows/${world.workflowId}/execute`
    const headers = { "x-end-org-id": world.customerId }
    for (const more of [{}, { headers }])
      assert.strictEqual((await svc.ask("POST", target, { key: world.key, body: { input: {} }, ...more })).status, 200)
    // Unused tokens of the leases are returned first.
    const used = async (query: string) => {
      const { body } = await eventually(
        () => ask(`usage${query}`, world.key),
        ({ body }) => body.data.find(({ dimension }: Use) => dimension === "events_per_day").used <= 2
      )
      return body.data
    }
    const own = await used("")
    const day = own.find(({ dimension }: Use) => dimension === "events_per_day")
    assert.deepInclude(day, { scope: "organisation", used: 2, limit: 1_000, remaining: 998, window: "day" })
    assert.match(day.resetAt, /T00:00:00\.000Z$/)
    assert.deepInclude(
      own.find(({ dimension }: Use) => dimension === "flows_per_tenant"),
      { used: 1, limit: 10, remaining: 9, window: "total", resetAt: null }
    )
    const [theirs] = await used(`?customer_id=${world.customerId}`)
    assert.deepInclude(theirs, { dimension: "events_per_day", scope: "customer", used: 1, limit: 4, remaining: 3 })

    const summary = await ask("summary", world.key)
    assert.deepInclude(summary.body.data, { plan: "starter", status: "ok" })
    assert.deepStrictEqual(summary.body.data.byCustomer, [{ customerId: world.customerId, used: 1 }])
    await sql(`INSERT INTO storage_usage (org, bytes) VALUES ('${world.organisationId}', 85000000)`)
    // The node keeps what it read for less than a second. Asking until then would use up the calls of the minute.
    const warned = await svc.ask("GET", "/api/v1/quota/summary", { key: world.key, later: "2 seconds" })
    const { highest, status } = warned.body.data
    assert.deepStrictEqual(
      { highest, status },
      { highest: { dimension: "storage_mb", percent: 81 }, status: "warning" }
    )
  })

  it("without limits has none, and totals of days", async () => {
    const world = await svc.organisation("Unlimited")
    const target = `/api/v1/workflows/${world.workflowId}/execute`
    for (let n = 0; n < 3; n++) await svc.ask("POST", target, { key: world.key, body: { input: {} } })
    const { body } = await ask("usage", world.key)
    for (const { limit, remaining } of body.data) assert.deepStrictEqual([limit, remaining], [null, null])
    const days = await eventually(
      async () => {
        await svc.run(Effect.scoped(runMaintenance))
        return ask("daily", world.key)
      },
      ({ body }) => body.data[0]?.executions === 3 && body.data[0].apiCalls >= 4
    )
    const [today] = days.body.data
    assert.deepInclude(today, { events: 3, executions: 3, agentSessions: 0, llmTokens: 0 })
    assert.strictEqual(today.date, new Date().toISOString().slice(0, 10))
    const used = async (dimension: string) => (await ask(`daily?dimension=${dimension}`, world.key)).body.data.length
    assert.deepStrictEqual([await used("events_per_day"), await used("llm_tokens_per_day")], [1, 0])
    assert.strictEqual((await ask("daily?dimension=storage_mb", world.key)).status, 400)
    const long = await ask("daily?from=2020-01-01T00:00:00Z", world.key)
    assert.strictEqual(long.status, 400)
  })

  it("is shown to a key of some customers for these only", async () => {
    const world = await svc.organisation("Subset")
    const stranger = await svc.ask("POST", "/api/v1/customers", { key: world.key, body: { name: "Stranger" } })
    const issued = await svc.ask("POST", "/api/v1/api-keys", {
      key: world.key,
      body: {
        name: "subset",
        mode: "live",
        preset: "developer",
        customers: { mode: "subset", ids: [world.customerId] }
      }
    })
    const { key } = issued.body.data
    const own = await ask("usage", key)
    assert.strictEqual(own.status, 200, own.text)
    assert.deepStrictEqual([...new Set(own.body.data.map(({ scope }: { scope: string }) => scope))], ["customer"])
    assert.strictEqual((await ask(`usage?customer_id=${stranger.body.data.id}`, key)).status, 404)
    assert.strictEqual((await ask("summary", key)).status, 403)
  })
})
