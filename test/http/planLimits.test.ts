/** The limits of a plan on stored records are exact, even under concurrent creation. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { definition, startCalls, stopCalls, svc } from "../support/calls.js"

beforeAll(() => startCalls())
afterAll(() => stopCalls())

const things: ReadonlyArray<{
  readonly path: string
  readonly dimension: string
  readonly limit: number
  /** The records that a new organisation has already. */
  readonly before: number
  readonly body: (n: number, workflowId: string) => object
}> = [
  {
    path: "/api/v1/workflows",
    dimension: "flows_per_tenant",
    limit: 10,
    before: 1,
    body: (n) => ({ name: `flow_${n}`, form: "code", code: "export default async function f() {}" })
  },
  {
    path: "/api/v1/connectors",
    dimension: "connectors_per_tenant",
    limit: 3,
    before: 0,
    body: (n) => definition(`plan-limit-${n}`, "1.0.0")
  },
  {
    path: "/api/v1/triggers",
    dimension: "triggers",
    limit: 50,
    before: 0,
    body: (n, workflowId) => ({ type: "event", name: `t${n}`, event: { type: `t.n${n}` }, routes: [{ workflowId }] })
  },
  {
    path: "/api/v1/api-keys",
    dimension: "organisation_api_keys",
    limit: 10,
    before: 1,
    body: (n) => ({ name: `key ${n}`, mode: "live" })
  }
]

describe("the records that a plan allows", () => {
  for (const { before, body, dimension, limit, path } of things)
    it(`is never exceeded by what is made at once: ${dimension}`, async () => {
      const { key, workflowId } = await svc.organisation(`Small ${dimension}`, "starter")
      const answers = await Promise.all(
        Array.from({ length: limit + 6 }, (_, n) => svc.ask("POST", path, { key, body: body(n, workflowId) }))
      )
      const made = answers.filter(({ status }) => status === 201)
      assert.lengthOf(made, limit - before, JSON.stringify(answers.map(({ body }) => body)))
      for (const refused of answers.filter(({ status }) => status !== 201)) {
        assert.deepStrictEqual([refused.status, refused.body.code], [403, "PLAN_LIMIT_REACHED"])
        assert.deepInclude(refused.body.quota, { dimension, limit, used: limit })
      }
    })

  it("of workflows is that of each owner: a customer, and the organisation itself", async () => {
    const { customerId, key } = await svc.organisation("Owners", "starter")
    const create = (n: number, owner: string | null) =>
      svc.ask("POST", "/api/v1/workflows", {
        key,
        body: { name: `own_${n}`, form: "code", code: "export default async function f() {}", customerId: owner }
      })
    for (let n = 0; n < 9; n++) assert.strictEqual((await create(n, null)).status, 201)
    assert.strictEqual((await create(9, null)).status, 403)
    assert.strictEqual((await create(10, customerId)).status, 201)
  })

  it("is shown with what is used of it, and of a customer's own limit, and refuses a plan that allows less", async () => {
    const { customerId, key, organisationId, workflowId } = await svc.organisation("Shown", "growth")
    const ask = (method: string, target: string, body?: object) =>
      svc.ask(method, `/api/v1${target}`, { key, ...(body === undefined ? {} : { body }) })
    const triggersOf = async (query: string) => {
      const { body } = await ask("GET", `/quota/usage${query}`)
      return body.data.find(({ dimension }: { readonly dimension: string }) => dimension === "triggers")
    }
    const trigger = (name: string) => ({ type: "event", name, event: { type: "a.b" }, routes: [{ workflowId }] })
    for (let n = 0; n < 51; n++) assert.strictEqual((await ask("POST", "/triggers", trigger(`t${n}`))).status, 201)
    const own = await ask("PUT", `/customers/${customerId}`, { limits: { triggers: 3 } })
    assert.strictEqual(own.status, 200, own.text)
    const made = await ask("POST", "/triggers", { ...trigger("own"), customerId })
    assert.strictEqual(made.status, 201, made.text)

    const always = { dimension: "triggers", window: "total", resetAt: null }
    assert.deepStrictEqual(await triggersOf(""), {
      ...always,
      scope: "organisation",
      used: 52,
      limit: 500,
      remaining: 448
    })
    assert.deepStrictEqual(await triggersOf(`?customer_id=${customerId}`), {
      ...always,
      scope: "customer",
      used: 1,
      limit: 3,
      remaining: 2
    })
    const smaller = await ask("PUT", `/organizations/${organisationId}`, { plan: "starter" })
    assert.deepStrictEqual([smaller.status, smaller.body.details?.[0]?.code], [409, "triggers"], smaller.text)
    // Those that are deleted leave room.
    for (const { id } of (await ask("GET", "/triggers?page_size=2")).body.data) await ask("DELETE", `/triggers/${id}`)
    assert.strictEqual((await ask("PUT", `/organizations/${organisationId}`, { plan: "starter" })).status, 200)
  })
})
