/** A person sets up integrations in the panel, by keyboard alone: with an account and settings, and changes all of it later. */
import { afterAll, afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import { choose, enter, isFocused, rowOf, use } from "../support/panel/PanelKeys.js"
import { panelWorldOf } from "../support/panel/PanelWorld.js"
import { shopConnector, shopKey, signInByKeyboard, startBoard, startShop } from "../support/panel/SampleConnectors.js"
import {
  askingShop,
  publishWidget,
  publishWorkflow,
  sampleAction,
  sampleIntegration
} from "../support/panel/SampleWidget.js"
import type { ShownPanel } from "../support/panel/ShownPanel.js"
import type { Provider } from "../support/provider.js"

const panels = panelWorldOf()
let shop: Provider
let board: Awaited<ReturnType<typeof startBoard>>
/** It has an integration of the shop, which an action runs; the other two of the shop and the board. */
let widgetId: string
let boards: string

beforeAll(async () => {
  await panels.start()
  shop = await startShop()
  await panels.publish(shopConnector(shop.url))
  board = await startBoard(panels, {})
  const asking = await publishWorkflow(panels, askingShop)
  widgetId = await publishWidget(panels, {
    integrations: [sampleIntegration([asking])],
    actions: [sampleAction(asking)],
    runs: true
  })
  boards = await publishWidget(panels, {
    integrations: [
      sampleIntegration([], { slug: "board-sync", title: "Board sync", connectors: ["board", "shop"] }),
      sampleIntegration([], { slug: "second", title: "Second sync", connectors: [], configSchema: null })
    ]
  })
})
afterEach(panels.check)
afterAll(async () => {
  await panels.stop()
  await Promise.all([shop.close(), board.close()])
})

const withKey = { connector: "shop", authMethod: "key", credential: { apiKey: shopKey } }
const heading = ({ frame }: ShownPanel) => frame.getByRole("heading", { level: 1 })
const inRow = (panel: ShownPanel, title: string, text: string) =>
  rowOf(panel, "Automations", title).getByText(text, { exact: true }).waitFor()
const settings = { days: 14, tag: "ABC", mode: "careful", isDaily: true, window: { from: 6.5 } }
const payloads = async (panel: ShownPanel, type: string) => (await panel.messages(type)).map(({ data }) => data.payload)

const ofCustomer = (id: string) => panels.made("GET", `/installations?customer_id=${id}`)

describe("by keyboard alone, a person", () => {
  it("sets up an integration with a new account, runs an action of it, pauses, changes and removes it", async () => {
    const customer = await panels.customer()
    const panel = await customer.show({ widgetId }, { expects: ["422 (Unprocessable Entity)"] })
    await inRow(panel, "Order sync", "Not set up")
    await use(panel, panel.button("Set up: Order sync"))
    await isFocused(heading(panel))

    // What was entered stays while an account is connected.
    await enter(panel, panel.field("Days"), "90")
    await use(panel, panel.button("Connect a Shop account"))
    await panel.heading("Connect Shop")
    await enter(panel, panel.field("API key"), shopKey)
    await use(panel, panel.button("Connect"))
    await panel.heading("Order sync")
    await panel.shows("Shop is connected.")
    await eventually(
      () => panel.field("Shop account").locator("option:checked").textContent(),
      (text) => text === "Shop"
    )
    assert.strictEqual(await panel.field("Days").inputValue(), "90")

    await use(panel, panel.button("Set up"))
    await panel.shows("This must be 30 or less.")
    await isFocused(panel.field("Days"))
    await panel.shows("Please fill this in.")
    await enter(panel, panel.field("Days"), "14")
    await enter(panel, panel.field("Tag (optional)"), "abc")
    await choose(panel, panel.field("Mode"), "careful")
    await use(panel, panel.field("Each day"), "Space")
    await enter(panel, panel.field("From"), "6.5")
    const before = panel.calls.length
    await use(panel, panel.button("Set up"))
    await panel.shows("This does not look right. Please check it.")
    assert.include(panel.calls.slice(before), "POST /api/v1/installations")
    await isFocused(panel.field("Tag (optional)"))
    assert.deepStrictEqual(await ofCustomer(customer.id), [])
    await enter(panel, panel.field("Tag (optional)"), "ABC")
    await use(panel, panel.button("Set up"))
    await panel.shows("Order sync is set up.")
    await isFocused(heading(panel))
    await inRow(panel, "Order sync", "On")

    const [connection] = await panels.made("GET", `/connections?customer_id=${customer.id}`)
    const [installed] = await ofCustomer(customer.id)
    assert.deepInclude(installed, {
      integration: "order-sync",
      status: "active",
      connections: { shop: connection.id },
      config: settings
    })

    await use(panel, panel.button("Start: Copy orders"))
    await panel.shows("Copy the orders now?")
    await isFocused(heading(panel))
    await use(panel, panel.button("Start"))
    await panel.shows("Please fill this in.")
    await enter(panel, panel.field("Days to copy"), "3")
    await use(panel, panel.button("Start"))
    const ended = rowOf(panel, "Actions", "Copy orders")
    await ended.getByRole("status").getByText("3 days of ada@shop.example").waitFor()
    await isFocused(ended)
    await rowOf(panel, "Activity", "offered_").getByText("Done", { exact: true }).waitFor()

    await use(panel, panel.button("Pause: Order sync"))
    await panel.shows("Order sync is paused.")
    await inRow(panel, "Order sync", "Paused")
    await isFocused(panel.button("Switch on: Order sync"))
    await panel.page.keyboard.press("Enter")
    await panel.shows("Order sync is switched on.")
    await inRow(panel, "Order sync", "On")

    await use(panel, panel.button("Settings: Order sync"))
    await panel.heading("Order sync")
    for (const [label, value] of [
      ["Days", "14"],
      ["Tag (optional)", "ABC"],
      ["Mode", "careful"],
      ["From", "6.5"]
    ] as const)
      assert.strictEqual(await panel.field(label).inputValue(), value, label)
    assert.isTrue(await panel.field("Each day").isChecked())
    await enter(panel, panel.field("Days"), "5")
    await reachAndClear(panel, "Tag (optional)")
    await reachAndClear(panel, "From")
    await use(panel, panel.button("Save"))
    await panel.shows("The settings of Order sync are saved.")
    const [changed] = await ofCustomer(customer.id)
    assert.deepInclude(changed, { status: "active", connections: { shop: connection.id } })
    assert.deepStrictEqual(changed.config, { days: 5, mode: "careful", isDaily: true })

    await use(panel, panel.button("Remove: Order sync"))
    await isFocused(panel.frame.getByText("Remove Order sync? It stops, and its settings are deleted."))
    await use(panel, panel.button("Cancel"))
    await use(panel, panel.button("Remove: Order sync"))
    await use(panel, panel.button("Remove"))
    await panel.shows("Order sync is removed.")
    await inRow(panel, "Order sync", "Not set up")
    await isFocused(rowOf(panel, "Automations", "Order sync"))
    assert.deepStrictEqual(await ofCustomer(customer.id), [])

    const told = { installationId: installed.id, integration: "order-sync" }
    assert.deepStrictEqual(
      await payloads(panel, "svc:installation-updated"),
      ["active", "paused", "active", "active", "uninstalled"].map((status) => ({ ...told, status }))
    )
    const [action, ...others] = await payloads(panel, "svc:action")
    assert.deepInclude(action, { action: "copy", status: "completed" })
    assert.strictEqual((await panels.made("GET", `/executions/${action?.["executionId"]}`)).status, "completed")
    assert.deepStrictEqual(others, [])
  })

  it("sets one up without an account, which is then missing, and signs in to one from its settings", async () => {
    const customer = await panels.customer()
    await customer.connect({ ...withKey, label: "First shop" })
    await customer.connect({ ...withKey, label: "Second shop" })
    const panel = await customer.show({ widgetId: boards })
    await use(panel, panel.button("Set up: Board sync"))
    // Of two it is the person who chooses.
    await panel.field("Shop account").waitFor()
    assert.strictEqual(await panel.field("Shop account").inputValue(), "")
    await choose(panel, panel.field("Shop account"), "Second")
    await choose(panel, panel.field("Mode"), "fast")
    await use(panel, panel.button("Connect a Board account"))
    const window = await panel.opened(() => use(panel, panel.button("Sign in to Board")))
    await panel.heading("Board sync")
    await panel.shows("Sign in to Board in the window that has opened.")
    await signInByKeyboard(window, "grace")
    await eventually(
      () => panel.frame.getByLabel("Board account").locator("option:checked").allTextContents(),
      ([text]) => text === "Board"
    )
    assert.strictEqual(await panel.field("Shop account").locator("option:checked").textContent(), "Second shop")
    assert.strictEqual(await panel.field("Mode").inputValue(), "fast")
    await use(panel, panel.button("Set up"))
    await panel.shows("Board sync is set up.")
    const all: ReadonlyArray<{ readonly id: string; readonly label: string }> = await panels.made(
      "GET",
      `/connections?customer_id=${customer.id}`
    )
    const idOf = (label: string) => all.find((one) => one.label === label)?.id
    const [installed] = await ofCustomer(customer.id)
    assert.deepStrictEqual(installed.connections, { board: idOf("Board"), shop: idOf("Second shop") })
  })

  it("sets one up without an account, which it says is missing until there is one", async () => {
    const customer = await panels.customer()
    const panel = await customer.show({ widgetId })
    await use(panel, panel.button("Set up: Order sync"))
    await choose(panel, panel.field("Mode"), "fast")
    await use(panel, panel.button("Set up"))
    await inRow(panel, "Order sync", "An account is missing")
    assert.deepInclude((await panel.message("svc:installation-updated")).data.payload, { status: "needs_connection" })
    await customer.connect(withKey)
    await use(panel, panel.button("Settings: Order sync"))
    await eventually(
      () => panel.field("Shop account").locator("option:checked").textContent(),
      (text) => text === "Shop"
    )
    await use(panel, panel.button("Save"))
    await inRow(panel, "Order sync", "On")
  })
})

const reachAndClear = async (panel: ShownPanel, label: string) => {
  await enter(panel, panel.field(label), "x")
  await panel.page.keyboard.press("Backspace")
}

describe("an integration", () => {
  it("that another person has changed meanwhile is not overwritten, and shown as it is", async () => {
    const customer = await panels.customer()
    const body = { customerId: customer.id, integration: "order-sync", config: { days: 2, mode: "fast" } }
    const { id } = await panels.made("POST", "/installations", body)
    const panel = await customer.show({ widgetId }, { expects: ["409 (Conflict)"] })
    await panel.button("Settings: Order sync").click()
    await panel.field("Days").waitFor()
    assert.strictEqual(await panel.field("Days").inputValue(), "2")
    await panels.made("PUT", `/installations/${id}`, { config: { days: 3, mode: "fast" } })
    await panel.field("Days").fill("4")
    await panel.button("Save").click()
    await panel.frame.getByRole("alert").getByText("It was changed meanwhile. Look at it again.").waitFor()
    assert.deepStrictEqual((await ofCustomer(customer.id))[0].config, { days: 3, mode: "fast" })
    await panel.button("Try again").click()
    await eventually(
      () => panel.field("Days").inputValue(),
      (value) => value === "3"
    )
    await panel.button("Save").click()
    await panel.shows("The settings of Order sync are saved.")
  })

  it("keeps the account of another person, whom the session does not see", async () => {
    const customer = await panels.customer()
    const shared = await customer.connect({ ...withKey, label: "Of Grace", userId: "grace" })
    await panels.made("POST", "/installations", {
      customerId: customer.id,
      integration: "order-sync",
      config: { days: 2, mode: "fast" },
      connections: { shop: shared }
    })
    const panel = await customer.show({ widgetId, userId: "ada" })
    await panel.button("Settings: Order sync").click()
    await eventually(
      () => panel.field("Shop account").locator("option:checked").allTextContents(),
      ([text]) => text === "Another person’s account"
    )
    await panel.field("Days").fill("9")
    await panel.button("Save").click()
    await panel.shows("The settings of Order sync are saved.")
    assert.deepInclude((await ofCustomer(customer.id))[0], {
      connections: { shop: shared },
      config: { days: 9, mode: "fast", isDaily: false }
    })
  })

  it("beyond what the customer's plan allows is refused without names of plans", async () => {
    const customer = await panels.customer()
    await panels.made("PUT", `/customers/${customer.id}`, { limits: { active_integrations: 1 } })
    await panels.made("POST", "/installations", { customerId: customer.id, integration: "elsewhere" })
    const panel = await customer.show({ widgetId: boards }, { expects: ["403 (Forbidden)"] })
    await panel.button("Set up: Second sync").click()
    await panel.button("Set up").click()
    const refusal = panel.frame.getByRole("alert")
    await refusal.getByText("No more can be added at the moment. Please ask the provider of this page.").waitFor()
    assert.notMatch((await panel.frame.locator("body").textContent()) ?? "", /plan|starter|limit/i)
    await panel.button("Cancel").click()
    await inRow(panel, "Second sync", "Not set up")
  })
})
