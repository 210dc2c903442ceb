/**
 * Messages between the panel and the page around it: to allowed origins only, from the page's own window only, and whatever
 * that window sends, another customer's or person's session is never shown.
 */
import { afterAll, afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Locator } from "playwright-core"
import { eventually } from "../support/eventually.js"
import { startCompanyPage } from "../support/panel/CompanyPage.js"
import { panelWorldOf } from "../support/panel/PanelWorld.js"
import { shopConnector, shopKey, startShop } from "../support/panel/SampleConnectors.js"
import type { ShownPanel } from "../support/panel/ShownPanel.js"
import type { Provider } from "../support/provider.js"

const panels = panelWorldOf()
let shop: Provider

beforeAll(async () => {
  await panels.start()
  shop = await startShop()
  await panels.publish(shopConnector(shop.url))
})
afterEach(panels.check)
afterAll(async () => {
  await panels.stop()
  await shop.close()
})

const ignored = "svc: the message"
const elsewhere = "https://elsewhere.example"

/** Keeps to which origins the frame posts; the page gets the same messages. */
const watchTargets = `if (window !== top) {
  globalThis.targets = []
  const page = parent
  const watched = {
    postMessage: (message, target) => {
      targets.push([message.type, target])
      page.postMessage(message, target)
    }
  }
  Object.defineProperty(window, "parent", { value: watched })
  const { get } = Object.getOwnPropertyDescriptor(MessageEvent.prototype, "source")
  Object.defineProperty(MessageEvent.prototype, "source", {
    get() {
      const source = get.call(this)
      return source === page ? watched : source
    }
  })
}`

const warnings = ({ said }: ShownPanel) => said.filter((text) => text.startsWith(ignored))
const until = <A>(ask: () => A, found: (value: A) => boolean = Boolean) => eventually(async () => ask(), found)
let heights = 9_000
/** The session of the messages that the panel sends by now. */
const sessionNow = async (panel: ShownPanel): Promise<string> => {
  heights += 1
  await panel.frame.evaluate(`document.querySelector("main").style.minHeight = "${heights}px"`)
  const sent = await eventually(
    async () => (await panel.messages("svc:resize")).find(({ data }) => data.payload["height"] === heights),
    (message) => message !== undefined
  )
  return sent?.data.sessionId ?? ""
}
const styleOf = (control: Locator, name: "backgroundColor" | "borderRadius"): Promise<string> =>
  control.evaluate((one, style) => one.ownerDocument.defaultView.getComputedStyle(one)[style], name)
const background = ({ frame }: ShownPanel) => frame.evaluate("getComputedStyle(document.body).backgroundColor")

describe("the panel tells", () => {
  it("all allowed origins that it is ready, once, and after a valid answer that one alone", async () => {
    const { origin } = panels.company()
    const panel = await (
      await panels.customer()
    ).show(
      { allowedOrigins: [elsewhere, origin] },
      { before: watchTargets, expects: ["Failed to execute 'postMessage'", ignored] }
    )
    const ready = await panel.message("svc:ready")
    assert.strictEqual(ready.origin, panels.world.api().dev.baseUrl)
    assert.deepStrictEqual(ready.data, { type: "svc:ready", sessionId: panel.session.sessionId, payload: {} })
    const targets = async (type: string) =>
      ((await panel.frame.evaluate("targets")) as ReadonlyArray<readonly [string, string]>)
        .filter(([sent]) => sent === type)
        .map(([, target]) => target)
    assert.sameMembers(await targets("svc:ready"), [elsewhere, origin])
    await panel.post("svc:locale", { locale: "fr" })
    await until(() => warnings(panel).length)
    await sessionNow(panel)
    assert.deepStrictEqual((await targets("svc:resize")).slice(-2).toSorted(), [elsewhere, origin].toSorted())

    await panel.post("svc:locale", { locale: "de" })
    await panel.heading("Integrationen")
    const before = (await targets("svc:resize")).length
    await sessionNow(panel)
    await sessionNow(panel)
    const after = (await targets("svc:resize")).slice(before)
    assert.deepStrictEqual([...new Set(after)], [origin])
    assert.lengthOf(await panel.messages("svc:ready"), 1)
  })

  it("its height, as it grows and shrinks", async () => {
    const panel = await (await panels.customer()).show()
    await panel.button("Connect Shop").waitFor()
    const heightOf = () =>
      panel.frame.evaluate(
        'Math.ceil(document.getElementById("root").getBoundingClientRect().bottom)'
      ) as Promise<number>
    const told = async () => Number((await panel.messages("svc:resize")).at(-1)?.data.payload["height"])
    const isTold = async () => {
      const [height, last] = [await heightOf(), await told()]
      return height === last ? height : undefined
    }
    const home = await eventually(isTold, Boolean)
    await panel.frame.evaluate(`document.querySelector("main").style.minHeight = "9000px"`)
    await eventually(isTold, (height) => height === 9_000)
    await panel.frame.evaluate(`document.querySelector("main").style.minHeight = ""`)
    await eventually(isTold, (height) => height === home)
  })
})

describe("the page may", () => {
  it("change the theme, unless it is none", async () => {
    const panel = await (await panels.customer()).show({}, { expects: [ignored] })
    await panel.message("svc:ready")
    const theme = { colors: { background: "#102030", text: "#ffffff", accent: "#ffcc00" }, radius: 3 }
    await panel.post("svc:theme", { theme })
    await eventually(
      () => background(panel),
      (colour) => colour === "rgb(16, 32, 48)"
    )
    await panel.post("svc:open", { connector: "shop" })
    const button = panel.button("Connect")
    assert.strictEqual(await styleOf(button, "backgroundColor"), "rgb(255, 204, 0)")
    assert.strictEqual(await styleOf(button, "borderRadius"), "3px")
    for (const wrong of [
      { colors: { background: "red" } },
      { colors: { background: "url(//x)" } },
      { colors: { others: "#000000" } },
      { font: "a; color: red" },
      { radius: 1.5 },
      { more: 1 },
      "dark",
      null
    ])
      await panel.post("svc:theme", { theme: wrong })
    await until(() => warnings(panel).length === 8)
    assert.strictEqual(await background(panel), "rgb(16, 32, 48)")
  })

  it("change the language and open a connector", async () => {
    const panel = await (await panels.customer()).show({}, { expects: ["404 (Not Found)"] })
    await panel.message("svc:ready")
    await panel.post("svc:open", { connector: "shop" })
    await panel.heading("Connect Shop")
    await panel.post("svc:locale", { locale: "de" })
    await panel.heading("Shop verbinden")
    assert.strictEqual(await panel.frame.evaluate("document.documentElement.lang"), "de")
    await panel.post("svc:open", { connector: "unknown" })
    await panel.frame.getByRole("alert").waitFor()
    await panel.button("Zurück").click()
    await panel.heading("Integrationen")
  })

  it("give a token of another session of the same customer and person", async () => {
    const customer = await panels.customer()
    const person = { userId: "u-1" }
    const panel = await customer.show(person)
    await panel.message("svc:ready")
    const next = await customer.mint(person)
    await panel.post("svc:token", { token: next.token })
    await eventually(
      () => sessionNow(panel),
      (id) => id === next.sessionId
    )
    await panel.post("svc:token", { token: (await customer.mint(person)).token })
    await eventually(
      () => sessionNow(panel),
      (id) => id !== next.sessionId
    )
    assert.lengthOf(await panel.messages("svc:ready"), 1)
  })
})

describe("without effect are", () => {
  it("tokens of another person and of another customer", async () => {
    const [customer, other] = [await panels.customer(), await panels.customer()]
    const panel = await customer.show({ userId: "u-1" }, { expects: [ignored] })
    await panel.message("svc:ready")
    const others = [await customer.mint({ userId: "u-2" }), await customer.mint(), await other.mint({ userId: "u-1" })]
    let refused = 0
    for (const { token } of others) {
      await panel.post("svc:token", { token })
      refused += 1
      await until(
        () => warnings(panel).filter((text) => text.includes("another customer or person")).length === refused
      )
    }
    assert.strictEqual(await sessionNow(panel), panel.session.sessionId)
  })

  it("a token whose session does not allow the page", async () => {
    const customer = await panels.customer()
    const panel = await customer.show({}, { expects: [ignored] })
    await panel.message("svc:ready")
    await panel.post("svc:token", { token: (await customer.mint({ allowedOrigins: [elsewhere] })).token })
    await until(() => warnings(panel).some((text) => text.includes("does not allow the origin")))
    assert.strictEqual(await sessionNow(panel), panel.session.sessionId)
  })

  it("messages of other windows and frames, of the same origin and of others", async () => {
    const panel = await (await panels.customer()).show()
    await panel.message("svc:ready")
    const stranger = await startCompanyPage()
    const send = `{ type: "svc:locale", payload: { locale: "de" } }, "*"`
    for (const origin of [panels.company().origin, stranger.origin]) {
      await panel.page.evaluate(`{
        const frame = document.createElement("iframe")
        frame.src = ${JSON.stringify(`${origin}/`)}
        frame.className = "sibling"
        document.body.append(frame)
      }`)
      const sibling = await (await panel.page.waitForSelector("iframe.sibling:last-of-type")).contentFrame()
      await sibling?.waitForURL(`${origin}/`)
      await sibling?.evaluate(`parent.frames[0].postMessage(${send})`)
      const popup = await panel.opened(() => panel.page.evaluate(`void open(${JSON.stringify(`${origin}/`)})`))
      await popup.waitForURL(`${origin}/`)
      await popup.evaluate(`opener.frames[0].postMessage(${send})`)
    }
    await panel.frame.evaluate(`window.postMessage(${send})`)
    await panel.post("svc:open", { connector: "shop" })
    await panel.heading("Connect Shop")
    assert.strictEqual(await panel.frame.evaluate("document.documentElement.lang"), "en")
    await stranger.close()
  })

  it("malformed messages, of which the developers are told", async () => {
    const panel = await (await panels.customer()).show({}, { expects: [ignored] })
    await panel.message("svc:ready")
    const origin = JSON.stringify(panels.world.api().dev.baseUrl)
    const silent = [null, "svc:open", 1, [], {}, { type: 1 }, { type: "other", payload: {} }]
    const told = [
      { type: "svc:open" },
      { type: "svc:open", payload: null },
      { type: "svc:open", payload: [] },
      { type: "svc:open", payload: { connector: "../x" } },
      { type: "svc:open", payload: { connector: 1 } },
      { type: "svc:token", payload: { token: "emb_short" } },
      { type: "svc:locale", payload: { locale: "constructor" } },
      { type: "svc:theme", payload: {} },
      { type: "svc:unknown", payload: {} }
    ]
    await panel.page.evaluate(`for (const one of ${JSON.stringify([...silent, ...told])}) post(one, ${origin})`)
    await until(() => warnings(panel).length === told.length)
    await panel.heading("Integrations")
    await panel.post("svc:open", { connector: "shop" })
    await panel.heading("Connect Shop")
    assert.lengthOf(warnings(panel), told.length)
  })

  it("thousands of made-up tokens, which cost a few requests; a real one is taken after them", async () => {
    const customer = await panels.customer()
    await customer.connect({ connector: "shop", authMethod: "key", credential: { apiKey: shopKey } })
    const panel = await customer.show({}, { expects: [ignored, "401 (Unauthorized)"] })
    await panel.message("svc:ready")
    await panel.account("Shop").waitFor()
    const before = panel.calls.length
    await panel.page.evaluate(`for (let n = 0; n < 5000; n++)
      post({ type: "svc:token", payload: { token: "emb_" + String(n).padStart(43, "A") } },
        ${JSON.stringify(panels.world.api().dev.baseUrl)})`)
    const next = await customer.mint()
    await panel.post("svc:token", { token: next.token })
    await eventually(
      () => sessionNow(panel),
      (id) => id === next.sessionId
    )
    await panel.account("Shop").getByText("Connected").waitFor()
    assert.isBelow(panel.calls.length - before, 50, panel.calls.slice(before).join("\n"))
  })
})
