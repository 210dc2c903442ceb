/** Texts of tenants and providers are text in the panel, whatever they contain; many connectors are shown page by page. */
import { afterAll, afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import { panelWorldOf } from "../support/panel/PanelWorld.js"
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

const hostile = `<img src=x onerror="globalThis.ran=1"><script>globalThis.ran=1</script>`
const script = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" onload="globalThis.ran=1"/>')}`

beforeAll(async () => {
  await panels.start()
  shop = await startShop()
  board = await startRefusingProvider(hostile)
  await panels.publish(signInConnector("board", "Board", board.url))
})
afterEach(panels.check)
afterAll(async () => {
  await panels.stop()
  await Promise.all([shop.close(), board.close()])
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
    await assertUsable(panel, "odd texts")
    await panel.button(`Connect ${hostile}`).click()
    await panel.heading(`Connect ${hostile}`)
    await assertUsable(panel, "an odd connector")
    await panel.button("Cancel").click()
    await panel.button("Connect Board").click()
    await panel.opened(() => panel.button("Sign in to Board").click())
    await panel.frame.getByRole("alert").getByText(hostile).waitFor()
    await assertUsable(panel, "an odd error")
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
    await assertUsable(panel, "a search")
    await panel.field("Search").fill("no such name")
    await panel.shows("Nothing has this name.")
    await panel.field("Search").fill("")
    await rows.nth(49).waitFor()
    assert.strictEqual(await rows.count(), 50)
  })
})
