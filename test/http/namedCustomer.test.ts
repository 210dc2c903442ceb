/** A management request that names a customer in its headers reads and changes that customer's records only. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
let key: string
const customers: Array<string> = []
beforeAll(async () => {
  svc = await startShared()
  key = svc.first.key
  for (const name of ["Alpha", "Beta"]) {
    const made = await svc.ask("POST", "/api/v1/customers", { key, body: { name, externalRef: name.toLowerCase() } })
    customers.push(made.body.data.id)
    const body = { name: `OF_${name.toUpperCase()}`, value: "1", customerId: made.body.data.id }
    await svc.ask("POST", "/api/v1/secrets", { key, body })
  }
  await svc.ask("POST", "/api/v1/secrets", { key, body: { name: "SHARED", value: "1" } })
})
afterAll(() => svc.stop())

const ask = (method: string, target: string, headers: { readonly [name: string]: string }, body?: unknown) =>
  svc.ask(method, target, { key, headers, ...(body === undefined ? {} : { body }) })

describe("a management request that names a customer in its headers", () => {
  it("lists that customer only", async () => {
    const [alpha = "", beta = ""] = customers
    for (const headers of [
      { "x-end-org-id": alpha },
      { "x-end-org-ref": "alpha" },
      { "x-svc-space-tenantid": alpha },
      { "x-org-id": alpha }
    ]) {
      const { data } = (await ask("GET", "/api/v1/customers", headers)).body
      assert.deepStrictEqual(
        data.map(({ id }: { id: string }) => id),
        [alpha],
        JSON.stringify(headers)
      )
    }
    const named = { "x-end-org-id": alpha }
    const secrets = (await ask("GET", "/api/v1/secrets", named)).body.data
    assert.deepStrictEqual(secrets.map(({ name }: { name: string }) => name).sort(), ["OF_ALPHA", "SHARED"])
    const entries = (await ask("GET", "/api/v1/audit", named)).body.data
    assert.isAbove(entries.length, 0)
    for (const { customerId } of entries) assert.strictEqual(customerId, alpha)
    assert.strictEqual((await ask("GET", `/api/v1/customers/${alpha}`, named)).status, 200)
    for (const [method, target, body] of [
      ["GET", `/api/v1/customers/${beta}`, undefined],
      ["PUT", `/api/v1/customers/${beta}`, { name: "x" }],
      ["DELETE", `/api/v1/customers/${beta}`, undefined],
      ["GET", `/api/v1/secrets?customer_id=${beta}`, undefined],
      ["POST", "/api/v1/secrets", { name: "X", value: "1", customerId: beta }]
    ] as const) {
      const refused = await ask(method, target, named, body)
      assert.deepStrictEqual([refused.status, refused.body.code], [400, "INVALID_HEADER"], `${method} ${target}`)
    }
  })

  it("sets no configuration of another customer", async () => {
    const [alpha = "", beta = ""] = customers
    const set = (scopeId: string) =>
      ask("PUT", "/api/v1/config", { "x-end-org-id": alpha }, { level: "tenant", scopeId, key: "k", value: 1 })
    assert.strictEqual((await set(alpha)).status, 200)
    const refused = await set(beta)
    assert.deepStrictEqual([refused.status, refused.body.code], [400, "INVALID_HEADER"], refused.text)
  })
})
