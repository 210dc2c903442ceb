/** Configuration: five levels, the most specific wins, and a run reads what the API shows. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Running, start } from "../support/InProcess.js"

let svc: Running
let key: string
beforeAll(async () => {
  svc = await start({ SVC_PLATFORM_CONFIG: '{"env.REGION":"eu","theme":{"dark":false}}' })
  key = svc.first.key
})
afterAll(() => svc.stop())

const put = (body: object, more: object = {}) => svc.ask("PUT", "/api/v1/config", { key, body, ...more })
const get = async (query: string, by = key) => (await svc.ask("GET", `/api/v1/config?${query}`, { key: by })).body.data
const values = async (query: string) => (await get(query)).map((one: { value: unknown }) => one.value)

describe("a configuration value", () => {
  it("comes from the most specific level, with the values that it overrides", async () => {
    const { customerId, workflowId } = svc.first
    const levels = [
      { level: "saas", scopeId: null },
      { level: "tenant", scopeId: customerId },
      { level: "integration", scopeId: "acme-sync" },
      { level: "flow", scopeId: workflowId }
    ]
    const all = `key=env.REGION&customer_id=${customerId}&integration=acme-sync&workflow_id=${workflowId}`
    const base = { key: "env.REGION", value: "eu", source: { level: "platform", id: null }, overridden: [], version: 0 }
    assert.deepStrictEqual(await get(all), [base])
    const hidden: Array<unknown> = [{ level: "platform", value: "eu" }]
    for (const { level, scopeId } of levels) {
      const answer = await put({ level, scopeId, key: "env.REGION", value: { at: level } })
      const resolved = {
        key: "env.REGION",
        value: { at: level },
        source: { level, id: scopeId },
        overridden: [...hidden],
        version: 1
      }
      assert.deepStrictEqual(await get(all), [resolved])
      assert.strictEqual(answer.status, 200)
      assert.deepInclude(answer.body.data, { value: { at: level }, source: { level, id: scopeId }, version: 1 })
      hidden.unshift({ level, value: { at: level } })
    }
    assert.deepStrictEqual(await values("key=env.REGION"), [{ at: "saas" }])
    const removed = await put({ level: "flow", scopeId: workflowId, key: "env.REGION", value: null })
    assert.deepStrictEqual([removed.status, removed.body.data.value], [200, { at: "saas" }])
    assert.deepStrictEqual(await values(all), [{ at: "integration" }])
    const keys = (await get("")).map((one: { key: string }) => one.key)
    assert.deepStrictEqual(keys, ["env.REGION", "theme"])
  })

  it("of an environment precedes the same level's value for all environments", async () => {
    await put({ level: "saas", key: "limit", value: 1 })
    await put({ level: "saas", key: "limit", value: 2, environment: "test" })
    assert.deepStrictEqual(await values("key=limit"), [1])
    assert.deepStrictEqual(await values("key=limit&environment=test"), [2])
    const unknown = await put({ level: "saas", key: "limit", value: 3, environment: "nowhere" })
    assert.deepStrictEqual([unknown.status, unknown.body.details[0].path], [422, "environment"])
  })

  it("is read by a run as svc.envConfig, in its environment and for its customer", async () => {
    const { customerId } = svc.first
    await put({ level: "saas", key: "env.GREETING", value: "hello" })
    await put({ level: "tenant", scopeId: customerId, key: "env.GREETING", value: "moin" })
    const made = await svc.ask("POST", "/api/v1/workflows", {
      key,
      body: {
        name: "greets",
        form: "code",
        code: "export default async () => [await svc.envConfig.get('GREETING'), await svc.envConfig.get('NONE', 7), await svc.envConfig.get('PLACE')]"
      }
    })
    await put({ level: "flow", scopeId: made.body.data.id, key: "env.PLACE", value: { city: "Kiel" } })
    await svc.ask("POST", `/api/v1/workflows/${made.body.data.id}/publish`, { key, body: {} })
    const run = (headers: { readonly [name: string]: string }) =>
      svc.ask("POST", `/api/v1/workflows/${made.body.data.id}/execute`, {
        key,
        body: { input: {} },
        headers: { authorization: `Bearer ${key}`, ...headers }
      })
    assert.deepStrictEqual((await run({})).body, ["hello", 7, { city: "Kiel" }])
    assert.deepStrictEqual((await run({ "x-org-id": customerId })).body, ["moin", 7, { city: "Kiel" }])
  })

  it("changes only under the version that was read, and is audited without its value", async () => {
    await put({ level: "saas", key: "theme", value: "a" })
    const refused = await put({ level: "saas", key: "theme", value: "b", version: 7 })
    assert.deepStrictEqual([refused.status, refused.body.code], [409, "VERSION_MISMATCH"])
    const changed = await put({ level: "saas", key: "theme", value: "b" }, { headers: { "if-match": '"1"' } })
    assert.deepStrictEqual([changed.status, changed.body.data.version], [200, 2])
    const trail = await svc.ask("GET", "/api/v1/audit?action=config.update&resource_id=saas", { key })
    const [entry] = trail.body.data
    assert.strictEqual(entry.resource.name, "theme")
    assert.deepStrictEqual(entry.changes, [{ path: "value", before: "[redacted]", after: "[redacted]" }])
  })

  it("is refused with the reason if level, scope, key or size is wrong", async () => {
    const wrong: ReadonlyArray<readonly [object, number, string]> = [
      [{ level: "platform", key: "a", value: 1 }, 403, "FORBIDDEN"],
      [{ level: "saas", scopeId: "x", key: "a", value: 1 }, 422, "VALIDATION_FAILED"],
      [{ level: "flow", key: "a", value: 1 }, 422, "VALIDATION_FAILED"],
      [{ level: "flow", scopeId: "wf_000000000000", key: "a", value: 1 }, 404, "NOT_FOUND"],
      [{ level: "tenant", scopeId: "cus_x", key: "a", value: 1 }, 404, "NOT_FOUND"],
      [{ level: "integration", scopeId: "Not A Slug", key: "a", value: 1 }, 422, "VALIDATION_FAILED"],
      [{ level: "saas", key: "1a", value: 1 }, 422, "VALIDATION_FAILED"],
      [{ level: "saas", key: "a", value: "x".repeat(65_537) }, 422, "VALIDATION_FAILED"],
      [{ level: "saas", key: "a" }, 422, "VALIDATION_FAILED"],
      [{ level: "saas", key: "a", value: 1, more: 1 }, 422, "UNKNOWN_FIELD"]
    ]
    for (const [body, status, code] of wrong) {
      const answer = await put(body)
      assert.deepStrictEqual([answer.status, answer.body.code], [status, code], JSON.stringify(body).slice(0, 100))
    }
  })

  it("of another organisation is not seen", async () => {
    const other = await svc.organisation("Other")
    await put({ level: "saas", key: "own", value: "mine" })
    assert.deepStrictEqual(await get("key=own", other.key), [])
    const { customerId, workflowId } = svc.first
    for (const query of [`customer_id=${customerId}`, `workflow_id=${workflowId}`]) {
      assert.strictEqual((await svc.ask("GET", `/api/v1/config?${query}`, { key: other.key })).status, 404)
    }
  })
})
