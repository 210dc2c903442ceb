/** A change that was answered is visible in the next request to the same node. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
let key: string
beforeAll(async () => {
  svc = await startShared()
  key = svc.first.key
})
afterAll(() => svc.stop())

const code = (version: number) => `export default async function () { return ${version} }`

describe("A change that was answered", () => {
  it("of a workflow is in the next run, each of thirty times", async () => {
    const made = await svc.ask("POST", "/api/v1/workflows", {
      key,
      body: { name: "fresh", form: "code", tier: "instant", code: code(0) }
    })
    const at = `/api/v1/workflows/${made.body.data.id}`
    assert.strictEqual((await svc.ask("POST", `${at}/execute`, { key, body: { input: {} } })).status, 409)
    for (let version = 1; version <= 30; version++) {
      assert.strictEqual((await svc.ask("PUT", at, { key, body: { code: code(version) } })).status, 200)
      assert.strictEqual((await svc.ask("POST", `${at}/publish`, { key, body: {} })).status, 200)
      assert.strictEqual((await svc.ask("POST", `${at}/execute`, { key, body: { input: {} } })).body, version)
    }
    await svc.ask("PUT", at, { key, body: { enabled: false } })
    const refused = await svc.ask("POST", `${at}/execute`, { key, body: { input: {} } })
    assert.deepStrictEqual([refused.status, refused.body.code], [409, "INVALID_STATE"])
  })

  it("of a key applies at once: a revoked one is refused", async () => {
    for (let n = 0; n < 10; n++) {
      const made = (await svc.ask("POST", "/api/v1/api-keys", { key, body: { name: `k${n}`, mode: "live" } })).body.data
      assert.strictEqual((await svc.ask("GET", "/api/v1/workflows", { key: made.key })).status, 200)
      assert.strictEqual((await svc.ask("DELETE", `/api/v1/api-keys/${made.id}`, { key })).status, 200)
      assert.strictEqual((await svc.ask("GET", "/api/v1/workflows", { key: made.key })).status, 401)
    }
  })
})
