/**
 * What an embed session sees of workflows and runs: those that it may start, and those of its customer if its widget shows runs,
 * without code, and without what runs were given, did and returned.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { publishConnector, run, startCalls, stopCalls, svc, workflow } from "../support/calls.js"
import { madeByOwner, newCustomer, publishedWidget, sessionOf, startIn as start } from "../support/embedWidgets.js"

let echo: string
let installed: string
let fails: string
let long: string
let unoffered: string
let widget: string

beforeAll(async () => {
  await startCalls()
  await publishConnector("start-crm")
  echo = await workflow(`return { message: "days: " + ctx.input.days, secret: "canary_output" }`)
  installed = await workflow(`return await svc.connector["start-crm"].get({ id: "canary_code" })`)
  fails = await workflow(`throw new Error("the system said canary_error")`)
  long = await workflow(`return { message: "done" }`, "standard", { description: "Takes a while" })
  unoffered = await workflow("return { message: 'never' }")
  widget = await publishedWidget({
    integrations: [{ slug: "one", title: "One", connectors: ["start-crm"], workflowIds: [installed] }],
    actions: [echo, fails, long].map((workflowId, at) => ({ id: `a-${at}`, title: "Run", workflowId })),
    runs: true
  })
})
afterAll(() => stopCalls())

describe("a session sees", () => {
  it("the workflows that it may start, by id, name, description and status", async () => {
    const customer = await newCustomer()
    const panel = await sessionOf(widget, customer)
    const ids = async () =>
      (await panel.ask("GET", "/workflows?page_size=200")).body.data.map(({ id }: { readonly id: string }) => id)
    assert.sameMembers(await ids(), [echo, fails, long])
    await madeByOwner("POST", "/installations", {
      customerId: customer,
      integration: "one",
      workflowIds: [installed]
    })
    assert.sameMembers(await ids(), [echo, fails, long, installed])
    const one = await panel.ask("GET", `/workflows/${long}?include=diagram,published,triggers`)
    const { name } = await madeByOwner("GET", `/workflows/${long}`)
    assert.deepStrictEqual(one.body.data, { id: long, name, description: "Takes a while", status: "published" })
    assert.strictEqual((await panel.ask("GET", `/workflows/${unoffered}`)).status, 404)
    const listed = await panel.ask("GET", "/workflows")
    assert.notInclude(listed.text, "canary")
    for (const row of listed.body.data) assert.hasAllKeys(row, ["id", "name", "description", "status"])
    const searched = await panel.ask("GET", "/workflows?q=canary_output")
    assert.deepStrictEqual(searched.body.data, [])
  })

  it("the runs of its customer in the default environment, without what they were given, did and returned", async () => {
    const [customer, other] = [await newCustomer(), await newCustomer()]
    const panel = await sessionOf(widget, customer)
    const { executionId: id } = (await start(panel, fails)).body
    const byKey = await run(echo, { days: "canary_input" }, customer)
    assert.strictEqual(byKey.status, 200)
    const elsewhere = await run(echo, {}, other)
    const inTest = await svc.ask("POST", `/api/v1/workflows/${echo}/run`, {
      key: svc.first.key,
      body: { environment: "test", draft: true },
      headers: { "x-end-org-id": customer }
    })
    assert.strictEqual(inTest.status, 200, inTest.text)
    const listed = await panel.ask("GET", "/executions")
    assert.sameMembers(
      listed.body.data.map((one: { readonly id: string }) => one.id),
      [id, byKey.headers["x-svc-execution-id"]]
    )
    const { name } = await madeByOwner("GET", `/workflows/${fails}`)
    const shown = (await panel.ask("GET", `/executions/${id}`)).body.data
    assert.deepStrictEqual(listed.body.data.at(-1), shown)
    assert.hasAllKeys(shown, ["id", "name", "status", "error", "createdAt", "startedAt", "finishedAt"])
    assert.deepInclude(shown, { name, status: "failed", error: { message: "the system said canary_error" } })
    for (const canary of ["canary_input", "canary_output"]) assert.notInclude(listed.text, canary)
    assert.lengthOf((await panel.ask("GET", "/executions?status=failed")).body.data, 1)
    for (const answer of [elsewhere, inTest])
      assert.strictEqual((await panel.ask("GET", `/executions/${answer.headers["x-svc-execution-id"]}`)).status, 404)
    // What it does not see it cannot search for either.
    const searched = await panel.ask("GET", "/executions?q=canary_input")
    assert.lengthOf(searched.body.data, 2)
    for (const part of ["steps", "logs", "fixtures", "diagram.svg"])
      assert.strictEqual((await panel.ask("GET", `/executions/${id}/${part}`)).status, 403)
  })

  it("no run where its widget shows none, and none of other customers", async () => {
    const customer = await newCustomer()
    const closed = await publishedWidget({ actions: [{ id: "fails", title: "Fails", workflowId: fails }] })
    const panel = await sessionOf(closed, customer)
    const { executionId: id } = (await start(panel, fails)).body
    for (const target of ["/executions", `/executions/${id}`]) {
      const refused = await panel.ask("GET", target)
      assert.deepStrictEqual([refused.status, refused.body.code], [403, "FORBIDDEN"], refused.text)
    }
    const other = await sessionOf(widget, await newCustomer())
    assert.strictEqual((await other.ask("GET", `/executions/${id}`)).status, 404)
    assert.deepStrictEqual((await other.ask("GET", "/executions")).body.data, [])
  })
})
