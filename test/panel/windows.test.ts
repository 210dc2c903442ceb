/**
 * The window in which a person signs in at a provider may be blocked, closed, or cut off by the provider, and the provider may
 * refuse: the panel sees how each attempt ends, says so, and leaves other attempts alone.
 */
import { afterAll, afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import { panelWorldOf } from "../support/panel/PanelWorld.js"
import { signIn, startBoard } from "../support/panel/SampleConnectors.js"
import type { ShownPanel } from "../support/panel/ShownPanel.js"

const panels = panelWorldOf()
let board: Awaited<ReturnType<typeof startBoard>>
let isolated: Awaited<ReturnType<typeof startBoard>>

beforeAll(async () => {
  await panels.start()
  board = await startBoard(panels, {})
  const headers = { "cross-origin-opener-policy": "same-origin" }
  isolated = await startBoard(panels, { slug: "vault", name: "Vault", headers })
})
afterEach(panels.check)
afterAll(async () => {
  await panels.stop()
  await Promise.all([board.close(), isolated.close()])
})

const begin = async (panel: ShownPanel, name = "Board") => {
  await panel.button(`Connect ${name}`).click()
  await panel.button(`Sign in to ${name}`).click()
}
const cancel = async (provider: Awaited<ReturnType<ShownPanel["opened"]>>) => {
  await provider.getByRole("link", { name: "Cancel" }).click()
}
const attempts = ({ frame }: ShownPanel) => frame.locator("li.attempt")

describe("where no window can be opened", () => {
  const ways = [
    { how: "by the browser", more: { before: "window.open = () => null" } },
    {
      how: "by the frame's sandbox",
      more: {
        attributes: { sandbox: "allow-scripts allow-same-origin allow-forms" },
        expects: ["sandboxed frame", "allow-popups"]
      }
    }
  ]
  it.each(ways)("$how, a link is shown", async ({ how, more }) => {
    const customer = await panels.customer()
    const panel = await customer.show({}, more)
    await begin(panel)
    await panel.shows("Your browser has opened no window. Sign in to Board with this link:")
    const link = panel.frame.getByRole("link", { name: "Open the sign-in to Board" })
    const url = (await link.getAttribute("href")) ?? ""
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{43}$/)
    // A sandbox without windows lets a link open none either: a person copies it.
    const window = how === "by the browser" ? await panel.opened(() => link.click()) : await panel.context.newPage()
    if (how !== "by the browser") await window.goto(url)
    assert.isNull(await window.evaluate("window.opener"))
    await signIn(window, "ada")
    await panel.account("Board").getByText("Connected").waitFor()
    assert.strictEqual((await panel.message("svc:connection-created")).data.payload["connector"], "board")
    assert.strictEqual(await attempts(panel).count(), 0)
    await window.getByText("You can close this window.").waitFor()
  })
})

describe("a window", () => {
  it("has no opener from its first page on", async () => {
    const panel = await (await panels.customer()).show()
    const window = await panel.opened(() => begin(panel))
    await window.locator("input[name=login]").waitFor()
    assert.isNull(await window.evaluate("window.opener"))
    await signIn(window, "ada")
    await panel.account("Board").waitFor()
    assert.strictEqual(new URL(panel.frame.url()).pathname, "/api/v1/embed/iframe")
  })

  it("that the provider cuts off from the panel is seen to have signed in", async () => {
    const panel = await (await panels.customer()).show()
    const window = await panel.opened(() => begin(panel, "Vault"))
    await signIn(window, "ada")
    await panel.account("Vault").getByText("Connected").waitFor()
    await panel.message("svc:connection-created")
    await window.getByText("You can close this window.").waitFor()
  })

  it("that is closed breaks nothing: another attempt begins beside it, and each of them is connected", async () => {
    const customer = await panels.customer()
    const panel = await customer.show()
    const first = await panel.opened(() => begin(panel))
    await first.locator("input[name=login]").waitFor()
    const link = panel.frame.getByRole("link", { name: "Open the sign-in to Board" })
    const linkOfFirst = (await link.getAttribute("href")) ?? ""
    await first.close()
    await panel.shows("Sign in to Board in the window that has opened.")

    const second = await panel.opened(() => begin(panel))
    await second.locator("input[name=login]").waitFor()
    assert.strictEqual(await attempts(panel).count(), 2)
    await signIn(second, "grace")
    await panel.account("Board").getByText("Connected").waitFor()
    assert.strictEqual(await attempts(panel).count(), 1)
    assert.strictEqual(await link.getAttribute("href"), linkOfFirst)

    // The provider knows the person by now, and asks nothing.
    await panel.opened(() => link.click())
    await attempts(panel).waitFor({ state: "detached" })
    await panel.account("Board").nth(1).waitFor()
    const created = await panel.messages("svc:connection-created")
    const listed = await panels.made("GET", `/connections?customer_id=${customer.id}`)
    assert.sameMembers(
      created.map(({ data }) => data.payload["connectionId"]),
      listed.map(({ id }: { readonly id: string }) => id)
    )
    assert.lengthOf(created, 2)
  })

  it("whose attempt is given up is asked about no more", async () => {
    const panel = await (await panels.customer()).show()
    const window = await panel.opened(() => begin(panel))
    await window.locator("input[name=login]").waitFor()
    await panel.button("Stop waiting").click()
    await attempts(panel).waitFor({ state: "detached" })
    await signIn(window, "ada")
    await window.getByText("You can close this window.").waitFor()
    assert.lengthOf(await panel.messages("svc:connection-created"), 0)
  })
})

describe("a provider that refuses", () => {
  it("is quoted in the panel, and the page is told", async () => {
    const panel = await (await panels.customer()).show({}, { expects: ["400 (Bad Request)"] })
    const window = await panel.opened(() => begin(panel))
    await cancel(window)
    const { data } = await panel.message("svc:connection-error")
    assert.strictEqual(data.payload["connector"], "board")
    assert.match(String(data.payload["connectionId"]), /^conn_/)
    const failed = panel.frame.getByRole("alert")
    await failed.getByText("Board was not connected.").waitFor()
    await failed.getByText(String(data.payload["message"])).waitFor()
    assert.include(String(data.payload["message"]), "access_denied")
    assert.lengthOf(await panel.messages("svc:connection-created"), 0)

    await panel.button("Close").click()
    await attempts(panel).waitFor({ state: "detached" })
    const again = await panel.opened(() => begin(panel))
    await signIn(again, "ada")
    await panel.account("Board").getByText("Connected").waitFor()
  })
})
