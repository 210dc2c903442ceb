/** Steps of flows that read and write common records: checked when they are saved, run, traced, mocked, tested and resumed. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { eventually } from "../support/eventually.js"
import { startShared } from "../support/SharedService.js"
import { connectTo, plainCrm, type PlainCrm, publishDefinition, startPlainCrm } from "../support/unified/PlainCrm.js"

let svc: Running
let crm: PlainCrm
let names = 0
beforeAll(async () => {
  svc = await startShared()
  crm = await startPlainCrm()
  await publishDefinition(svc, plainCrm("flow-crm"))
  await connectTo(svc, "flow-crm", crm.url, svc.first.customerId, { label: "main" })
  for (let index = 0; index < 5; index += 1) crm.add()
})
afterAll(async () => {
  await svc.stop()
  await crm.stop()
})

const ask = (method: string, target: string, body: unknown) =>
  svc.ask(method, `/api/v1${target}`, { key: svc.first.key, body })
const save = (steps: ReadonlyArray<object>) =>
  ask("POST", "/workflows", { name: `record_steps_${(names += 1)}`, form: "steps", spec: { steps } })
const publish = async (steps: ReadonlyArray<object>): Promise<string> => {
  const made = await save(steps)
  assert.strictEqual(made.status, 201, made.text)
  assert.deepStrictEqual(made.body.data.warnings, [])
  const published = await ask("POST", `/workflows/${made.body.data.id}/publish`, {})
  assert.strictEqual(published.status, 200, published.text)
  return made.body.data.id
}
const execute = (id: string, body: object = {}) =>
  svc.ask("POST", `/api/v1/workflows/${id}/execute`, {
    key: svc.first.key,
    headers: { "x-end-org-id": svc.first.customerId },
    body: { input: {}, ...body }
  })
const stepsOf = async (id: string | undefined) =>
  (await svc.ask("GET", `/api/v1/executions/${id}/steps`, { key: svc.first.key })).body.data
const step = (name: string, action: string, input: object = {}, more: object = {}) => ({
  name,
  type: "action",
  connector: "unified",
  action,
  input,
  ...more
})

describe("A step of common records", () => {
  const lines = [
    step("find", "crm.contact.list", { pageSize: 3 }),
    step("make", "crm.contact.create", { title: "Countess" }, { mapping: { lastName: "{{input.name}}" } }),
    step("turn", "crm.contact.update", { id: "{{steps.make.output.data.id}}", title: "Analyst" }),
    step("read", "crm.contact.get", { id: "{{steps.turn.output.data.id}}" }, { connection: "main" }),
    step("drop", "crm.contact.delete", { id: "{{steps.read.output.data.id}}" }, { timeoutMs: 5_000 })
  ]

  it("lists, creates, changes, reads and deletes, and its row of the trace names connector and action", async () => {
    const id = await publish([
      ...lines,
      {
        name: "sum",
        type: "action",
        mapping: { found: "{{steps.find.output.data[2].id}}", title: "{{steps.read.output.data.title}}" },
        dependsOn: ["drop"]
      }
    ])
    const ran = await execute(id, { input: { name: "Byron" } })
    assert.deepStrictEqual(ran.body, { found: "3", title: "Analyst" }, ran.text)
    assert.strictEqual(crm.contacts.size, 5)
    const steps = await stepsOf(ran.headers["x-svc-execution-id"])
    assert.deepStrictEqual(
      steps.map((one: Record<string, unknown>) => [one["path"], one["connector"], one["action"], one["status"]]),
      [
        ["find", "flow-crm", "list", "completed"],
        ["make", "flow-crm", "create", "completed"],
        ["turn", "flow-crm", "update", "completed"],
        ["read", "flow-crm", "get", "completed"],
        ["drop", "flow-crm", "remove", "completed"],
        ["sum", null, null, "completed"]
      ]
    )
  })

  it("gives fixtures with which a mocked run calls no provider", async () => {
    const id = await publish(lines)
    const ran = await execute(id, { input: { name: "Lovelace" } })
    const { body } = await svc.ask("GET", `/api/v1/executions/${ran.headers["x-svc-execution-id"]}/fixtures`, {
      key: svc.first.key
    })
    const fixtures = body.data.fixtures ?? body.data
    assert.deepStrictEqual(
      fixtures.map(({ action, connector }: { action: string; connector: string }) => [connector, action]),
      lines.map(({ action, connector }) => [connector, action])
    )
    const calls = crm.requests.length
    const mocked = await execute(id, { input: { name: "Lovelace" }, mock: "full", fixtures })
    assert.strictEqual(mocked.status, 200, mocked.text)
    const none = await execute(id, { input: { name: "Lovelace" }, mock: "full" })
    assert.strictEqual(none.body.error.code, "NO_MOCK", none.text)
    assert.strictEqual(crm.requests.length, calls)
  })

  it("is tested alone with fixtures", async () => {
    const { body } = await save(lines)
    const calls = crm.requests.length
    const tested = await ask("POST", `/workflows/${body.data.id}/steps/read/test`, {
      steps: { turn: { data: { id: "7" } } },
      fixtures: [{ connector: "unified", action: "crm.contact.get", input: { id: "7" }, output: { data: { id: "7" } } }]
    })
    assert.deepStrictEqual(tested.body.data.output, { data: { id: "7" } }, tested.text)
    assert.strictEqual(crm.requests.length, calls)
  })

  it("that completed is not run again where a run is resumed", async () => {
    const id = await publish([
      step("make", "crm.contact.create", { lastName: "Once" }),
      step("fail", "crm.contact.get", { id: "{{input.id}}" }, { dependsOn: ["make"] })
    ])
    const failed = await execute(id, { input: { id: "999" } })
    assert.strictEqual(failed.body.error.code, "NOT_FOUND", failed.text)
    const made = [...crm.contacts.values()].filter(({ last }) => last === "Once")
    assert.lengthOf(made, 1)
    crm.contacts.set(999, { ...(made[0] ?? assert.fail("none")), id: 999, last: "Found" })
    const again = await ask("POST", `/executions/${failed.headers["x-svc-execution-id"]}/rerun`, { mode: "resume" })
    const ended = await eventually(
      async () => (await svc.ask("GET", `/api/v1/executions/${again.body.data.id}`, { key: svc.first.key })).body.data,
      ({ status }) => status !== "pending" && status !== "running"
    )
    assert.strictEqual(ended.output?.data?.lastName, "Found", JSON.stringify(ended))
    assert.lengthOf(
      [...crm.contacts.values()].filter(({ last }) => last === "Once"),
      1
    )
    crm.contacts.delete(999)
  })

  it("tries again as its retry says, but no creation that may have been made", async () => {
    const retry = { maxAttempts: 3, initialMs: 1 }
    const id = await publish([step("read", "crm.contact.get", { id: "1" }, { retry })])
    crm.replies.push({ status: 500 }, { status: 500 })
    assert.strictEqual((await execute(id)).status, 200)
    const creates = await publish([step("make", "crm.contact.create", { lastName: "Lost" }, { retry })])
    crm.replies.push("lost")
    const ran = await execute(creates)
    assert.strictEqual(ran.body.error.category, "transient", ran.text)
    assert.lengthOf(
      [...crm.contacts.values()].filter(({ last }) => last === "Lost"),
      1
    )
  })

  it("is polled by a wait, where it only reads", async () => {
    const poll = (action: string, input: object = {}) => ({
      name: "until",
      type: "wait",
      config: {
        condition: { path: "poll.data.title", op: "eq", value: "done" },
        poll: { connector: "unified", action, input }
      }
    })
    assert.strictEqual((await save([poll("crm.contact.get", { id: "1" })])).status, 201)
    const refused = await save([poll("crm.contact.delete", { id: "1" })])
    assert.deepInclude(refused.body.details[0], { path: "spec.steps[0].config.poll.action", code: "INVALID_VALUE" })
  })

  it.each([
    [step("a", "crm.contcat.list"), "action", "UNKNOWN_NAME", /Did you mean crm\.contact/],
    [step("a", "sales.contact.list"), "action", "UNKNOWN_NAME", /there is no sales\.contact/],
    [step("a", "crm.contact.lst"), "action", "UNKNOWN_NAME", /with one of list, get/],
    [step("a", "crm.note.list"), "action", "UNKNOWN_NAME", /crm\.note has create/],
    [step("a", "crm.contact.get"), "input.id", "REQUIRED", /needs it, in input or mapping/],
    [step("a", "crm.contact.create", { title: "x" }), "input.lastName", "REQUIRED", /lastName, firstName/],
    [step("a", "crm.contact.list", { page_size: 3 }), "input.page_size", "UNKNOWN_NAME", /Did you mean pageSize/],
    [step("a", "crm.contact.create", { lastName: "x", id: "1" }), "input.id", "UNKNOWN_NAME", /only the provider sets/],
    [
      step("a", "crm.contact.update", { id: "1" }, { mapping: { "adresses[0].city": "x" } }),
      'mapping["adresses[0].city"]',
      "UNKNOWN_NAME",
      /Did you mean addresses/
    ],
    [step("a", "crm.contact.list", {}, { actionVersion: 2 }), "actionVersion", "NOT_ALLOWED", /no versions/],
    [step("a", "ordre.list", {}, { connector: "cdm" }), "action", "UNKNOWN_NAME", /Did you mean order/],
    [step("a", "crm.contact.list", {}, { connector: "cdm" }), "action", "UNKNOWN_NAME", /write <entity>/],
    [step("a", "knowledge-base.article.get"), "input.id", "REQUIRED", /needs it/]
  ])("%j is refused at %s", async (one, path, code, message) => {
    const refused = await save([one])
    assert.strictEqual(refused.status, 422, refused.text)
    const [detail] = refused.body.details
    assert.deepInclude(detail, { path: `spec.steps[0].${path}`, code })
    assert.match(detail.message, message)
  })

  it("is part of the code that a flow is exported as, whose calls the check knows", async () => {
    const { body } = await save([
      step("a", "knowledge-base.article.list"),
      step("b", "order.list", {}, { connector: "cdm" })
    ])
    const code = await svc.ask("GET", `/api/v1/workflows/${body.data.id}/export?format=code`, { key: svc.first.key })
    assert.include(code.text, "svc.unified[")
    assert.include(code.text, "svc.cdm.order.list(")
    assert.deepStrictEqual(body.data.warnings, [])
  })
})
