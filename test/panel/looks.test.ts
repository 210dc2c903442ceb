/**
 * The panel can be used by all, in narrow and wide frames, light and dark and in a company's colours; texts of tenants and
 * providers are text, whatever they contain; many connectors are shown page by page.
 */
import { afterAll, afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import { accessibilityOf } from "../support/console/Accessibility.js"
import { type PanelCustomer, panelWorldOf } from "../support/panel/PanelWorld.js"
import { shopConnector, shopKey, signInConnector, startShop } from "../support/panel/SampleConnectors.js"
import type { ShownPanel } from "../support/panel/ShownPanel.js"
import { startProvider, type Provider } from "../support/provider.js"

const panels = panelWorldOf()
let shop: Provider
let board: Provider

const hostile = `<img src=x onerror="globalThis.ran=1"><script>globalThis.ran=1</script>`
const script = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" onload="globalThis.ran=1"/>')}`

/** A provider that refuses at once, with a text of its own. */
const startBoard = () =>
  startProvider(({ url }, response) => {
    const asked = new URL(url, "http://board").searchParams
    const back = new URL(asked.get("redirect_uri") ?? "http://board")
    back.searchParams.set("state", asked.get("state") ?? "")
    back.searchParams.set("error", "access_denied")
    back.searchParams.set("error_description", hostile)
    response.writeHead(302, { location: back.href }).end()
  })

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
  board = await startBoard()
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

/** Nothing is wider than the frame, and nobody is kept from using it. */
const usable = async (panel: ShownPanel, name: string): Promise<void> => {
  const widths = await panel.frame.evaluate("[document.documentElement.scrollWidth, innerWidth].join()")
  const [width, most] = String(widths).split(",").map(Number)
  assert.isAtMost(width ?? 0, most ?? 0, `${name} is wider than its frame`)
  assert.deepStrictEqual(await accessibilityOf(panel.page, panel.frame), [], name)
}

describe.each([{ width: 320 }, { width: 900 }])(
  "in a frame of $width pixels, light and dark, can be used",
  (options) => {
    it("the panel without accounts", async () => {
      const panel = await (await panels.customer()).show({}, options)
      await panel.shows("No account is connected yet.")
      await panel.button("Connect Depot").waitFor()
      await usable(panel, "home without accounts")
    })

    it("accounts in each status, an attempt, one that failed, and the questions", async () => {
      const panel = await customer.show({}, { ...options, expects: ["400 (Bad Request)"] })
      for (const text of ["Connected", "Switched off", "Sign in again", "Does not work", "The shop is closed."])
        await panel.shows(text)
      await panel.button("Connect Board").click()
      await panel.opened(() => panel.button("Sign in to Board").click())
      await panel.shows("Sign in to Board in the window that has opened.")
      await usable(panel, "an attempt")
      await panel.shows("Board was not connected.")
      await usable(panel, "an attempt that failed")
      await panel.button("Rename: Main shop").click()
      await panel.button("Disconnect: Old shop").click()
      await panel.shows("Disconnect Old shop?")
      await usable(panel, "the questions")
    })

    it("a form with mistakes and several methods", async () => {
      const panel = await customer.show({}, options)
      await panel.button("Connect Depot").click()
      await panel.frame.getByRole("radio", { name: "With a name and a password" }).check()
      await panel.field("Pages").fill("12")
      await panel.button("Connect").click()
      await panel.shows("This must be 9 or less.")
      await panel.shows("Please fill this in.")
      await usable(panel, "a form with mistakes")
    })

    it("the end of its session", async () => {
      const { iframeUrl, sessionId } = await customer.mint()
      await panels.made("DELETE", `/embed/sessions/${sessionId}`)
      const panel = await panels.show(iframeUrl, { ...options, expects: ["401 (Unauthorized)"] })
      await panel.shows("This session has ended")
      await usable(panel, "the end of the session")
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
    await usable(panel, "home")
    await panel.button("Connect Depot").click()
    await panel.button("Connect").click()
    await panel.shows("Please fill this in.")
    await usable(panel, "a form")
  })
})

describe("texts of tenants and providers", () => {
  it("run nothing and load nothing", async () => {
    const odd = { connectors: ["odd", "odd-data", "odd-web", "board"] }
    const texts = { name: hostile, description: hostile }
    await panels.publish(shopConnector(shop.url, { ...texts, slug: "odd", iconUrl: script }))
    await panels.publish(
      shopConnector(shop.url, { slug: "odd-data", name: `${"W".repeat(100)}`, description: "\u202Etxt.exe" })
    )
    await panels.publish(
      shopConnector(shop.url, { ...texts, slug: "odd-web", name: "Web", iconUrl: "https://tracker.example/icon.png" })
    )
    const tenant = await panels.customer()
    for (const label of ["W".repeat(200), hostile, "\u202E\u202Eabc\u2066"])
      await tenant.connect({ connector: "odd", authMethod: "key", label, credential: { apiKey: shopKey } })
    const panel = await tenant.show(odd, { width: 320, expects: ["400 (Bad Request)"] })
    await panel.account("W".repeat(200)).waitFor()
    await panel.frame.locator("strong").getByText(hostile, { exact: true }).first().waitFor()
    await usable(panel, "odd texts")
    await panel.button(`Connect ${hostile}`).click()
    await panel.heading(`Connect ${hostile}`)
    await usable(panel, "an odd connector")
    await panel.button("Cancel").click()
    await panel.button("Connect Board").click()
    await panel.opened(() => panel.button("Sign in to Board").click())
    await panel.frame.getByRole("alert").getByText(hostile).waitFor()
    await usable(panel, "an odd error")
    const images = await panel.frame.evaluate("[...document.images].map(({ src }) => src.slice(0, 14)).join()")
    assert.strictEqual(images, "data:image/svg")
    for (const page of [panel.frame, panel.page]) assert.isUndefined(await page.evaluate("globalThis.ran"))
  })
})

describe("many connectors", () => {
  it("are shown page by page, and found by their names", async () => {
    const all = Array.from({ length: 300 }, (_, n) => `many-${String(n).padStart(3, "0")}`)
    while (all.length > 0)
      await Promise.all(
        all
          .splice(0, 10)
          .map((slug) => panels.publish(shopConnector(shop.url, { slug, name: `Name ${slug.slice(5)}` })))
      )
    const panel = await (await panels.customer()).show({}, { width: 320 })
    const rows = panel.frame.locator("section").filter({ hasText: "Connect an account" }).locator("li.row")
    await panel.button("Show more").waitFor()
    assert.strictEqual(await rows.count(), 50)
    await panel.button("Show more").click()
    await rows.nth(99).waitFor()
    assert.strictEqual(await rows.count(), 100)
    await panel.field("Search").fill("name 299")
    await rows.filter({ hasText: "Name 299" }).waitFor()
    await rows.nth(1).waitFor({ state: "detached" })
    await usable(panel, "a search")
    await panel.field("Search").fill("no such name")
    await panel.shows("Nothing has this name.")
    await panel.field("Search").fill("")
    await rows.nth(49).waitFor()
    assert.strictEqual(await rows.count(), 50)
  })
})
