/** What a widget offers can be used by all, is text whatever it contains, and is shown to those only who may use it. */
import { afterAll, afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import { rowOf } from "../support/panel/PanelKeys.js"
import { panelWorldOf } from "../support/panel/PanelWorld.js"
import { shopConnector, shopKey, startShop } from "../support/panel/SampleConnectors.js"
import {
  publishWidget,
  publishWorkflow,
  sampleAction,
  sampleIntegration,
  sampleSettings
} from "../support/panel/SampleWidget.js"
import { assertUsable } from "../support/panel/Usable.js"
import type { Provider } from "../support/provider.js"

const panels = panelWorldOf()
let shop: Provider
let widgetId: string
let greeting: string
let asking: string

const hostile = `<img src=x onerror="globalThis.ran=1"><script>globalThis.ran=1</script>`
const wide = "W".repeat(120)

beforeAll(async () => {
  await panels.start()
  shop = await startShop()
  await panels.publish(shopConnector(shop.url))
  greeting = await publishWorkflow(panels, `return { message: ctx.input.text ?? "Hello" }`, { name: "daily_report" })
  asking = await publishWorkflow(panels, "return await svc.connector.shop.me({})")
  const failing = await publishWorkflow(panels, `throw new Error("The shop is closed.")`)
  widgetId = await publishWidget(panels, {
    integrations: [
      sampleIntegration([asking]),
      sampleIntegration([], { slug: "paused", title: "Paused sync", connectors: [], configSchema: null }),
      sampleIntegration([], { slug: "on", title: "Stock sync", connectors: [], configSchema: null }),
      sampleIntegration([], { slug: "none", title: "Invoice sync" })
    ],
    actions: [
      sampleAction(greeting),
      sampleAction(greeting, { id: "greet", title: "Greet", confirm: null, inputSchema: null }),
      sampleAction(failing, { id: "fail", title: "Fetch prices", confirm: null, inputSchema: null })
    ],
    runs: true
  })
})
afterEach(panels.check)
afterAll(async () => {
  await panels.stop()
  await shop.close()
})

/** A customer with an integration in each state. */
const customerOfAll = async () => {
  const customer = await panels.customer()
  await customer.connect({ connector: "shop", authMethod: "key", credential: { apiKey: shopKey } })
  const install = (body: object) => panels.made("POST", "/installations", { customerId: customer.id, ...body })
  await install({ integration: "order-sync", workflowIds: [asking], config: { days: 3, mode: "fast" } })
  await install({ integration: "paused", status: "paused" })
  await install({ integration: "on" })
  return customer
}

describe.each([
  { width: 320, scheme: "light" },
  { width: 320, scheme: "dark" },
  { width: 900, scheme: "light" },
  { width: 900, scheme: "dark" }
] as const)("in a frame of $width pixels, $scheme, can be used", (options) => {
  it("integrations, actions and runs in each state, the question, and the forms with mistakes", async () => {
    const panel = await (await customerOfAll()).show({ widgetId }, options)
    for (const text of ["An account is missing", "Paused", "On", "Not set up", "Nothing has run yet."])
      await panel.frame.getByText(text, { exact: true }).first().waitFor()
    await panel.button("Start: Greet").click()
    await panel.button("Start: Fetch prices").click()
    await rowOf(panel, "Actions", "Greet").getByText("Hello").waitFor()
    await rowOf(panel, "Actions", "Fetch prices").getByText("This did not work.").waitFor()
    await rowOf(panel, "Activity", "The shop is closed.").waitFor()
    await panel.button("Remove: Stock sync").click()
    await panel.shows("Remove Stock sync?")
    await assertUsable(panel, "home")

    await panel.button("Set up: Invoice sync").click()
    await panel.field("Days").fill("99")
    await panel.field("From").fill("late")
    await panel.button("Set up").click()
    await panel.shows("This must be 30 or less.")
    await panel.shows("This must be a number.")
    await assertUsable(panel, "settings with mistakes")
    await panel.button("Cancel").click()

    await panel.button("Start: Copy orders").click()
    await panel.button("Start").click()
    await panel.shows("Please fill this in.")
    await assertUsable(panel, "an action with a mistake")
  })
})

describe("texts of companies and workflows", () => {
  it("run nothing, and names of properties are names", async () => {
    const customer = await panels.customer()
    const text = { type: "string", title: hostile, description: hostile, default: hostile }
    const properties = { text, constructor: { type: "string" }, wide: { enum: [wide, hostile], default: hostile } }
    const form = { type: "object", properties }
    const widget = await publishWidget(panels, {
      integrations: [
        sampleIntegration([], { slug: "odd", title: hostile, description: wide, connectors: [], configSchema: form })
      ],
      actions: [
        sampleAction(greeting, { title: `${hostile} `, confirm: hostile, inputSchema: form }),
        sampleAction(greeting, { id: "wide", title: wide, confirm: null, inputSchema: null })
      ],
      runs: true
    })
    const panel = await customer.show({ widgetId: widget }, { width: 320 })
    await panel.button(`Set up: ${hostile}`).click()
    await panel.heading(hostile)
    await assertUsable(panel, "odd settings")
    await panel.field("constructor (optional)").fill("prototype")
    await panel.button("Set up").click()
    await panel.shows(`${hostile} is set up.`)
    const [{ config }] = await panels.made("GET", `/installations?customer_id=${customer.id}`)
    assert.deepStrictEqual(config, { constructor: "prototype", text: hostile, wide: hostile })
    await panel.button(`Start: ${hostile} `).click()
    await panel.frame.locator("form p").getByText(hostile, { exact: true }).waitFor()
    await assertUsable(panel, "an odd action")
    await panel.button("Start").click()
    await panel.frame.getByRole("status").getByText(hostile, { exact: true }).waitFor()
    await assertUsable(panel, "an odd message")
    for (const page of [panel.frame, panel.page]) assert.isUndefined(await page.evaluate("globalThis.ran"))
    assert.strictEqual(await panel.frame.locator("img, script:not([type=module])").count(), 0)
  })
})

describe("a session that may not", () => {
  const all = {
    connectors: ["read"],
    connections: ["create", "read", "update", "delete"],
    workflows: ["read", "execute"],
    executions: ["read"],
    widgets: ["read"]
  }
  const headings = ["Your accounts", "Automations", "Actions", "Connect an account", "Activity"]
  it.each([
    { group: "widgets", rights: [], hidden: "Automations", path: "/installations" },
    { group: "workflows", rights: ["read"], hidden: "Actions", path: "/run" },
    { group: "executions", rights: [], hidden: "Activity", path: "/executions" },
    { group: "connections", rights: ["create", "update", "delete"], hidden: "Your accounts", path: "/connections" },
    { group: "connections", rights: ["read", "update"], hidden: "Connect an account", path: "/connectors" },
    { group: "connectors", rights: [], hidden: "Connect an account", path: "/connectors" }
  ])("have $group beyond $rights is not shown $hidden", async ({ group, hidden, path, rights }) => {
    const customer = await customerOfAll()
    const panel = await customer.show({ widgetId, permissions: { ...all, [group]: rights } })
    for (const name of headings.filter((one) => one !== hidden))
      await panel.frame.getByRole("heading", { level: 2, name, exact: true }).waitFor()
    await panel.frame.getByText("Loading…").first().waitFor({ state: "detached" })
    assert.strictEqual(await panel.frame.getByRole("heading", { name: hidden, exact: true }).count(), 0)
    assert.isFalse(
      panel.calls.some((one) => one.endsWith(path)),
      panel.calls.join("\n")
    )
    // What cannot be connected has no button for it, also in settings.
    if (group === "widgets") return
    await panel.button("Settings: Order sync").click()
    await panel.field("Days").waitFor()
    const isConnectable = group !== "connections" && group !== "connectors"
    assert.strictEqual(await panel.button(/^Connect/).count(), isConnectable ? 1 : 0)
    assert.strictEqual(await panel.frame.getByRole("alert").count(), 0)
  })
})

describe("in German", () => {
  it("the panel says all of it", async () => {
    const customer = await customerOfAll()
    const panel = await customer.show({ widgetId, locale: "de" })
    for (const name of ["Automatisierungen", "Aktionen", "Verlauf"])
      await panel.frame.getByRole("heading", { level: 2, name, exact: true }).waitFor()
    for (const text of ["Ein Konto fehlt", "Pausiert", "Eingeschaltet", "Nicht eingerichtet"])
      await panel.frame.getByText(text, { exact: true }).waitFor()
    await panel.button("Starten: Fetch prices").click()
    await rowOf(panel, "Aktionen", "Fetch prices").getByText("Das hat nicht funktioniert.").waitFor()
    await rowOf(panel, "Verlauf", "Fehlgeschlagen").waitFor()
    const day = new Intl.DateTimeFormat("de", { dateStyle: "medium" }).format(new Date())
    await rowOf(panel, "Verlauf", day).waitFor()
    await panel.button("Einschalten: Paused sync").click()
    await panel.shows("Paused sync ist eingeschaltet.")
    await panel.button("Einrichten: Invoice sync").click()
    await panel.field("Days").fill("0")
    await panel.button("Einrichten").click()
    await panel.shows("Der Wert muss mindestens 1 sein.")
    await panel.frame.getByText("(freiwillig)").first().waitFor()
    const properties = Object.values(sampleSettings.properties).map(({ title }) => title)
    const words = (await panel.frame.locator("label, legend, button").allTextContents())
      .map((one) => one.replace(" (freiwillig)", ""))
      .filter((one) => !properties.some((title) => title === one) && one !== "From" && one !== "Until")
    assert.deepStrictEqual(words, ["Konto bei Shop", "Weiteres Konto bei Shop verbinden", "Einrichten", "Abbrechen"])
  })
})
