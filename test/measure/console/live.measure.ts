/** Pages show soon what changes, in all tabs: nothing is polled in so short a time. */
import { afterAll, beforeAll, it } from "@effect/vitest"
import type { Browser } from "playwright-core"
import { startBrowser, type Visitor, visitorOf } from "../../support/console/Browser.js"
import { assertWithin } from "../../support/pace.js"
import { worldOf } from "../../support/World.js"

const world = worldOf({ allow: true })
let browser: Browser
let owner: Visitor
beforeAll(async () => {
  await world.start()
  browser = await startBrowser()
  owner = await visitorOf(browser, world.dataDir)
}, 60_000)
afterAll(async () => {
  await browser.close()
  await world.stop()
}, 60_000)

it("a run that starts", async () => {
  const { context, page, visit } = owner
  const { dev, run } = world.api()
  await visit("/runs")
  const other = await context.newPage()
  await other.goto("/console/runs")
  for (const tab of [page, other]) await tab.locator("main tbody tr").first().waitFor()
  const from = performance.now()
  await run(dev.exampleWorkflowId, { name: "both" })
  for (const tab of [page, other]) await tab.getByRole("button", { name: /Show \d+ newer/ }).waitFor()
  assertWithin(performance.now() - from, 4_000)
}, 60_000)
