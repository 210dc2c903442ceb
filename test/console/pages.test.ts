/**
 * Every page of the console in a browser, in both themes, wide and at 320 pixels: it shows its record, has no mistake of
 * accessibility (WCAG 2.2 AA), fits its width, and breaks no rule of its policy. A role without rights is told what it lacks.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Browser, Request } from "playwright-core"
import { accessibilityOf } from "../support/console/Accessibility.js"
import { startBrowser, type Visitor, visitorOf } from "../support/console/Browser.js"
import { type ConsolePage, consolePages } from "../support/console/ConsolePages.js"
import { seed, type Seeded } from "../support/console/Seed.js"
import { worldOf } from "../support/World.js"
import { scaled } from "../support/slowness.js"

const world = worldOf({ allow: true })
let browser: Browser
let seeded: Seeded
let pages: ReadonlyArray<ConsolePage> = []

beforeAll(async () => {
  await world.start()
  seeded = await seed(world.api(), { calls: 60 })
  pages = await consolePages(world.api(), seeded)
  browser = await startBrowser()
})
afterAll(async () => {
  await browser.close()
  await seeded.close()
  await world.stop()
})

const look = async (visitor: Visitor, { path, shows }: ConsolePage): Promise<ReadonlyArray<string>> => {
  await visitor.visit(path)
  await visitor.page.locator("main .spinner").first().waitFor({ state: "detached" })
  const isShown = await visitor.page
    .locator("main")
    .getByText(shows)
    .filter({ visible: true })
    .first()
    .waitFor()
    .then(() => true)
    .catch(() => false)
  const wide = await visitor.page.evaluate(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth"
  )
  // A list without rows would hide what is wrong with them.
  const blank = await visitor.page.locator("main .blank").allInnerTexts()
  const violations = await accessibilityOf(visitor.page)
  return [
    ...(isShown ? [] : [`does not show “${shows}”`]),
    ...blank.map((text) => `shows nothing: ${text}`),
    ...violations,
    ...(Number(wide) > 1 ? [`is ${wide} pixels too wide`] : []),
    ...visitor.trouble()
  ].map((text) => `${path}: ${text}`)
}

describe("every page", () => {
  for (const width of [1_280, 320])
    it(
      `shows its record without a mistake, ${width} pixels wide`,
      async () => {
        // A person each: one has 600 requests a minute, and nobody opens all pages in one.
        const email = `owner${width}@example.com`
        await world.api().call("POST", "/api/v1/users/invite", { email, role: "owner" })
        const visitor = await visitorOf(browser, world.dataDir, { width, email })
        const wrong: Array<string> = []
        for (const page of pages) wrong.push(...(await look(visitor, page)))
        await visitor.close()
        assert.strictEqual(wrong.join("\n"), "")
      },
      scaled(180_000)
    )
})

/** Waits until a page has been answered all that it asked for, but for its stream, and asks for no more. */
const quietOf = ({ context, page }: Visitor) => {
  const open = new Set<Request>()
  let last = 0
  context.on("request", (request) => {
    if (request.url().includes("/watch?")) return
    open.add(request)
    last = Date.now()
  })
  const close = (request: Request) => {
    open.delete(request)
    last = Date.now()
  }
  context.on("requestfinished", close)
  context.on("requestfailed", close)
  return async () => {
    last = Date.now()
    while (open.size > 0 || Date.now() - last < 100) await page.waitForTimeout(25)
  }
}

describe("a role", () => {
  it(
    "that has only what a page takes sees it, and the page asks for nothing else",
    async () => {
      const { call } = world.api()
      const all = { name: "narrow", parent: "admin", permissions: { events: ["read"] } }
      const made = await call("POST", "/api/v1/roles", all)
      assert.strictEqual(made.status, 201, JSON.stringify(made.body))
      const email = "narrow@example.com"
      await call("POST", "/api/v1/users/invite", { email, role: "narrow" })
      const visitor = await visitorOf(browser, world.dataDir, { email })
      const isQuiet = quietOf(visitor)
      const wrong: Array<string> = [...visitor.trouble()]
      const rights = new Set(pages.flatMap(({ needs = [] }) => needs))
      for (const right of rights) {
        const [area = "", action = ""] = right.split(":")
        const changed = await call("PUT", `/api/v1/roles/${made.body.data.id}`, { permissions: { [area]: [action] } })
        assert.strictEqual(changed.status, 200, JSON.stringify(changed.body))
        // As long as what is known of a caller may be kept in memory.
        await visitor.page.waitForTimeout(1_000)
        await visitor.page.goto("/console/")
        await visitor.page.locator("main h1").waitFor()
        for (const { path } of pages.filter(({ needs }) => needs === right)) {
          await visitor.visit(path)
          await isQuiet()
          const text = await visitor.page.locator("main").innerText()
          // A part of a page may take more.
          if (!/[?]|new$/.test(path) && text.includes("Your role does not show you this"))
            wrong.push(`${path} is closed to ${right}`)
          wrong.push(...visitor.trouble().map((one) => `${path} with ${right}: ${one}`))
        }
      }
      await visitor.close()
      assert.strictEqual(wrong.join("\n"), "")
    },
    scaled(180_000)
  )
})
