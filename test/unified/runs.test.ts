/** Records of common models in workflows: the same as by the API, journaled, mocked, and refused where the starter may not. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { connectTo, plainCrm, type PlainCrm, publishDefinition, startPlainCrm } from "../support/unified/PlainCrm.js"

let svc: Running
let crm: PlainCrm
let names = 0
beforeAll(async () => {
  svc = await startShared()
  crm = await startPlainCrm()
  await publishDefinition(svc, plainCrm("run-crm"))
  await connectTo(svc, "run-crm", crm.url)
  for (let index = 0; index < 60; index += 1) crm.add()
})
afterAll(async () => {
  await svc.stop()
  await crm.stop()
})

const workflow = async (code: string): Promise<string> => {
  const body = { name: `records_${(names += 1)}`, form: "code", code: `export default async (ctx) => { ${code} }` }
  const made = await svc.ask("POST", "/api/v1/workflows", { key: svc.first.key, body })
  assert.strictEqual(made.status, 201, made.text)
  assert.deepStrictEqual(made.body.data.warnings, [])
  await svc.ask("POST", `/api/v1/workflows/${made.body.data.id}/publish`, { key: svc.first.key, body: {} })
  return made.body.data.id
}
const run = async (code: string, more: object = {}, key = svc.first.key) =>
  svc.ask("POST", `/api/v1/workflows/${await workflow(code)}/execute`, {
    key,
    headers: { "x-end-org-id": svc.first.customerId },
    body: { input: {}, ...more }
  })

describe("svc.unified in a workflow", () => {
  it("answers what the API answers", async () => {
    const api = await svc.ask("GET", "/api/v1/unified/crm/contact?page_size=3", {
      key: svc.first.key,
      headers: { "x-end-org-id": svc.first.customerId }
    })
    const answer = await run("return await svc.unified.crm.contact.list({ pageSize: 3 })")
    assert.strictEqual(answer.status, 200, answer.text)
    assert.deepStrictEqual(answer.body.data, api.body.data)
    assert.deepInclude(answer.body.meta, { category: "crm", entity: "contact", provider: "run-crm" })
  })

  it("goes through all pages, creates, reads, changes and deletes", async () => {
    const answer = await run(`
      const contact = svc.unified.crm.contact
      const all = await contact.all({ pageSize: 25 })
      let pages = 0
      for await (const page of contact.pages({ pageSize: 40 })) pages += 1
      const made = await contact.create({ lastName: "Byron", title: "Countess" })
      const read = await contact.get(made.data.id)
      const changed = await contact.update(made.data.id, { title: "Analyst" }, { ifMatch: read.meta.version })
      const gone = await contact.delete(made.data.id)
      const missing = await contact.get({ id: made.data.id }).catch((error) => error.code)
      return { count: all.length, pages, title: changed.data.title, gone, missing }
    `)
    assert.deepStrictEqual(answer.body, { count: 60, pages: 2, title: "Analyst", gone: null, missing: "NOT_FOUND" })
  })

  it("is answered by fixtures in a mocked run, and calls no provider", async () => {
    const calls = crm.requests.length
    const fixtures = [{ connector: "unified", action: "crm.contact.list", output: { data: [{ id: "made up" }] } }]
    const answer = await run("return (await svc.unified.crm.contact.list({})).data[0].id", { mock: "full", fixtures })
    assert.strictEqual(answer.body, "made up")
    const none = await run("return await svc.unified.crm.contact.get('1').catch((error) => error.code)", {
      mock: "full"
    })
    assert.strictEqual(none.body, "NO_MOCK")
    assert.strictEqual(crm.requests.length, calls)
  })

  it("names the connector and the action in the trace, and gives fixtures that a mocked run takes", async () => {
    const ran = await run("return (await svc.unified.crm.contact.list({ pageSize: 1 })).data.length")
    const id = ran.headers["x-svc-execution-id"] ?? ""
    const { body } = await svc.ask("GET", `/api/v1/executions/${id}?include=steps`, { key: svc.first.key })
    const steps = await svc.ask("GET", `/api/v1/executions/${id}/steps`, { key: svc.first.key })
    assert.strictEqual(body.data.status, "completed")
    assert.deepInclude(steps.body.data[0], { name: "unified.crm.contact.list#1", connector: "run-crm", action: "list" })
    const fixtures = await svc.ask("GET", `/api/v1/executions/${id}/fixtures`, { key: svc.first.key })
    const [fixture] = fixtures.body.data.fixtures ?? fixtures.body.data
    assert.deepInclude(fixture, { connector: "unified", action: "crm.contact.list" })
    const mocked = await run("return (await svc.unified.crm.contact.list({ pageSize: 1 })).data.length", {
      mock: "full",
      fixtures: [fixture]
    })
    assert.strictEqual(mocked.body, 1)
  })

  it.each([
    ["svc.unified.crm.contcat.list({})", "INVALID_ARGUMENTS", /Did you mean crm\.contact/],
    ["svc.unified.crm.contact.lst({})", "INVALID_ARGUMENTS", /with one of list, get/],
    ["svc.unified.crm.contact.list({ pageSize: 0 })", "INVALID_ARGUMENTS", /pageSize must be/],
    ["svc.unified.crm.contact.create({ lastNam: 'x' })", "VALIDATION_FAILED", /lastNam/],
    ["svc.unified.crm.note.list({})", "UNSUPPORTED_OPERATION", /has no list/],
    ["svc.unified.documents.document.list({})", "CONNECTION_REQUIRED", /no connection/],
    ["svc.cdm.order.list({})", "CONNECTION_REQUIRED", /no connection/],
    ["svc.cdm.ordre.list({})", "INVALID_ARGUMENTS", /Did you mean order/]
  ])("%s fails with %s, and says what to do", async (call, code, message) => {
    const answer = await run(`return await ${call}.catch((error) => ({ code: error.code, message: error.message }))`)
    assert.strictEqual(answer.body.code, code, answer.text)
    assert.match(answer.body.message, message)
  })

  it("is refused in runs of a caller who lacks the permission", async () => {
    const made = await svc.ask("POST", "/api/v1/api-keys", {
      key: svc.first.key,
      body: { name: "no records", mode: "live", preset: "custom", permissions: { workflows: ["execute", "read"] } }
    })
    assert.strictEqual(made.status, 201, made.text)
    const answer = await run(
      "return await svc.unified.crm.contact.list({}).catch((error) => error.code)",
      {},
      made.body.data.key
    )
    assert.strictEqual(answer.body, "FORBIDDEN", answer.text)
  })

  it("does not create again what may have been created, unless it is asked to", async () => {
    crm.replies.push("lost")
    const answer = await run(`
      const record = { lastName: "Twice" }
      const first = await svc.unified.crm.contact.create(record, { idempotencyKey: "k" }).catch((error) => error.category)
      const second = await svc.unified.crm.contact.create(record, { idempotencyKey: "k" }).catch((error) => error.code)
      const third = await svc.unified.crm.contact.create(record, { idempotencyKey: "k", repeat: true })
      return { first, second, third: third.data.lastName }
    `)
    assert.deepStrictEqual(answer.body, { first: "transient", second: "UNCERTAIN_WRITE", third: "Twice" })
    assert.lengthOf(
      [...crm.contacts.values()].filter(({ last }) => last === "Twice"),
      2
    )
  })
})
