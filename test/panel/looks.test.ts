/** The panel can be used by all, in narrow and wide frames, light and dark, and in a company's colours. */
import { afterAll, afterEach, beforeAll, describe, it } from "@effect/vitest"
import { type PanelCustomer, panelWorldOf } from "../support/panel/PanelWorld.js"
import {
  shopConnector,
  shopKey,
  signInConnector,
  startRefusingProvider,
  startShop
} from "../support/panel/SampleConnectors.js"
import { assertUsable } from "../support/panel/Usable.js"
import type { Provider } from "../support/provider.js"

const panels = panelWorldOf()
let shop: Provider
let board: Provider

const methodsOfShop = {
  slug: "depot",
  name: "Depot",
  connectionConfig: {
    type: "object",
    properties: {
      region: { type: "string", title: "Region", enum: ["eu", "us"], description: "Where your data is." },
      pages: { type: "integer", title: "Pages", minimum: 1, maximum: 9 },
      isTest: { type: "boolean", title: "Test account" }
    },
    required: ["region", "pages"]
  },
  auth: [
    { id: "key", type: "api_key", title: "With an API key", description: "Ask your administrator.", default: true },
    { id: "basic", type: "basic", title: "With a name and a password" }
  ]
}

let customer: PanelCustomer

beforeAll(async () => {
  await panels.start()
  shop = await startShop()
  board = await startRefusingProvider("not today")
  await panels.publish(shopConnector(shop.url))
  await panels.publish(shopConnector(shop.url, methodsOfShop))
  await panels.publish(signInConnector("board", "Board", board.url))
  customer = await panels.customer()
  for (const [label, status] of [
    ["Main shop", "active"],
    ["Second shop", "inactive"],
    ["Old shop", "expired"],
    ["Lost shop", "failed"]
  ]) {
    const id = await customer.connect({
      connector: "shop",
      authMethod: "key",
      label,
      credential: { apiKey: shopKey }
    })
    await panels.sql(
      `UPDATE connections SET status = $2, revision = revision + 1,
         health = health || jsonb_build_object('lastError', CASE WHEN $2 = 'failed' THEN 'The shop is closed.' END)
         WHERE id = $1`,
      [id, status]
    )
  }
})
afterEach(panels.check)
afterAll(async () => {
  await panels.stop()
  await Promise.all([shop.close(), board.close()])
})

describe.each([{ width: 320 }, { width: 900 }])(
  "in a frame of $width pixels, light and dark, can be used",
  (options) => {
    it("the panel without accounts", async () => {
      const panel = await (await panels.customer()).show({}, options)
      await panel.shows("No account is connected yet.")
      await panel.button("Connect Depot").waitFor()
      await assertUsable(panel, "home without accounts")
    })

    it("accounts in each status, an attempt, one that failed, and the questions", async () => {
      const panel = await customer.show({}, { ...options, expects: ["400 (Bad Request)"] })
      for (const text of ["Connected", "Switched off", "Sign in again", "Does not work", "The shop is closed."])
        await panel.shows(text)
      await panel.button("Connect Board").click()
      await panel.opened(() => panel.button("Sign in to Board").click())
      await panel.shows("Sign in to Board in the window that has opened.")
      await assertUsable(panel, "an attempt")
      await panel.shows("Board was not connected.")
      await assertUsable(panel, "an attempt that failed")
      await panel.button("Rename: Main shop").click()
      await panel.button("Disconnect: Old shop").click()
      await panel.shows("Disconnect Old shop?")
      await assertUsable(panel, "the questions")
    })

    it("a form with mistakes and several methods", async () => {
      const panel = await customer.show({}, options)
      await panel.button("Connect Depot").click()
      await panel.frame.getByRole("radio", { name: "With a name and a password" }).check()
      await panel.field("Pages").fill("12")
      await panel.button("Connect").click()
      await panel.shows("This must be 9 or less.")
      await panel.shows("Please fill this in.")
      await assertUsable(panel, "a form with mistakes")
    })

    it("the end of its session", async () => {
      const { iframeUrl, sessionId } = await customer.mint()
      await panels.made("DELETE", `/embed/sessions/${sessionId}`)
      const panel = await panels.show(iframeUrl, { ...options, expects: ["401 (Unauthorized)"] })
      await panel.shows("This session has ended")
      await assertUsable(panel, "the end of the session")
    })
  }
)

describe("a theme that says little", () => {
  it.each([
    { colors: { background: "#101010" } },
    { colors: { accent: "#ffe9a8" } },
    { colors: { accent: "#101010" } },
    { colors: { text: "#f0f0f0" } },
    { colors: { background: "#777777", error: "#ff0000", border: "#777777" } }
  ])("$colors can be read, whatever the person prefers", async (theme) => {
    const panel = await customer.show({ theme })
    await panel.shows("The shop is closed.")
    await assertUsable(panel, "home")
    await panel.button("Connect Depot").click()
    await panel.button("Connect").click()
    await panel.shows("Please fill this in.")
    await assertUsable(panel, "a form")
  })
})
