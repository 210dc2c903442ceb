/** A restart beside many runs with large journals needs little memory, and a stop needs little time. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { api, type Api } from "../../support/api.js"
import { eventually } from "../../support/eventually.js"
import { assertBytes } from "../../support/figures.js"
import { assertWithin } from "../../support/pace.js"
import { makeDataDirectory, prepareData, type Service, startService } from "../../support/Service.js"
import { isLong } from "../../support/longForm.js"

const mebibyte = 1024 * 1024
/** `SVC_TEST_LONG=1 npm run measure largeJournals` measures the long form. */
const runs = isLong ? 8 : 4
/** Calls of one run before it waits; each answer has almost 4 MiB. */
const calls = isLong ? 60 : 20
const answerBytes = 4 * mebibyte - 1024
/** What a stop may take by default. */
const graceMillis = 30_000

const place = makeDataDirectory()
let isOpen = false
const atGate = new Set<string>()
const provider = createServer((request, response) => {
  request.resume()
  if (request.url?.startsWith("/gate") !== true) return response.end(Buffer.alloc(answerBytes, "x"))
  atGate.add(request.url)
  return isOpen ? response.end("open") : undefined
})
let current: Service
let client: Api
const restart = async () => {
  await prepareData(place.dataDir)
  current = startService({ dataDir: place.dataDir, env: { SVC_EGRESS_ALLOW: "127.0.0.1/32" } })
  await current.ready
  client = api(place.dataDir)
}
beforeAll(async () => {
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve))
  await restart()
}, 120_000)
afterAll(async () => {
  current.kill("SIGKILL")
  await current.ended
  provider.closeAllConnections()
  provider.close()
  place.remove()
}, 60_000)

const statusOf = (pid: number, member: string): number => {
  const found = new RegExp(`^${member}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))
  return Number(found?.[1]) * 1024
}
const rssOf = (pid: number) => statusOf(pid, "VmRSS")
const peakOf = (pid: number) => statusOf(pid, "VmHWM")
const resetPeak = (pid: number) => writeFileSync(`/proc/${pid}/clear_refs`, "5")

it("replays runs with large journals in little memory, and leaves one soon", { timeout: 600_000 }, async () => {
  const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  const flow = await client.workflow(
    "waiting",
    "standard",
    `export default async function (ctx) {
      for (let n = 0; n < ctx.input.calls; n++) await (await fetch(ctx.input.url)).text()
      // A request waits 30 seconds at most.
      for (;;) try { await fetch(ctx.input.url + "/gate?run=" + ctx.input.run); return 1 } catch {}
    }`
  )
  const ids: Array<string> = []
  for (let n = 0; n < runs; n++) {
    ids.push(String((await client.run(flow, { url, calls, run: n })).body.executionId))
    await eventually(
      async () => atGate.size,
      (waiting) => waiting === n + 1,
      120_000
    )
  }
  const started = performance.now()
  current.kill("SIGTERM")
  assert.strictEqual(await current.ended, 0, current.output())
  assertWithin(performance.now() - started, graceMillis / 3, "a stop")
  isOpen = true
  provider.closeAllConnections()
  await restart()
  const before = rssOf(current.pid)
  resetPeak(current.pid)
  for (const id of ids) assert.strictEqual((await client.ended(id, 120_000)).status, "completed")
  assertBytes(peakOf(current.pid) - before, 256 * mebibyte, "the replays")
})
