/**
 * An embed session starts what its widget offers, and nothing else, whatever it sends: workflows of actions with the input of
 * their forms, and workflows of what its customer has installed. It is told status and message.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { CustomerId } from "../../src/domain/Ids.js"
import {
  connect,
  execution,
  publishConnector,
  requestsTo,
  startCalls,
  stopCalls,
  svc,
  workflow
} from "../support/calls.js"
import { keyOfCustomers } from "../support/embed.js"
import {
  madeByOwner,
  newCustomer,
  publishedWidget,
  republish,
  sessionOf,
  startIn as start
} from "../support/embedWidgets.js"
import { eventually } from "../support/eventually.js"

let echo: string
let installed: string
let fails: string
let long: string
let unoffered: string
let widget: string

const form = {
  type: "object",
  properties: {
    days: { type: "integer", minimum: 1 },
    range: { type: "object", properties: { from: { type: "string" } } }
  },
  required: ["days"]
}

beforeAll(async () => {
  await startCalls()
  await publishConnector("start-crm")
  echo = await workflow(
    `return { message: "days: " + ctx.input.days, secret: "canary_output", headers: Object.keys(ctx.request?.headers ?? ctx.headers ?? {}) }`
  )
  installed = await workflow(`
    const found = await svc.connector["start-crm"].get({ id: "1" })
    return { message: JSON.stringify([ctx.installation?.config ?? null, found.path]) }`)
  fails = await workflow(`throw new Error("the system said canary_error")`)
  long = await workflow(`return { message: "done" }`, "standard", { description: "Takes a while" })
  unoffered = await workflow("return { message: 'never' }")
  widget = await publishedWidget(features())
})
afterAll(() => stopCalls())

const features = () => ({
  integrations: [
    { slug: "one", title: "One", connectors: ["start-crm"], workflowIds: [installed] },
    { slug: "two", title: "Two", workflowIds: [installed] }
  ],
  actions: [
    { id: "echo", title: "Echo", workflowId: echo, inputSchema: form },
    { id: "fails", title: "Fails", workflowId: fails },
    { id: "long", title: "Long", workflowId: long }
  ],
  runs: true
})

const install = async (customer: string, integration: string, more: object = {}): Promise<string> =>
  (
    await madeByOwner("POST", "/installations", {
      customerId: customer,
      integration,
      workflowIds: [installed],
      ...more
    })
  ).id

describe("a session starts", () => {
  it("the workflow of an action, and is told status and message only", async () => {
    const customer = await newCustomer()
    const panel = await sessionOf(widget, customer, { userId: "ada" })
    const answer = await start(panel, echo, { input: { days: 3 } })
    assert.strictEqual(answer.status, 200, answer.text)
    const { executionId, ...rest } = answer.body
    assert.deepStrictEqual(rest, { status: "completed", message: "days: 3" })
    assert.notInclude(answer.text, "canary")
    const record = await execution(executionId)
    assert.deepInclude(record, {
      workflowId: echo,
      customerId: customer,
      userId: "ada",
      environment: "live",
      priority: 1,
      installationId: null
    })
    assert.deepInclude(record.trigger, { type: "api", keyId: panel.keyId })
    const entries = await eventually(
      () => madeByOwner("GET", `/audit?actor_id=ada&action=workflow.execute`),
      (found) => found.length > 0
    )
    assert.deepInclude(entries[0].actor, { type: "user", onBehalfOf: panel.keyId })
  })

  it("a workflow that none of its headers reaches", async () => {
    const seen = await workflow("return { message: JSON.stringify(ctx) }")
    const open = await publishedWidget({ actions: [{ id: "seen", title: "Seen", workflowId: seen }] })
    const panel = await sessionOf(open, await newCustomer())
    const answer = await start(panel, seen, {}, { "x-canary": "canary_header", "user-agent": "canary_agent" })
    assert.strictEqual(answer.body.status, "completed", answer.text)
    assert.isString(answer.body.message)
    for (const canary of ["canary_header", "canary_agent", panel.token]) assert.notInclude(answer.text, canary)
    // A key's header does reach it.
    const byKey = await svc.ask("POST", `/api/v1/workflows/${seen}/run`, {
      key: svc.first.key,
      headers: { "x-canary": "canary_header" }
    })
    assert.include(byKey.text, "canary_header")
  })

  it("one that fails, and one that goes on", async () => {
    const panel = await sessionOf(widget, await newCustomer())
    const failed = await start(panel, fails)
    assert.deepInclude(failed.body, { status: "failed", message: null })
    assert.notInclude(failed.text, "canary_error")
    const accepted = await start(panel, long)
    assert.deepStrictEqual([accepted.status, accepted.body.status, accepted.body.message], [202, "pending", null])
    assert.strictEqual(accepted.headers["location"], `/api/v1/executions/${accepted.body.executionId}`)
    const ended = await eventually(
      async () => (await panel.ask("GET", `/executions/${accepted.body.executionId}`)).body.data,
      ({ status }) => status === "completed"
    )
    assert.deepInclude(ended, { error: null })
  })

  it("once for an Idempotency-Key", async () => {
    const panel = await sessionOf(widget, await newCustomer())
    const headers = { "idempotency-key": "press-1" }
    const [first, second] = [
      await start(panel, echo, { input: { days: 1 } }, headers),
      await start(panel, echo, { input: { days: 1 } }, headers)
    ]
    assert.deepStrictEqual(second.body, first.body)
    assert.strictEqual(second.headers["idempotent-replayed"], "true")
    const accepted = await start(panel, long, {}, headers)
    assert.deepStrictEqual((await start(panel, long, {}, headers)).body, accepted.body)
    const other = await start(panel, echo, { input: { days: 2 } }, headers)
    assert.deepStrictEqual([other.status, other.body.code], [422, "IDEMPOTENCY_KEY_REUSED"], other.text)
    assert.lengthOf((await panel.ask("GET", "/executions")).body.data, 2)
  })

  it("an installed workflow with the connections and settings of its installation, whatever its page connects", async () => {
    const customer = await newCustomer()
    const { id: connection } = await connect("start-crm", "k-installed", customer as CustomerId)
    await connect("start-crm", "k-default", customer as CustomerId)
    const id = await install(customer, "one", { connections: { "start-crm": connection }, config: { days: 9 } })
    for (const body of [{}, { connectors: [] }]) {
      const panel = await sessionOf(widget, customer, body)
      const answer = await start(panel, installed)
      assert.strictEqual(answer.body.status, "completed", answer.text)
      assert.deepStrictEqual(JSON.parse(answer.body.message), [{ days: 9 }, "/start-crm/get/1"])
      assert.strictEqual((await execution(answer.body.executionId)).installationId, id)
      assert.strictEqual(requestsTo("/start-crm/get").at(-1)?.headers["x-acme-key"], "k-installed")
    }
  })

  it("each of the workflows of an installation, and none of one that has none", async () => {
    const customer = await newCustomer()
    const panel = await sessionOf(widget, customer)
    await install(customer, "one", { workflowIds: [] })
    assert.strictEqual((await start(panel, installed)).status, 404)
    await install(customer, "two", { workflowIds: [unoffered, installed] })
    for (const id of [unoffered, installed]) assert.strictEqual((await start(panel, id)).status, 200)
  })

  it("nothing with an input that takes too long to check", async () => {
    const properties = { name: { type: "string", pattern: "^(a+)+$" } }
    const actions = [{ id: "slow", title: "Slow", workflowId: echo, inputSchema: { type: "object", properties } }]
    const panel = await sessionOf(await publishedWidget({ actions }), await newCustomer())
    const refused = await start(panel, echo, { input: { name: `${"a".repeat(60)}!` } })
    assert.deepStrictEqual([refused.status, refused.body.code], [422, "INPUT_CONTRACT_VIOLATION"], refused.text)
  })

  it("no installed workflow that is paused, gone, or of several installations", async () => {
    const customer = await newCustomer()
    const panel = await sessionOf(widget, customer)
    assert.strictEqual((await start(panel, installed)).status, 404)
    const one = await install(customer, "one")
    await madeByOwner("PUT", `/installations/${one}`, { status: "paused" })
    const paused = await start(panel, installed)
    assert.deepStrictEqual([paused.status, paused.body.code], [409, "INVALID_STATE"], paused.text)
    assert.include(paused.body.message, "paused")
    const two = await install(customer, "two")
    assert.strictEqual((await start(panel, installed)).status, 200)
    await madeByOwner("PUT", `/installations/${one}`, { status: "active" })
    const several = await start(panel, installed)
    assert.deepStrictEqual([several.status, several.body.code], [409, "INVALID_STATE"], several.text)
    assert.include(several.body.message, "several")
    for (const id of [one, two])
      assert.strictEqual((await svc.ask("DELETE", `/api/v1/installations/${id}`, { key: svc.first.key })).status, 204)
    assert.strictEqual((await start(panel, installed)).status, 404)
    await install(await newCustomer(), "one")
    await install(customer, "inner")
    assert.strictEqual((await start(panel, installed)).status, 404)
  })

  it.each([
    [{ input: {} }, "input"],
    [{ input: { days: 0 } }, "input.days"],
    [{ input: { days: "3" } }, "input.days"],
    [{ input: { days: 3, all: true } }, "input"],
    [{ input: { days: 3, range: { to: 1 } } }, "input.range"],
    [{}, "input"]
  ])("nothing with an input that the form of the action does not have: %j", async (body, place) => {
    const panel = await sessionOf(widget, await newCustomer())
    const refused = await start(panel, echo, body)
    assert.deepStrictEqual([refused.status, refused.body.code], [422, "INPUT_CONTRACT_VIOLATION"], refused.text)
    for (const { path } of refused.body.details) assert.isTrue(String(path).startsWith(place), refused.text)
    assert.deepStrictEqual((await panel.ask("GET", "/executions")).body.data, [])
  })

  it("nothing with an input where there is no form", async () => {
    const panel = await sessionOf(widget, await newCustomer())
    assert.strictEqual((await start(panel, long, { input: { force: true } })).status, 422)
    assert.strictEqual((await start(panel, long, { input: {} })).status, 202)
  })

  it("with the form of any of the actions that start the workflow", async () => {
    const below = { type: "integer", maximum: 0 }
    const both = await publishedWidget({
      actions: [
        { id: "a", title: "A", workflowId: echo, inputSchema: form },
        { id: "b", title: "B", workflowId: echo, inputSchema: { ...form, properties: { days: below } } }
      ]
    })
    const panel = await sessionOf(both, await newCustomer())
    assert.deepStrictEqual(
      [
        (await start(panel, echo, { input: { days: 5 } })).status,
        (await start(panel, echo, { input: { days: -5 } })).status,
        (await start(panel, echo, { input: { days: 0.5 } })).status,
        (await start(panel, echo, { input: { days: -5, range: {} } })).status
      ],
      [200, 200, 422, 422]
    )
  })

  it.each([
    ["environment", "test"],
    ["draft", true],
    ["mock", "full"],
    ["fixtures", []],
    ["metadata", { a: 1 }],
    ["callback", { url: "https://example.com" }],
    ["customerId", "cus_1"],
    ["action", "echo"]
  ])("nothing that says %s", async (member, value) => {
    const panel = await sessionOf(widget, await newCustomer())
    const refused = await start(panel, echo, { input: { days: 1 }, [member]: value })
    assert.deepStrictEqual([refused.status, refused.body.code], [422, "UNKNOWN_FIELD"], refused.text)
  })

  it.each(["x-svc-env", "x-svc-callback-url", "x-user-id", "x-installation-id", "x-svc-connections"])(
    "nothing with the header %s",
    async (header) => {
      const panel = await sessionOf(widget, await newCustomer())
      const refused = await start(panel, echo, { input: { days: 1 } }, { [header]: "https://example.com/x" })
      assert.deepStrictEqual([refused.status, refused.body.code], [400, "INVALID_HEADER"], refused.text)
    }
  )

  it("nothing for another customer", async () => {
    const [customer, other] = [await newCustomer(), await newCustomer()]
    const panel = await sessionOf(widget, customer)
    const body = { input: { days: 1 } }
    const refused = await start(panel, echo, body, { "x-end-org-id": other })
    assert.deepStrictEqual([refused.status, refused.body.code], [403, "CUSTOMER_NOT_REACHABLE"], refused.text)
    assert.strictEqual((await start(panel, echo, body, { "x-end-org-id": customer })).status, 200)
  })

  it("nothing that its widget does not offer, on no path", async () => {
    const customer = await newCustomer()
    const panel = await sessionOf(widget, customer)
    const own = await workflow("return 1", "instant", { customerId: customer })
    for (const id of [unoffered, own, "wf_000000000000", "wf_x"]) {
      const refused = await start(panel, id)
      assert.deepStrictEqual([refused.status, refused.body.code], [404, "NOT_FOUND"], `${id}: ${refused.text}`)
    }
    const executed = await panel.ask("POST", `/workflows/${echo}/execute`, { body: { input: { days: 1 } } })
    assert.strictEqual(executed.status, 403, executed.text)
    const without = await sessionOf(await publishedWidget({}), customer)
    assert.strictEqual((await start(without, echo, { input: { days: 1 } })).status, 404)
  })

  it("the version that is deployed, of the widget that it began with", async () => {
    const customer = await newCustomer()
    const mine = await publishedWidget({ actions: [{ id: "a", title: "A", workflowId: echo, inputSchema: form }] })
    const panel = await sessionOf(mine, customer)
    await republish(mine, { actions: [{ id: "b", title: "B", workflowId: unoffered }] })
    assert.strictEqual((await start(panel, echo, { input: { days: 1 } })).status, 200)
    assert.strictEqual((await start(panel, unoffered)).status, 404)
    const newer = await sessionOf(mine, customer)
    assert.strictEqual((await start(newer, echo, { input: { days: 1 } })).status, 404)
    assert.strictEqual((await start(newer, unoffered)).status, 200)
    await madeByOwner("POST", `/workflows/${unoffered}/archive`)
    const archived = await start(newer, unoffered)
    assert.strictEqual(archived.status, 409, archived.text)
    await madeByOwner("POST", `/workflows/${unoffered}/publish`, {})
  })

  it("nothing without workflows:execute, and of its key's workflows only", async () => {
    const customer = await newCustomer()
    const lacking = await sessionOf(widget, customer, { permissions: { widgets: ["read"] } })
    const refused = await start(lacking, echo, { input: { days: 1 } })
    assert.deepStrictEqual([refused.status, refused.body.details[0].code], [403, "workflows:execute"], refused.text)
    const narrowed = await keyOfCustomers(svc, [customer], { resourceScope: [{ type: "workflow", ids: [long] }] })
    const panel = await sessionOf(widget, customer, {}, narrowed)
    const outside = await start(panel, echo, { input: { days: 1 } })
    assert.deepStrictEqual([outside.status, outside.body.code], [403, "RESOURCE_OUT_OF_SCOPE"], outside.text)
    assert.strictEqual((await start(panel, long)).status, 202)
  })

  it("as many as its plan and its customer allow", async () => {
    const customer = await newCustomer()
    const panel = await sessionOf(widget, customer)
    await madeByOwner("PUT", `/customers/${customer}`, { limits: { events_per_day: 1 } })
    const answers = [await start(panel, echo, { input: { days: 1 } }), await start(panel, echo, { input: { days: 1 } })]
    assert.deepStrictEqual(
      answers.map(({ body, status }) => [status, body.code]),
      [
        [200, undefined],
        [429, "QUOTA_EXCEEDED"]
      ]
    )
  })
})
