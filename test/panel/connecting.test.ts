/**
 * A customer's person connects accounts in the page of the company, by keyboard alone and without third-party cookies: by a
 * form, and by signing in at a certified OpenID provider; connects one again, renames it and disconnects it.
 */
import { afterAll, afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Locator } from "playwright-core"
import { hasFocus, reachByTab } from "../support/console/Keyboard.js"
import { eventually } from "../support/eventually.js"
import { createTestServer } from "../support/httpServer.js"
import { panelWorldOf } from "../support/panel/PanelWorld.js"
import { shopConnector, shopKey, signInByKeyboard, startBoard, startShop } from "../support/panel/SampleConnectors.js"
import type { ShownPanel } from "../support/panel/ShownPanel.js"
import type { Provider } from "../support/provider.js"

const panels = panelWorldOf()
let shop: Provider
let board: Awaited<ReturnType<typeof startBoard>>

beforeAll(async () => {
  await panels.start()
  shop = await startShop()
  await panels.publish(shopConnector(shop.url))
  board = await startBoard(panels, {})
})
afterEach(panels.check)
afterAll(async () => {
  await panels.stop()
  await Promise.all([shop.close(), board.close()])
})

const use = async ({ page }: ShownPanel, control: Locator, key = "Enter") => {
  await reachByTab(page, control)
  await page.keyboard.press(key)
}
const enter = async ({ page }: ShownPanel, control: Locator, text: string) => {
  await reachByTab(page, control)
  await page.keyboard.press("Control+a")
  await page.keyboard.type(text)
}
const isFocused = (control: Locator) => eventually(() => hasFocus(control), Boolean)

const withKey = { connector: "shop", authMethod: "key", credential: { apiKey: shopKey } }

describe("by keyboard alone, without third-party cookies, a person", () => {
  it("connects an account by a form, which says what is wrong with it", async () => {
    const customer = await panels.customer()
    const panel = await customer.show({}, { expects: ["422 (Unprocessable Entity)"] })
    await panel.shows("No account is connected yet.")
    await use(panel, panel.button("Connect Shop"))
    await panel.heading("Connect Shop")
    await isFocused(panel.frame.getByRole("heading", { level: 1 }))

    await use(panel, panel.button("Connect"))
    await panel.shows("Please fill this in.")
    await isFocused(panel.field("API key"))
    await enter(panel, panel.field("API key"), "a wrong key")
    await use(panel, panel.button("Connect"), "Space")
    await panel.shows("Shop did not accept this.")
    await isFocused(panel.field("API key"))
    assert.strictEqual(await panel.field("API key").getAttribute("aria-invalid"), "true")
    const { origin, data } = await panel.message("svc:connection-error")
    assert.strictEqual(origin, panels.world.api().dev.baseUrl)
    assert.deepInclude(data.payload, { connectionId: null, connector: "shop" })

    await enter(panel, panel.field("API key"), shopKey)
    await use(panel, panel.button("Connect"))
    await panel.account("ada@shop.example").getByText("Connected").waitFor()
    await panel.shows("Shop is connected.")
    await isFocused(panel.frame.getByRole("heading", { level: 1, name: "Integrations" }))
    const created = await panel.message("svc:connection-created")
    assert.strictEqual(created.data.sessionId, panel.session.sessionId)
    const [connection] = await panels.made("GET", `/connections?customer_id=${customer.id}`)
    assert.deepStrictEqual(created.data.payload, { connectionId: connection.id, connector: "shop" })
  })

  it("connects an account by signing in at a provider, in a window that the key press opens and the panel closes", async () => {
    const customer = await panels.customer()
    const panel = await customer.show({ userId: "u-1", userName: "Ada" })
    await use(panel, panel.button("Connect Board"))
    await panel.heading("Connect Board")
    const window = await panel.opened(() => use(panel, panel.button("Sign in to Board")))
    await panel.shows("Sign in to Board in the window that has opened.")
    const closed = window.waitForEvent("close")
    await signInByKeyboard(window, "grace")
    await closed
    await panel.account("Board").getByText("Connected").waitFor()
    const { data } = await panel.message("svc:connection-created")
    const [connection] = await panels.made("GET", `/connections?customer_id=${customer.id}`)
    assert.deepStrictEqual(data.payload, { connectionId: connection.id, connector: "board" })
    assert.deepInclude(connection, { userId: "u-1", scope: "user", status: "active" })
    assert.lengthOf(await panel.frame.locator(".attempts").all(), 0)
    assert.lengthOf(await panel.messages("svc:ready"), 1)
  })

  it("connects an expired account again, under the same id", async () => {
    const customer = await panels.customer()
    const panel = await customer.show()
    await use(panel, panel.button("Connect Board"))
    await signInByKeyboard(await panel.opened(() => use(panel, panel.button("Sign in to Board"))), "ada")
    const { data } = await panel.message("svc:connection-created")
    await panels.sql("UPDATE connections SET status = 'expired', revision = revision + 1 WHERE id = $1", [
      data.payload["connectionId"]
    ])

    const again = await customer.show()
    await again.account("Board").getByText("Sign in again").waitFor()
    await use(again, again.button(/^Reconnect/))
    await again.heading(/^Reconnect/)
    const window = await again.opened(() => use(again, again.button("Sign in to Board")))
    await signInByKeyboard(window, "ada")
    await again.account("Board").getByText("Connected").waitFor()
    const created = await again.message("svc:connection-created")
    assert.strictEqual(created.data.payload["connectionId"], data.payload["connectionId"])
    assert.lengthOf(await panels.made("GET", `/connections?customer_id=${customer.id}`), 1)
  })

  it("connects an account whose key no longer works again by the form, with what the provider says", async () => {
    const customer = await panels.customer()
    const id = await customer.connect(withKey)
    await panels.sql("UPDATE connections SET status = 'failed', revision = revision + 1 WHERE id = $1", [id])
    const panel = await customer.show()
    await panel.account("Shop").getByText("Does not work").waitFor()
    await use(panel, panel.button(/^Reconnect/))
    await enter(panel, panel.field("API key"), shopKey)
    await use(panel, panel.button("Reconnect"))
    await panel.account("Shop").getByText("Connected").waitFor()
  })

  it("renames an account", async () => {
    const customer = await panels.customer()
    const id = await customer.connect(withKey)
    const panel = await customer.show()
    await use(panel, panel.button(/^Rename/))
    await isFocused(panel.field("Name"))
    await panel.page.keyboard.type("Our shop")
    await use(panel, panel.button("Save"))
    await panel.account("Our shop").waitFor()
    await panel.shows("The account is named Our shop now.")
    await isFocused(panel.account("Our shop"))
    assert.strictEqual((await panels.made("GET", `/connections/${id}`)).label, "Our shop")
  })

  it("disconnects an account after a question, and not without", async () => {
    const customer = await panels.customer()
    const id = await customer.connect({ ...withKey, label: "Our shop" })
    const panel = await customer.show()
    await use(panel, panel.button("Disconnect: Our shop"))
    const question = panel.frame.getByText("Disconnect Our shop? What uses this account stops working.")
    await isFocused(question)
    await use(panel, panel.button("Cancel"))
    await question.waitFor({ state: "detached" })
    await isFocused(panel.account("Our shop"))
    assert.strictEqual((await panels.made("GET", `/connections/${id}`)).status, "active")

    await use(panel, panel.button("Disconnect: Our shop"))
    await use(panel, panel.button("Disconnect"))
    await panel.shows("Our shop is disconnected.")
    await isFocused(panel.frame.getByRole("heading", { level: 1 }))
    await panel.shows("No account is connected yet.")
    assert.deepStrictEqual((await panel.message("svc:connection-removed")).data.payload, {
      connectionId: id,
      connector: "shop"
    })
    assert.deepStrictEqual(await panels.made("GET", `/connections?customer_id=${customer.id}`), [])
    assert.lengthOf(await panel.messages("svc:connection-removed"), 1)
  })

  it("sees no way to disconnect where the widget has none", async () => {
    const widget = await panels.made("POST", "/widgets", {
      name: "Without disconnecting",
      connectors: ["shop"],
      allowedOrigins: [panels.company().origin],
      features: { disconnect: false }
    })
    await panels.made("POST", `/widgets/${widget.id}/publish`)
    const customer = await panels.customer()
    await customer.connect(withKey)
    const panel = await customer.show({ widgetId: widget.id })
    await panel.button(/^Rename/).waitFor()
    assert.strictEqual(await panel.button(/^Disconnect/).count(), 0)
    assert.strictEqual(await panel.button("Connect Board").count(), 0)
  })
})

describe("the browser of these tests", () => {
  it("keeps and sends no cookie of another site's frame", async () => {
    const seen: Array<string> = []
    const server = createTestServer((request, response) => {
      if (request.url === "/") seen.push(request.headers.cookie ?? "")
      response
        .writeHead(200, { "content-type": "text/html", "set-cookie": "third=1; SameSite=None; Secure" })
        .end("<p>")
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const url = `http://127.0.0.1:${(server.address() as { readonly port: number }).port}/`
    const { frame, page } = await panels.show(url)
    await frame.goto(url)
    const own = await page.context().newPage()
    await own.goto(url)
    await own.goto(url)
    await frame.goto(url)
    assert.deepStrictEqual(seen, ["", "", "", "third=1", ""])
    await new Promise((resolve) => {
      server.close(resolve)
      server.closeAllConnections()
    })
  })
})
