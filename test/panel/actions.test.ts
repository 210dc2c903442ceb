/** A person starts what a widget offers: what became of it is said, whatever is lost on the way, and nothing starts twice. */
import { afterAll, afterEach, assert, beforeAll, beforeEach, describe, it } from "@effect/vitest"
import type { ServerResponse } from "node:http"
import { eventually } from "../support/eventually.js"
import { rowOf, use } from "../support/panel/PanelKeys.js"
import { type PanelCustomer, panelWorldOf } from "../support/panel/PanelWorld.js"
import { shopConnector, startShop } from "../support/panel/SampleConnectors.js"
import { publishWidget, publishWorkflow, sampleAction, sampleIntegration } from "../support/panel/SampleWidget.js"
import type { ShownPanel } from "../support/panel/ShownPanel.js"
import { startProvider, type Provider } from "../support/provider.js"

const panels = panelWorldOf()
let shop: Provider
/** What runs wait for; each answer is held until `release`. */
let gate: Provider
let held: ReadonlyArray<ServerResponse> = []
let widgetId: string
/** The same without a list of runs. */
let silent: string
let customer: PanelCustomer

const release = () => {
  for (const response of held) response.end("{}")
  held = []
}

beforeAll(async () => {
  await panels.start()
  shop = await startShop()
  await panels.publish(shopConnector(shop.url))
  gate = await startProvider((_, response) => void (held = [...held, response]))
  const [quick, slow, failing, idle] = await Promise.all([
    publishWorkflow(panels, `return { message: "Hello" }`),
    publishWorkflow(panels, `await fetch("${gate.url}/slow"); return { message: "late" }`, { tier: "standard" }),
    publishWorkflow(panels, `throw new Error("The shop is closed.")`, { tier: "standard" }),
    publishWorkflow(panels, "return 1")
  ])
  const plain = { confirm: null, inputSchema: null }
  const features = {
    integrations: [sampleIntegration([idle], { slug: "idle-sync", title: "Idle sync", configSchema: null })],
    actions: [
      sampleAction(quick, { id: "greet", title: "Greet", ...plain }),
      sampleAction(slow, { id: "slow", title: "Slow one", ...plain }),
      sampleAction(failing, { id: "fail", title: "Failing one", ...plain }),
      sampleAction(idle, { id: "idle", title: "Idle one", ...plain }),
      // A name that each object has.
      sampleAction(quick, { id: "constructor", title: "Odd one", ...plain })
    ]
  }
  widgetId = await publishWidget(panels, { ...features, runs: true })
  silent = await publishWidget(panels, { ...features, runs: false })
})
beforeEach(async () => {
  customer = await panels.customer()
})
afterEach(panels.check)
afterAll(async () => {
  release()
  await panels.stop()
  await Promise.all([shop.close(), gate.close()])
})

/** Counts the pauses between questions that are over. */
const countPauses = `{
  globalThis.pauses = 0
  const start = setTimeout
  globalThis.setTimeout = (run, millis, ...more) =>
    start(() => {
      run()
      if (millis >= 1500) pauses += 1
    }, millis, ...more)
}`
const outcome = (panel: ShownPanel, title: string) => rowOf(panel, "Actions", title).getByRole("status")
const said = (panel: ShownPanel, title: string, text: string) =>
  outcome(panel, title).getByText(text, { exact: true }).waitFor()
const activity = (panel: ShownPanel, text: string) => rowOf(panel, "Activity", text)
const runsOf = (id: string): Promise<ReadonlyArray<{ readonly id: string }>> =>
  panels.made("GET", `/executions?customer_id=${id}`)
const told = async (panel: ShownPanel) =>
  (await panel.messages("svc:action")).map(({ data }) => [data.payload["action"], data.payload["status"]])

describe("an action", () => {
  it("without a question and a form starts at once, and says what the workflow says", async () => {
    const panel = await customer.show({ widgetId })
    await panel.shows("Nothing has run yet.")
    await use(panel, panel.button("Start: Greet"))
    await said(panel, "Greet", "Hello")
    await activity(panel, "Done").waitFor()
    await use(panel, panel.button("Start: Odd one"))
    await said(panel, "Odd one", "Hello")
    await activity(panel, "Done").nth(1).waitFor()
    assert.deepStrictEqual(await told(panel), [
      ["greet", "completed"],
      ["constructor", "completed"]
    ])
  })

  it("that goes on says so until its end, also while something else is shown", async () => {
    const panel = await customer.show({ widgetId })
    await panel.button("Start: Slow one").click()
    await said(panel, "Slow one", "Running…")
    const start = panel.button("Start: Slow one")
    assert.strictEqual(await start.getAttribute("aria-disabled"), "true")
    // By the element, not by its place: what is shown above it may move it meanwhile.
    await start.dispatchEvent("click")
    await eventually(
      async () => held.length,
      (count) => count === 1
    )
    await panel.button("Set up: Idle sync").click()
    await panel.heading("Idle sync")
    const question = panel.calls.filter((one) => one.startsWith("GET /api/v1/executions/")).length
    await eventually(
      async () => panel.calls.filter((one) => one.startsWith("GET /api/v1/executions/")).length,
      (count) => count > question
    )
    release()
    await eventually(
      () => told(panel),
      (all) => all.length === 2
    )
    await panel.button("Cancel").click()
    await said(panel, "Slow one", "Done")
    assert.strictEqual(await start.getAttribute("aria-disabled"), "false")
    const [first, last] = await panel.messages("svc:action")
    assert.deepStrictEqual(await told(panel), [
      ["slow", "pending"],
      ["slow", "completed"]
    ])
    assert.strictEqual(first?.data.payload["executionId"], last?.data.payload["executionId"])
    assert.lengthOf(await runsOf(customer.id), 1)
  })

  it("that goes on and throws says why, there and in the list", async () => {
    const panel = await customer.show({ widgetId })
    await panel.button("Start: Failing one").click()
    await said(panel, "Failing one", "The shop is closed.")
    const row = activity(panel, "The shop is closed.")
    await row.getByText("Failed", { exact: true }).waitFor()
    assert.deepStrictEqual((await told(panel)).at(-1), ["fail", "failed"])
  })

  it("that goes on says that it was started where no runs are shown", async () => {
    const panel = await customer.show({ widgetId: silent })
    await panel.button("Start: Slow one").click()
    await said(panel, "Slow one", "Started")
    await eventually(
      async () => held.length,
      (count) => count === 1
    )
    release()
    assert.strictEqual(await panel.button("Start: Slow one").getAttribute("aria-disabled"), "false")
    assert.strictEqual(await panel.frame.getByRole("heading", { name: "Activity" }).count(), 0)
    assert.isFalse(panel.calls.some((one) => one.includes("/executions")))
  })

  it("is followed again when the session goes on with another token", async () => {
    const panel = await customer.show({ widgetId }, { expects: ["401 (Unauthorized)"], before: countPauses })
    await panel.button("Start: Slow one").click()
    await said(panel, "Slow one", "Running…")
    await eventually(
      async () => held.length,
      (count) => count === 1
    )
    await panels.made("DELETE", `/embed/sessions/${panel.session.sessionId}`)
    await panel.shows("This session has ended")
    // It would ask again by now.
    const pauses = await panel.frame.evaluate("pauses")
    await eventually(
      () => panel.frame.evaluate("pauses"),
      (count) => Number(count) > Number(pauses)
    )
    release()
    await panel.post("svc:token", { token: (await customer.mint({ widgetId })).token })
    await said(panel, "Slow one", "Done")
    assert.deepStrictEqual((await told(panel)).at(-1), ["slow", "completed"])
  })

  it("whose answer was lost starts once, also if it is pressed again", async () => {
    const panel = await customer.show({ widgetId }, { expects: ["net::ERR_FAILED"] })
    let lost = 0
    const keys: Array<string | undefined> = []
    await panel.context.route("**/api/v1/workflows/*/run", async (route) => {
      keys.push(route.request().headers()["idempotency-key"])
      if (lost > 0) return route.continue()
      lost += 1
      // The service has done it: the answer alone is lost.
      await route.fetch()
      return route.abort()
    })
    await panel.button("Start: Greet").click()
    await said(panel, "Greet", "The service was not reached. Are you online?")
    await panel.button("Start: Greet").click()
    await said(panel, "Greet", "Hello")
    await panel.button("Start: Greet").click()
    await eventually(
      () => told(panel),
      (all) => all.length === 2
    )
    const [first, second, third] = keys
    assert.match(first ?? "", /^[0-9a-f]{32}$/)
    assert.strictEqual(second, first)
    assert.notStrictEqual(third, first)
    await eventually(
      () => runsOf(customer.id),
      (all) => all.length >= 2
    )
    assert.lengthOf(await runsOf(customer.id), 2)
  })

  it("of a paused integration is refused in words", async () => {
    const { id } = await panels.made("POST", "/installations", {
      customerId: customer.id,
      integration: "idle-sync",
      workflowIds: [(await panels.made("GET", `/widgets/${widgetId}`)).features.actions[3].workflowId],
      status: "paused"
    })
    const panel = await customer.show({ widgetId }, { expects: ["409 (Conflict)"] })
    await panel.button("Start: Idle one").click()
    await outcome(panel, "Idle one").getByText("This cannot start now: its automation is paused").waitFor()
    await panel.button("Switch on: Idle sync").click()
    await panel.shows("Idle sync is switched on.")
    await panel.button("Start: Idle one").click()
    await said(panel, "Idle one", "Done")
    assert.strictEqual((await panels.made("GET", `/installations/${id}`)).status, "active")
  })
})

describe("the list of runs", () => {
  it("has more pages, and is read again when it is asked to be", async () => {
    const mint = await customer.mint({ widgetId })
    const { workflowId } = (await panels.made("GET", `/widgets/${widgetId}`)).features.actions[0]
    const headers = { authorization: `Bearer ${mint.token}` }
    const run = () => panels.world.api().call("POST", `/api/v1/workflows/${workflowId}/run`, { input: {} }, headers)
    for (let n = 0; n < 21; n++) assert.strictEqual((await run()).status, 200)
    await eventually(
      () => runsOf(customer.id),
      (all) => all.length === 21
    )
    const panel = await customer.show({ widgetId })
    const rows = activity(panel, "Done")
    await rows.nth(19).waitFor()
    assert.strictEqual(await rows.count(), 20)
    await panel.button("Show more").click()
    await rows.nth(20).waitFor()
    const before = panel.calls.length
    await panel.button("Refresh").click()
    await rows.nth(20).waitFor({ state: "detached" })
    assert.deepStrictEqual(panel.calls.slice(before), ["GET /api/v1/executions"])
  })
})
