/**
 * The console in a real browser: how soon the page of runs can be used, also with a CPU that is four times slower; what a fast
 * scroll through 10,000 runs costs; how soon a run of 9,990 calls is drawn.
 */
import type { CDPSession, Page } from "playwright-core"
import { startBrowser, visitorOf } from "../test/support/console/Browser.js"
import { median } from "./support/Ratios.js"
import { publish, publishWorkflow, type Service, startService } from "./support/Service.js"
import { Table } from "./support/Table.js"

const runs = 10_000
const calls = 9_990
const rounds = 5
const scrollMillis = 20_000
const longFrame = 50

const verdict = (isReached: boolean): string => (isReached ? "reached" : "MISSED")

/** Starts runs of a workflow that ends at once, 64 at a time. */
const makeRuns = async ({ call }: Service, workflow: string): Promise<void> => {
  let left = runs
  const next = async () => {
    while (left-- > 0) await call("POST", `/api/v1/workflows/${workflow}/execute`, { input: {} })
  }
  await Promise.all(Array.from({ length: 64 }, next))
}

const makeLongRun = async ({ call }: Service): Promise<string> => {
  const workflow = await publishWorkflow({ call } as Service, {
    name: "many-calls",
    form: "code",
    tier: "long",
    code: `export default async () => { for (let n = 0; n < ${calls}; n++) await svc.state.get("n"); return ${calls} }`
  })
  const started = await call("POST", `/api/v1/workflows/${workflow}/execute`, { input: {} })
  const id = String(started["executionId"])
  for (;;) {
    const { data } = (await call("GET", `/api/v1/executions?page_size=1&workflow_id=${workflow}`)) as {
      readonly data: ReadonlyArray<{ readonly status: string }>
    }
    if (data[0]?.status === "completed") return id
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

/** From the request of the page until its first row is there, in milliseconds. */
const opened = async (page: Page, path: string, row: string): Promise<number> => {
  await page.goto("about:blank")
  const began = performance.now()
  await page.goto(`/console${path}`, { waitUntil: "commit" })
  await page.locator(row).first().waitFor()
  return performance.now() - began
}

const medianOf = async (measure: () => Promise<number>): Promise<number> => {
  const found: Array<number> = []
  for (let round = 0; round < rounds; round++) found.push(await measure())
  return median(found)
}

const slowed = (session: CDPSession, rate: number) => session.send("Emulation.setCPUThrottlingRate", { rate })

/** Scrolls to the end of what is read, until all is read, as fast as frames come. */
const scrolled = (page: Page) =>
  page.evaluate(`new Promise((resolve) => {
    const list = document.querySelector(".list")
    const frames = []
    const began = performance.now()
    let last = began
    let elements = 0
    const step = (now) => {
      frames.push(now - last)
      last = now
      list.scrollTop += 400
      elements = Math.max(elements, document.querySelectorAll("*").length)
      if (now - began < ${scrollMillis}) requestAnimationFrame(step)
      else resolve({
        frames: frames.length,
        long: frames.filter((millis) => millis > ${longFrame}).length,
        elements,
        rows: Math.round(list.scrollHeight / 36)
      })
    }
    requestAnimationFrame(step)
  })`) as Promise<{ readonly frames: number; readonly long: number; readonly elements: number; readonly rows: number }>

export const consolePages = async (): Promise<void> => {
  const service = await startService()
  const browser = await startBrowser()
  const table = new Table("", "measured", "must", "")
  const add = (name: string, measured: number, must: number, unit: string) =>
    table.add(name, `${measured.toFixed(measured < 10 ? 1 : 0)} ${unit}`, `${must} ${unit}`, verdict(measured <= must))
  try {
    await makeRuns(service, await publish(service, "trivial", "return 1"))
    const long = await makeLongRun(service)
    const { context, page } = await visitorOf(browser, service.dataDir)
    const session = await context.newCDPSession(page)
    const row = "main tbody tr td a"
    await opened(page, "/runs", row)
    add("runs, usable", await medianOf(() => opened(page, "/runs", row)), 1_000, "ms")
    await slowed(session, 4)
    add("runs, usable, CPU / 4", await medianOf(() => opened(page, "/runs", row)), 3_000, "ms")
    await slowed(session, 1)

    await opened(page, "/runs", row)
    const next = Number(
      await page.evaluate(`new Promise((resolve) => {
        const list = document.querySelector(".list")
        const before = list.scrollHeight
        const began = performance.now()
        list.scrollTop = before
        const look = () => list.scrollHeight > before + 360 ? resolve(performance.now() - began) : requestAnimationFrame(look)
        look()
      })`)
    )
    add("runs, next page", next, 100, "ms")
    const { elements, frames, long: longFrames, rows } = await scrolled(page)
    add(`scrolled ${rows} rows: frames over ${longFrame} ms`, (100 * longFrames) / frames, 1, "%")
    add("its elements at most", elements, 1_500, "")
    await session.send("HeapProfiler.collectGarbage")
    const { usedSize } = (await session.send("Runtime.getHeapUsage")) as { readonly usedSize: number }
    add("its heap", usedSize / 2 ** 20, 80, "MB")

    const step = ".waterfall tbody tr .step-name"
    add(`a run of ${calls} calls`, await medianOf(() => opened(page, `/runs/${long}`, step)), 1_000, "ms")
  } finally {
    await browser.close()
    await service.stop()
  }
  table.note(`${runs} runs; medians of ${rounds} loads; the scroll takes ${scrollMillis / 1_000} s`)
  table.print("The console in Chromium")
}
