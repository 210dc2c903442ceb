/** A repeated run has the inputs of the first one. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"
import { connect, execution, publishConnector, startSharedCalls, stopCalls, svc, workflow } from "../support/calls.js"
import { eventually } from "../support/eventually.js"
import { makeScopedKey } from "../support/keys.js"

beforeAll(() => startSharedCalls())
afterAll(() => stopCalls())

/** The outputs of the run and of its repetition. */
const twice = async (body: string, headers: { readonly [name: string]: string }) => {
  const id = await workflow(body)
  const first = await svc.ask("POST", `/api/v1/workflows/${id}/execute`, {
    key: svc.first.key,
    body: { input: {} },
    headers
  })
  assert.strictEqual(first.status, 200, first.text)
  const executionId = String(first.headers["x-svc-execution-id"])
  await eventually(
    () => execution(executionId),
    (found) => found?.status === "completed"
  )
  const again = await svc.ask("POST", `/api/v1/executions/${executionId}/rerun`, {
    key: svc.first.key,
    body: { mode: "fresh" }
  })
  assert.strictEqual(again.status, 202, again.text)
  const repeated = await eventually(
    () => execution(String(again.body.data.id)),
    (found) => found?.status === "completed"
  )
  return { executionId, first: first.body, repeated: repeated?.output }
}

describe("A run that is repeated from its start", () => {
  const headers = { "x-mine": "yes", "accept-language": "de", "x-note": "a b" }

  it.each([
    ["that made no call", "return ctx.headers"],
    ["that kept a journal", "await svc.state.set('k', 1); return ctx.headers"]
  ])("sees the headers of the first: one %s", async (_, body) => {
    const { first, repeated } = await twice(body, headers)
    assert.deepInclude(first, headers)
    assert.deepStrictEqual(repeated, first)
  })

  it("does not get secret headers, which no record contains", async () => {
    const { executionId, first, repeated } = await twice("return ctx.headers['x-shop-access-token'].length", {
      "x-shop-access-token": "canary-in-a-header"
    })
    assert.deepStrictEqual([first, repeated], ["canary-in-a-header".length, "[redacted]".length])
    const rows = await svc.run(
      Effect.flatMap(WriterSql, (sql) => sql`SELECT record FROM executions WHERE id = ${executionId}`)
    )
    assert.lengthOf(rows, 1)
    assert.notInclude(JSON.stringify(rows), "canary")
  })
})

describe("A run of a draft that is repeated", () => {
  const code = (text: string) => `export default async (ctx) => { return ${JSON.stringify(text)} }`
  const key = () => svc.first.key
  let drafts = 0

  /** A draft that was changed after a run, and the id of the run. */
  const changed = async (journaled: boolean) => {
    const call = journaled ? `await svc.state.set("k", 1);` : ""
    const made = await svc.ask("POST", "/api/v1/workflows", {
      key: key(),
      body: {
        name: `draft_${(drafts += 1)}`,
        form: "code",
        tier: "instant",
        code: `export default async (ctx) => { ${call} return "what ran" }`
      }
    })
    const id = String(made.body.data.id)
    const body = { input: {}, draft: true }
    const first = await svc.ask("POST", `/api/v1/workflows/${id}/execute`, { key: key(), body })
    assert.strictEqual(first.body, "what ran", first.text)
    const put = await svc.ask("PUT", `/api/v1/workflows/${id}`, {
      key: key(),
      body: { code: code("what nobody ran") },
      headers: { "if-match": String(made.headers["etag"] ?? "*") }
    })
    assert.strictEqual(put.status, 200, put.text)
    const executionId = String(first.headers["x-svc-execution-id"])
    await eventually(
      () => execution(executionId),
      (found) => found?.status === "completed"
    )
    return executionId
  }

  it.each([
    ["that made no call", false],
    ["that kept a journal", true]
  ])("takes the code that ran, not the draft as it is now: one %s", async (_, journaled) => {
    const executionId = await changed(journaled)
    const again = await svc.ask("POST", `/api/v1/executions/${executionId}/rerun`, { key: key(), body: {} })
    assert.strictEqual(again.status, 202, again.text)
    const repeated = await eventually(
      () => execution(String(again.body.data.id)),
      (found) => found?.status === "completed"
    )
    assert.strictEqual(repeated?.output, "what ran")
  })

  it("needs the permission to change workflows, as running a draft does", async () => {
    const executionId = await changed(false)
    const operator = await svc.ask("POST", "/api/v1/api-keys", {
      key: key(),
      body: { name: "operator", mode: "live", preset: "operator" }
    })
    const refused = await svc.ask("POST", `/api/v1/executions/${executionId}/rerun`, {
      key: operator.body.data.key,
      body: {}
    })
    assert.strictEqual(refused.status, 403, refused.text)
    assert.include(refused.text, "workflows:update")
  })
})

describe("A key that is restricted to a connector", () => {
  it("neither starts nor repeats a run with a connection to another one", async () => {
    await publishConnector("reached")
    await publishConnector("other")
    const { id } = await connect("other", "credential")
    const target = `/api/v1/workflows/${await workflow("await svc.state.set('k', 1); return 1")}/execute`
    const headers = { "x-end-org-id": svc.first.customerId, "x-svc-connections": id }
    const first = await svc.ask("POST", target, { key: svc.first.key, body: {}, headers })
    assert.strictEqual(first.status, 200, first.text)
    const executionId = String(first.headers["x-svc-execution-id"])
    await eventually(
      () => execution(executionId),
      (found) => found?.status === "completed"
    )
    const rerun = `/api/v1/executions/${executionId}/rerun`
    const { key } = await makeScopedKey(svc, { connector: ["reached"] })
    for (const refused of [
      await svc.ask("POST", target, { key, body: {}, headers }),
      await svc.ask("POST", rerun, { key, body: {} })
    ])
      assert.deepStrictEqual([refused.status, refused.body.code], [403, "RESOURCE_OUT_OF_SCOPE"], refused.text)
    const wider = await makeScopedKey(svc, { connector: ["reached", "other"] })
    assert.strictEqual((await svc.ask("POST", rerun, { key: wider.key, body: {} })).status, 202)
  })
})
