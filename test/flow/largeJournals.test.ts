/**
 * A journal larger than the memory: a run has a bound of journaled bytes, and runs with large journals are replayed in
 * pages.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { api, type Api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { proofs } from "../support/proofs.js"
import { makeDataDirectory, prepareData, type Service, startService } from "../support/Service.js"
import { scaled } from "../support/slowness.js"
import { isLong } from "../support/longForm.js"

const mebibyte = 1024 * 1024
/** `npm run test:kill` runs the long form. */
const runs = isLong ? 8 : 2
/** Calls of one run before it waits; each answer has almost 4 MiB. */
const calls = isLong ? 60 : 10
const answerBytes = 4 * mebibyte - 1024

describe("Runs with large journals", () => {
  const place = makeDataDirectory()
  /** Requests that wait for the test. */
  let gate: Array<() => void> | undefined = []
  /** The addresses that they asked for. */
  const atGate = new Set<string>()
  const provider = createServer((request, response) => {
    request.resume()
    if (request.url?.startsWith("/gate") !== true) return response.end(Buffer.alloc(answerBytes, "x"))
    atGate.add(request.url)
    const open = () => response.end("open")
    if (gate === undefined) open()
    else gate.push(open)
  })
  let url: string
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
    url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
    await restart()
  })

  afterAll(async () => {
    await proofs(current)
    provider.closeAllConnections()
    provider.close()
    place.remove()
  })

  it("end with JOURNAL_LIMIT at the call that crosses the bound of their tier", async () => {
    const greedy = await client.workflow(
      "greedy",
      "instant",
      `export default async function (ctx) {
        let n = 0
        for (; n < 100; n++) try { await fetch(ctx.input.url) } catch { return "caught" }
        return n
      }`
    )
    const { body } = await client.run(greedy, { url })
    assert.strictEqual(body.status, "failed")
    assert.deepInclude(body.error, { code: "JOURNAL_LIMIT", category: "quota", step: "fetch#17", retryable: false })
    assert.include(body.error.message, "64 MiB")
  })

  it(
    "are replayed after a kill in pages, and go on with the results that they had",
    { timeout: scaled(300_000) },
    async () => {
      const waiting = await client.workflow(
        "waiting",
        "standard",
        `export default async function (ctx) {
        let bytes = 0
        for (let n = 0; n < ctx.input.calls; n++) bytes += (await (await fetch(ctx.input.url)).text()).length
        // A request waits 30 seconds at most, and the other runs may need longer to come here.
        for (;;)
          try {
            await fetch(ctx.input.url + "/gate?run=" + ctx.input.run)
            return bytes
          } catch (error) {
            if (error.code !== "TIMED_OUT") throw error
          }
      }`
      )
      const ids: Array<string> = []
      // One after the other: the test is about their replays.
      for (let n = 0; n < runs; n++) {
        const { body } = await client.run(waiting, { url, calls, run: n })
        const id = String(body.executionId)
        ids.push(id)
        await eventually(
          async () => atGate.size,
          (waiting) => waiting === n + 1,
          120_000
        )
      }
      gate = undefined
      current.kill("SIGKILL")
      await current.ended
      await restart()
      for (const id of ids) {
        const ended = await client.ended(id, 120_000)
        assert.strictEqual(ended.status, "completed", JSON.stringify(ended.error))
        assert.strictEqual(ended.output, calls * answerBytes)
      }
    }
  )

  it("are left by a stop within its grace, and go on after it", { timeout: scaled(300_000) }, async () => {
    const opened: Array<() => void> = []
    gate = opened
    const mostCalls = isLong ? Math.ceil((105 * mebibyte) / answerBytes) : calls
    const open = await client.workflow(
      "open",
      "standard",
      `export default async function (ctx) {
        let bytes = 0
        for (let n = 0; n < ctx.input.calls; n++) bytes += (await (await fetch(ctx.input.url)).text()).length
        await fetch(ctx.input.url + "/gate", { signal: AbortSignal.timeout(110_000) })
        await new Promise((resolve) => setTimeout(resolve, ctx.input.millis))
        return bytes
      }`
    )
    const start = async (millis: number) =>
      String((await client.run(open, { url, calls: mostCalls, millis })).body.executionId)
    const awaitAtGate = (count: number) =>
      eventually(
        async () => opened.length,
        (waiting) => waiting === count,
        120_000
      )
    const inCall = await start(0)
    await awaitAtGate(1)
    const inTimer = await start(10_000)
    await awaitAtGate(2)
    opened[1]?.()
    await assertLeaves()
    // The next stop comes while the journals are read, or when the call has been made again.
    const waiting = opened.length
    await restart()
    await eventually(
      async () => opened.length > waiting || /svc_held_bytes\{kind="journals"\} [1-9]/.test(await metrics()),
      (reads) => reads
    )
    await assertLeaves()
    await restart()
    gate = undefined
    for (const waiting of opened) waiting()
    for (const id of [inCall, inTimer]) {
      const ended = await client.ended(id, 120_000)
      assert.strictEqual(ended.status, "completed", JSON.stringify(ended.error))
      assert.strictEqual(ended.output, mostCalls * answerBytes)
    }
  })

  const metrics = async () => String((await client.call("GET", "/metrics")).body)

  /** A stop that its grace ended would exit with 1. */
  const assertLeaves = async () => {
    current.kill("SIGTERM")
    assert.strictEqual(await current.ended, 0, current.output())
  }
})
