/** A key that is narrowed to particular workflows or environments: which configuration it reads and sets. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
let key: string
let other: string
beforeAll(async () => {
  svc = await startShared()
  key = svc.first.key
  const body = { name: "other", form: "code", code: "export default async () => 1" }
  other = (await svc.ask("POST", "/api/v1/workflows", { key, body })).body.data.id
})
afterAll(() => svc.stop())

const keyFor = async (resourceScope: unknown): Promise<string> => {
  const body = { name: "narrow", mode: "live", preset: "full_access", resourceScope }
  return (await svc.ask("POST", "/api/v1/api-keys", { key, body })).body.data.key
}
const set = async (by: string, body: object) => {
  const answer = await svc.ask("PUT", "/api/v1/config", { key: by, body: { key: "limit", value: 1, ...body } })
  return [answer.status, answer.body.code]
}
const get = async (by: string, query: string) => {
  const answer = await svc.ask("GET", `/api/v1/config?key=limit&${query}`, { key: by })
  return [answer.status, answer.body.code]
}
const done = [200, undefined]
const outside = [403, "RESOURCE_OUT_OF_SCOPE"]

describe("a key that is narrowed to particular workflows", () => {
  it("reads and sets values of these, and sets none that apply to all", async () => {
    const { customerId, workflowId } = svc.first
    const narrow = await keyFor([{ type: "workflow", ids: [workflowId] }])
    assert.deepStrictEqual(await set(narrow, { level: "flow", scopeId: workflowId }), done)
    assert.deepStrictEqual(await get(narrow, `workflow_id=${workflowId}&customer_id=${customerId}`), done)
    assert.deepStrictEqual(await get(narrow, ""), done)
    assert.deepStrictEqual(await set(narrow, { level: "flow", scopeId: other }), outside)
    assert.deepStrictEqual(await get(narrow, `workflow_id=${other}`), outside)
    for (const place of [
      { level: "saas" },
      { level: "tenant", scopeId: customerId },
      { level: "integration", scopeId: "acme-sync" }
    ])
      assert.deepStrictEqual(await set(narrow, place), outside, place.level)
    assert.deepStrictEqual(await set(key, { level: "flow", scopeId: other }), done)
  })
})

describe("a key that is narrowed to particular environments", () => {
  it("reads and sets values of these; one for all environments it only reads", async () => {
    const narrow = await keyFor([{ type: "environment", ids: ["test"] }])
    assert.deepStrictEqual(await set(key, { level: "saas", value: "all" }), done)
    assert.deepStrictEqual(await set(narrow, { level: "saas", environment: "test" }), done)
    assert.deepStrictEqual(await set(narrow, { level: "saas", environment: "live" }), outside)
    assert.deepStrictEqual(await set(narrow, { level: "saas" }), outside)
    assert.deepStrictEqual(await set(narrow, { level: "saas", value: null }), outside)
    assert.deepStrictEqual(await get(narrow, "environment=test"), done)
    assert.deepStrictEqual(await get(narrow, "environment=live"), outside)
    // Without a name the environment is the organisation's default, live.
    assert.deepStrictEqual(await get(narrow, ""), outside)
  })
})
