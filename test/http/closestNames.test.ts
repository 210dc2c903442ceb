/** A mistyped name is answered with the closest one, and no message has the words of a library. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

const asked = async (method: string, path: string, json?: unknown) => {
  const answer = await svc.ask(method, path, { key: svc.first.key, ...(json === undefined ? {} : { body: json }) })
  return { status: answer.status, text: answer.text }
}

it("an unknown path is answered with the closest one", async () => {
  for (const [path, meant] of [
    ["/api/v1/workflow", "/api/v1/workflows"],
    ["/api/v1/workflows/wf_000000000000/publsh", "/api/v1/workflows/{wid}/publish"],
    ["/workflows", "/api/v1/workflows"],
    ["/api/v2/workflows", "/api/v1/workflows"]
  ] as const) {
    const { status, text } = await asked("POST", path, {})
    assert.strictEqual(status, 404, text)
    assert.include(text, `there is no such path. Did you mean ${meant}?`)
  }
  assert.notInclude((await asked("GET", "/api/v1/frobnications")).text, "Did you mean")
})

it("a mistyped connector is answered with the closest slug", async () => {
  const body = { connector: "shopfy", customerId: "ref:nobody", authMethod: "none" }
  const made = await asked("POST", "/api/v1/customers", { name: "Acme", externalRef: "nobody" })
  assert.strictEqual(made.status, 201, made.text)
  assert.include((await asked("POST", "/api/v1/connections", body)).text, "Did you mean shopify?")
})

it("a syntax error says its line and column, a slug what it may contain, a contract what it expects", async () => {
  const workflow = { name: "broken", form: "code", tier: "instant" }
  const broken = await asked("POST", "/api/v1/workflows", {
    ...workflow,
    code: "export default async (ctx) => {\n  const a = ;\n}"
  })
  assert.strictEqual(broken.status, 422, broken.text)
  assert.match(broken.text, /line 2, column 1\d: Unexpected token/, broken.text)
  const slug = await asked("POST", "/api/v1/customers", { name: "Acme", slug: "Not A Slug" })
  assert.strictEqual(slug.status, 422)
  assert.include(slug.text, "must be lower-case letters, digits and hyphens")
  const bound = await asked("POST", "/api/v1/workflows", {
    ...workflow,
    code: "export default async (ctx) => ctx.input",
    inputContract: { type: "object", required: ["orderId"], properties: { orderId: { type: "string" } } }
  })
  assert.strictEqual(bound.status, 201, bound.text)
  const { id } = JSON.parse(bound.text).data
  assert.strictEqual((await asked("POST", `/api/v1/workflows/${id}/publish`, {})).status, 200)
  const missing = await asked("POST", `/api/v1/workflows/${id}/execute`, { input: {} })
  assert.include(missing.text, "must have the member orderId")
  const wrong = await asked("POST", `/api/v1/workflows/${id}/execute`, { input: { orderId: 7 } })
  assert.include(wrong.text, "must be a text")
  assert.notMatch(missing.text + wrong.text, /Instance/)
})
