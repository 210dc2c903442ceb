/**
 * Pages follow what changes, as the watch tells it: all tabs of a browser share one stream, also after one is closed and after the
 * service was killed; a run that was drawn while it went on looks as it does when it is loaded afterwards.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Browser, Page } from "playwright-core"
import { startBrowser, type Visitor, visitorOf } from "../support/console/Browser.js"
import { eventually } from "../support/eventually.js"
import { freePort } from "../support/freePort.js"
import { worldOf } from "../support/World.js"

let world: ReturnType<typeof worldOf>
let browser: Browser
let owner: Visitor
/** Streams that were asked for, by what they watch. */
let streams: ReadonlyArray<string> = []

beforeAll(async () => {
  // Its address stays the same when it is started again.
  world = worldOf({ allow: true, env: { SVC_PORT: String(await freePort()) } })
  await world.start()
  browser = await startBrowser()
  owner = await visitorOf(browser, world.dataDir, {
    // Until the service that starts again serves pages, its address answers 404.
    expects: ["ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE", "/livez)"]
  })
  owner.context.on("request", (request) => {
    if (request.url().includes("/api/v1/watch?")) streams = [...streams, request.url()]
  })
})
afterAll(async () => {
  await browser.close()
  await world.stop()
})

const rowsOf = (page: Page) => page.locator("main .waterfall tbody tr").allInnerTexts()

describe("pages", () => {
  it("draw a run as it goes on, and at its end as it is loaded afterwards", async () => {
    const { page, visit } = owner
    const client = world.api()
    const workflow = await client.workflow(
      "steps",
      "standard",
      `export default async () => {
        for (let n = 0; n < 6; n++) {
          await svc.step("part", {}, async (svc) => { await svc.state.set("n", n) })
          await new Promise((resolve) => setTimeout(resolve, 400))
        }
      }`
    )
    const id = (await client.run(workflow)).body.executionId
    await visit(`/runs/${id}`)
    await page.locator("main header").getByText("running").waitFor()
    const before = (await rowsOf(page)).length
    await eventually(
      () => rowsOf(page),
      (rows) => rows.length > before
    )
    await page.locator("main header").getByText("completed").waitFor()
    await page.waitForTimeout(1_000)
    const live = await rowsOf(page)
    await page.reload()
    await page.locator("main .waterfall tbody tr").first().waitFor()
    assert.deepStrictEqual(live, await rowsOf(page))
    assert.isAtLeast(live.length, 12)
  })

  it("of all tabs share one stream, which another tab takes over", async () => {
    const { context, page, visit } = owner
    const client = world.api()
    await visit("/runs")
    const other = await context.newPage()
    streams = []
    await other.clock.install()
    const told = other.waitForResponse((response) => response.url().includes("created_after"))
    await other.goto("/console/runs")
    await other.locator("main tbody tr").first().waitFor()
    await page.locator("main tbody tr").first().waitFor()
    await told
    // A tab that does not read the stream itself is told as well that there is one, and polls nothing.
    let polls: ReadonlyArray<string> = []
    other.on("request", (request) => {
      if (request.url().includes("/api/v1/executions?")) polls = [...polls, request.url()]
    })
    for (let n = 0; n < 2; n++) {
      await other.clock.fastForward(15_000)
      await other.evaluate(async () => await (await fetch("/livez")).text())
    }
    assert.deepStrictEqual(polls, [])
    await client.run(client.dev.exampleWorkflowId, { name: "both" })
    const newer = (tab: Page) => tab.getByRole("button", { name: /Show \d+ newer/ })
    await Promise.all([page, other].map((tab) => newer(tab).waitFor()))
    assert.deepStrictEqual(streams, [])

    await page.close()
    await eventually(
      async () => streams.length,
      (count) => count === 1
    )
    const shown = await other.locator("main tbody tr").count()
    await newer(other).click()
    // A run that is started before the list is read again is no newer one.
    await other.locator("main tbody tr").nth(shown).waitFor()
    await client.run(client.dev.exampleWorkflowId, { name: "the other" })
    await newer(other).waitFor()
    await other.close()
  })

  it("go on after the service was killed", async () => {
    const page = await owner.context.newPage()
    await page.goto("/console/runs")
    await page.locator("main tbody tr").first().waitFor()
    await world.crash()
    const client = world.api()
    await client.run(client.dev.exampleWorkflowId, { name: "again" })
    await page.getByRole("button", { name: /Show \d+ newer/ }).waitFor()
    assert.deepStrictEqual(owner.trouble(), [])
  })
})
