/**
 * The panel's session: its token is refreshed without a sign of it, its end is told once to the page and stops all calls, a new
 * token revives it; and the token is left nowhere. Stored times are moved.
 */
import { afterAll, afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import { panelWorldOf } from "../support/panel/PanelWorld.js"
import { shopConnector, shopKey, signInConnector, startShop } from "../support/panel/SampleConnectors.js"
import type { ShownPanel } from "../support/panel/ShownPanel.js"
import { startProvider, type Provider } from "../support/provider.js"

const panels = panelWorldOf()
let shop: Provider
let board: Provider

beforeAll(async () => {
  await panels.start()
  shop = await startShop()
  await panels.publish(shopConnector(shop.url))
  board = await startProvider((_, response) =>
    response.writeHead(200, { "content-type": "text/html" }).end("<title>Board</title><h1>Sign in</h1>")
  )
  await panels.publish(signInConnector("board", "Board", board.url))
})
afterEach(panels.check)
afterAll(async () => {
  await panels.stop()
  await Promise.all([shop.close(), board.close()])
})

const unauthorized = "401 (Unauthorized)"
const refresh = "POST /api/v1/embed/token/refresh"

const withAccount = async () => {
  const customer = await panels.customer()
  await customer.connect({ connector: "shop", authMethod: "key", credential: { apiKey: shopKey } })
  return customer
}
const expireToken = (id: string) =>
  panels.sql("UPDATE embed_sessions SET token_expires_at = now() - interval '1 minute' WHERE id = $1", [id])
const reachCap = (id: string) =>
  panels.sql("UPDATE embed_sessions SET expires_at = now() - interval '1 second' WHERE id = $1", [id])

/** Looks at one connector after the other until the service, which caches sessions, has found out. */
const useUntil = async (panel: ShownPanel, isSo: () => Promise<boolean>) => {
  let times = 0
  await eventually(async () => {
    await panel.post("svc:open", { connector: (times += 1) % 2 === 0 ? "shop" : "board" })
    return isSo()
  }, Boolean)
}
const isOver = async (panel: ShownPanel) => (await panel.messages("svc:session-expired")).length > 0
/** Shows another colour: whatever the panel was sent before it has looked at. */
const settle = async (panel: ShownPanel) => {
  await panel.post("svc:theme", { theme: { colors: { background: "#fffff0" } } })
  await eventually(
    () => panel.frame.evaluate("getComputedStyle(document.body).backgroundColor"),
    (colour) => colour === "rgb(255, 255, 240)"
  )
}

describe("a token that has expired", () => {
  it("is refreshed by the next call, without a sign of it", async () => {
    const customer = await withAccount()
    const panel = await customer.show({}, { expects: [unauthorized] })
    await panel.account("Shop").waitFor()
    assert.notInclude(panel.calls, refresh)
    await expireToken(panel.session.sessionId)
    await useUntil(panel, async () => panel.calls.includes(refresh))
    await panel.heading(/^Connect/)
    await panel.button("Cancel").click()
    await panel.account("Shop").waitFor()
    assert.lengthOf(
      panel.calls.filter((one) => one === refresh),
      1
    )
    assert.lengthOf(await panel.messages("svc:session-expired"), 0)
    assert.lengthOf(await panel.messages("svc:ready"), 1)
  })

  it("when the page is loaded is refreshed at once", async () => {
    const customer = await withAccount()
    const { iframeUrl, sessionId } = await customer.mint()
    await expireToken(sessionId)
    const panel = await panels.show(iframeUrl, { expects: [unauthorized] })
    await panel.account("Shop").waitFor()
    await panel.message("svc:ready")
    assert.lengthOf(
      panel.calls.filter((one) => one === refresh),
      1
    )
    assert.lengthOf(await panel.messages("svc:session-expired"), 0)
  })
})

describe("a session that has ended", () => {
  it("is told once to its page, says so, calls no more, and goes on with the token of a new one", async () => {
    const customer = await withAccount()
    const panel = await customer.show({}, { expects: [unauthorized] })
    await panel.account("Shop").waitFor()
    await reachCap(panel.session.sessionId)
    await useUntil(panel, () => isOver(panel))
    await panel.frame.getByRole("alert").getByText("This session has ended").waitFor()
    const { origin, data } = await panel.message("svc:session-expired")
    assert.strictEqual(origin, panels.world.api().dev.baseUrl)
    assert.deepStrictEqual(data, {
      type: "svc:session-expired",
      sessionId: panel.session.sessionId,
      payload: {}
    })

    const before = panel.calls.length
    await panel.post("svc:open", { connector: "shop" })
    await panel.page.evaluate(`dispatchEvent(new Event("online"))`)
    await panel.frame.evaluate(`dispatchEvent(new Event("online"))`)
    await settle(panel)
    assert.deepStrictEqual(panel.calls.slice(before), [])
    assert.lengthOf(await panel.messages("svc:session-expired"), 1)
    assert.strictEqual(await panel.frame.getByRole("button").count(), 0)

    await panel.post("svc:token", { token: (await customer.mint()).token })
    await panel.heading(/^Connect/)
    await panel.button("Cancel").click()
    await panel.account("Shop").getByText("Connected").waitFor()
    assert.lengthOf(await panel.messages("svc:session-expired"), 1)
    assert.lengthOf(await panel.messages("svc:ready"), 1)
  })

  it("before its page is loaded is told to it, and goes on with the token of a new one", async () => {
    const customer = await withAccount()
    const { iframeUrl, sessionId } = await customer.mint()
    await panels.made("DELETE", `/embed/sessions/${sessionId}`)
    const panel = await panels.show(iframeUrl, { expects: [unauthorized] })
    await panel.frame.getByRole("alert").getByText("This session has ended").waitFor()
    assert.strictEqual((await panel.message("svc:session-expired")).data.sessionId, sessionId)
    assert.deepStrictEqual(panel.calls, [])
    assert.lengthOf(await panel.messages("svc:ready"), 0)
    const next = await customer.mint()
    await panel.post("svc:token", { token: next.token })
    await panel.account("Shop").waitFor()
    assert.strictEqual((await panel.message("svc:ready")).data.sessionId, next.sessionId)
    assert.lengthOf(await panel.messages("svc:session-expired"), 1)
  })

  it("is not revived by a token of another customer", async () => {
    const [customer, other] = [await withAccount(), await withAccount()]
    const panel = await customer.show({}, { expects: [unauthorized, "svc: the message"] })
    await panel.account("Shop").waitFor()
    await reachCap(panel.session.sessionId)
    await useUntil(panel, () => isOver(panel))
    await panel.post("svc:token", { token: (await other.mint()).token })
    await eventually(async () => panel.said.some((text) => text.includes("another customer or person")), Boolean)
    await panel.shows("This session has ended")
  })
})

describe("the frame is not shown", () => {
  const blocked = "frame-ancestors"

  it("for a token that is unknown, which tells the page nothing", async () => {
    const url = `/api/v1/embed/iframe?token=emb_${"A".repeat(43)}`
    const panel = await panels.show(url, { expects: [blocked, unauthorized] })
    await eventually(async () => panel.said.some((text) => text.includes(blocked)), Boolean)
    assert.deepStrictEqual(await panel.messages(), [])
    const page = await panel.context.newPage()
    await page.goto(`${panels.world.api().dev.baseUrl}${url}`)
    await page.getByText("This session has ended").first().waitFor()
    assert.deepStrictEqual(panel.calls, [])
  })

  it("in a page of an origin that its session does not name", async () => {
    const customer = await panels.customer()
    const panel = await customer.show({ allowedOrigins: ["https://app.example.com"] }, { expects: [blocked] })
    await eventually(async () => panel.said.some((text) => text.includes(blocked)), Boolean)
    assert.deepStrictEqual([panel.calls, await panel.messages()], [[], []])
  })
})

describe("the token", () => {
  it("is in no address, history, referrer, storage and cookie, and no provider and page gets it", async () => {
    const customer = await withAccount()
    const panel = await customer.show()
    await panel.account("Shop").waitFor()
    await panel.button("Connect Board").click()
    const window = await panel.opened(() => panel.button("Sign in to Board").click())
    await window.getByRole("heading", { name: "Sign in" }).waitFor()
    const { iframeUrl, token } = panel.session
    const written = `JSON.stringify([
      location.href, document.referrer, document.cookie, document.documentElement.outerHTML,
      navigation.entries().map(({ url }) => url), window.name, history.state
    ])`
    assert.notInclude(await panel.frame.evaluate(written), token)
    // Frames of other sites can store nothing in this browser: the same page by itself could.
    const page = await panel.context.newPage()
    await page.goto(iframeUrl)
    await page.getByRole("heading", { level: 1, name: "Integrations" }).waitFor()
    await page.getByText("ada@shop.example").waitFor()
    assert.notInclude(await page.evaluate(written), token)
    const stored = await page.evaluate(`(async () => [
      localStorage.length, sessionStorage.length, (await indexedDB.databases()).length, (await caches.keys()).length,
      document.cookie.length, (await navigator.serviceWorker.getRegistrations()).length
    ])()`)
    assert.deepStrictEqual(stored, [0, 0, 0, 0, 0, 0])
    assert.strictEqual(new URL(panel.frame.url()).search, "")
    const cookies = await panel.context.cookies()
    // That of the sign-in, which the window keeps.
    assert.isTrue(cookies.every(({ name }) => name.startsWith("svc_connect_")))
    const got = JSON.stringify([board.requests, shop.requests, panels.company().requests, cookies, window.url()])
    assert.isNotEmpty(board.requests)
    assert.notInclude(got, token)
    assert.notInclude(JSON.stringify(board.requests.map(({ headers }) => headers.referer ?? "")), "/embed/")
    assert.notInclude(panels.world.output(), token)
  })
})
