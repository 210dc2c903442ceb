/** A workflow leaves the service as a file, and comes back as another workflow with the same steps and nothing else. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import type { Answer, Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

const ask = (method: string, target: string, body?: unknown): Promise<Answer> =>
  svc.ask(method, `/api/v1${target}`, { key: svc.first.key, ...(body === undefined ? {} : { body }) })

const spec = {
  trigger: { type: "cron", cron: "0 3 * * *" },
  steps: [
    { name: "double", type: "action", config: { code: "export default async (input) => ({\n  n: `${input.n}`\n})\n" } },
    {
      name: "each",
      type: "loop",
      config: { over: "{{input.list}}", steps: [{ name: "one", type: "action", input: { at: "{{index}}" } }] }
    }
  ],
  response: { success: { body: { n: "{{steps.double.output.n}}" } } }
}

const made = async (body: object): Promise<Answer["body"]> => {
  const answer = await ask("POST", "/workflows", body)
  assert.strictEqual(answer.status, 201, answer.text)
  return answer.body.data
}
const orders = () => made({ name: `orders_${++names}`, form: "steps", description: "Sends orders", tags: ["a"], spec })
let names = 0

const exported = async (id: string, query: string): Promise<Answer> => {
  const file = await ask("GET", `/workflows/${id}/export?${query}`)
  assert.strictEqual(file.status, 200, file.text)
  return file
}

describe("a file of a flow", () => {
  it.each([
    ["flow.json", "application/json"],
    ["flow.js", "text/javascript"]
  ])("makes the same steps again, and nothing else of the workflow: %s", async (format, type) => {
    const before = await orders()
    const file = await exported(before.id, `format=${format}`)
    assert.strictEqual(file.headers["content-type"], `${type}; charset=utf-8`)
    assert.strictEqual(file.headers["content-disposition"], `attachment; filename="${before.name}.${format}"`)
    for (const secret of [before.id, svc.first.organisationId, svc.first.spaceId, svc.first.key, "http"])
      assert.notInclude(file.text, secret)
    const copy = await made({ name: `copy_${before.name}`, import: { format, source: file.text } })
    assert.deepStrictEqual(copy.draft.spec, spec)
    assert.deepInclude(copy, {
      form: "steps",
      status: "draft",
      description: "Sends orders",
      tags: [],
      publishedVersion: null
    })
    assert.notStrictEqual(copy.id, before.id)
    const again = await exported(copy.id, `format=${format}`)
    assert.strictEqual(again.text.replace(copy.name, before.name), file.text)
    const { triggers } = (await ask("GET", `/workflows/${copy.id}?include=triggers`)).body.data
    assert.deepStrictEqual(triggers, [])
    const named = await made({ import: { format, source: file.text.replace(before.name, `named_${before.name}`) } })
    assert.strictEqual(named.name, `named_${before.name}`)
  })

  it("has a schema, which the service serves to everyone", async () => {
    const served = await svc.ask("GET", "/api/v1/flow.schema.json")
    assert.strictEqual(served.text, readFileSync("docs/flow.schema.json", "utf8"))
  })

  it("is of the draft, or of a version", async () => {
    const { id } = await orders()
    await ask("POST", `/workflows/${id}/publish`, {})
    const steps = [{ name: "later", type: "action" }]
    assert.strictEqual((await ask("PUT", `/workflows/${id}`, { spec: { steps } })).status, 200)
    assert.include((await exported(id, "")).text, "later")
    assert.include((await exported(id, "format=flow.json&version=1")).text, "double")
    assert.strictEqual((await ask("GET", `/workflows/${id}/export?format=flow.json&version=2`)).status, 404)
  })

  it("is code as well, which is saved as a workflow in code form and gives the same", async () => {
    const { id, name } = await orders()
    const file = await exported(id, "format=code")
    assert.strictEqual(file.headers["content-disposition"], `attachment; filename="${name}.js"`)
    const copy = await made({ name: `code_${name}`, form: "code", code: file.text })
    const run = async (workflow: string) => {
      const ran = await ask("POST", `/workflows/${workflow}/execute`, { draft: true, input: { list: [1, 2] } })
      return [ran.status, ran.body]
    }
    assert.deepStrictEqual(await run(copy.id), await run(id))
    assert.strictEqual((await exported(copy.id, "")).text, file.text)
    const refused = await ask("GET", `/workflows/${copy.id}/export?format=flow.js`)
    assert.deepStrictEqual([refused.status, refused.body.details[0].path], [422, "format"])
  })
})

describe("an import", () => {
  it("answers mistakes with line and column, or with the paths of the steps", async () => {
    const importing = (source: string, more: object = {}) =>
      ask("POST", "/workflows", { name: "wrong", import: { format: "flow.js", source }, ...more })
    const mistakes = async (asked: Promise<Answer>) => {
      const { body, status, text } = await asked
      assert.strictEqual(status, 422, text)
      return body.details.map(({ code, column, line, path }: { [name: string]: unknown }) => [path, code, line, column])
    }
    assert.deepStrictEqual(await mistakes(importing("export default {\n  steps: [}")), [
      ["import.source", "SYNTAX_ERROR", 2, 11]
    ])
    assert.deepStrictEqual(await mistakes(importing("export default { steps: [{ name: 'a', type: 'b' }] }")), [
      ["spec.steps[0].type", "UNKNOWN_NAME", undefined, undefined]
    ])
    assert.deepStrictEqual(await mistakes(importing("for (;;);\nexport default {}")), [
      ["import.source", "TOO_COSTLY", undefined, undefined]
    ])
    assert.deepStrictEqual(await mistakes(importing("export default { steps: [] }", { name: undefined })), [
      ["name", "REQUIRED", undefined, undefined]
    ])
    assert.deepStrictEqual(await mistakes(importing("export default { steps: [] }", { spec })), [
      ["import", "NOT_ALLOWED", undefined, undefined]
    ])
    assert.deepStrictEqual(await mistakes(importing("export default { steps: [] }", { form: "code" })), [
      ["form", "NOT_ALLOWED", undefined, undefined]
    ])
    assert.deepStrictEqual(await mistakes(ask("POST", "/workflows", {})), [
      ["name", "REQUIRED", undefined, undefined],
      ["form", "REQUIRED", undefined, undefined]
    ])
  })

  it("makes a flow of a tenant on surface B", async () => {
    const source = 'export default flow("of_a_tenant").step("a", { type: "action" })'
    const answer = await svc.ask("POST", `/api/v1/tenants/${svc.first.customerId}/workflows`, {
      headers: { "x-svc-api-key": svc.first.key, "x-svc-space-id": svc.first.spaceId },
      body: { import: { format: "flow.js", source } }
    })
    assert.strictEqual(answer.status, 201, answer.text)
    assert.deepInclude(answer.body.data, { name: "of_a_tenant", customerId: svc.first.customerId })
  })
})
