/**
 * A run with thousands of concurrent calls or timers ends as its own success or typed failure.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { run, startCalls, stopCalls, workflow } from "../support/calls.js"
import { manyCalls } from "../support/manyCalls.js"

/** The maximum of concurrent requests, and the order of their arrival. */
const seen = { now: 0, most: 0, paths: new Array<string>() }
const slow = createServer((request, response) => {
  seen.most = Math.max(seen.most, ++seen.now)
  seen.paths.push(request.url ?? "")
  // The client or the end of the test ends this request.
  if (request.url === "/hang") return
  setTimeout(() => {
    seen.now--
    response.end("ok")
  }, 20)
})
const slowUrl = () => `http://127.0.0.1:${(slow.address() as AddressInfo).port}/`

beforeAll(async () => {
  await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve))
  await startCalls()
})
afterAll(async () => {
  await stopCalls()
  slow.closeAllConnections()
  slow.close()
})

/** The run's answer. */
const answerOf = async (body: string, input: unknown = {}) => {
  const { body: answer, status } = await run(await workflow(body), input)
  assert.strictEqual(status, 200)
  return answer
}

describe("A run that makes more calls than it awaits", () => {
  it.each(manyCalls)("%s", async (_, body, expected) => {
    const answer = await answerOf(body, { url: slowUrl() })
    assert.deepStrictEqual(answer?.error?.name ?? answer, expected)
  })
})

describe("The calls of one run", () => {
  it("are sent at most 64 at a time, in the order of the run's calls", async () => {
    Object.assign(seen, { now: 0, most: 0, paths: [] })
    const answer = await answerOf(
      `const all = []; for (let i = 0; i < 300; i++) all.push(fetch(ctx.input.url + i).then((r) => r.text())); return (await Promise.all(all)).length`,
      { url: slowUrl() }
    )
    assert.strictEqual(answer, 300)
    assert.isAtMost(seen.most, 64)
    assert.isAbove(seen.most, 8)
    // Requests of one batch may overtake each other; a later batch never starts before an earlier one.
    const places = seen.paths.map((path) => Number(path.slice(1)))
    places.forEach((place, at) => assert.isBelow(Math.abs(place - at), 2 * 64))
  })
})

describe("An extreme scalar is a typed error at its call", () => {
  const refuses = (name: string, call: string, expected: RegExp) =>
    it(name, async () => {
      const answer = await answerOf(`try { return await ${call} } catch (e) { return String(e) }`)
      assert.match(String(answer), expected)
    })
  for (const seconds of ["1e300", "-1", "0", "'soon'"]) {
    refuses(
      `ttlSeconds of ${seconds}`,
      `svc.state.set("k", 1, { ttlSeconds: ${seconds} })`,
      /^RangeError: .*ttlSeconds/
    )
  }
  refuses("an increment by Infinity", `svc.state.increment("n", Infinity)`, /^TypeError: argument 2 .* Infinity/)
  refuses("a set to NaN", `svc.state.set("n", NaN)`, /^TypeError: argument 2 .* NaN/)
  refuses(
    "an increment beyond all numbers",
    `svc.state.set("n", 1e308).then(() => svc.state.increment("n", 1e308))`,
    /^TypeError: .*too large/
  )
  refuses("a key of many bytes", `svc.state.get("€".repeat(400))`, /^RangeError: .*512 bytes/)
  refuses("a key of a million characters", `svc.state.get("k".repeat(1e6))`, /^RangeError: .*512 bytes/)
  refuses("a timer longer than any run", `setTimeout(() => {}, 1e18)`, /^RangeError: setTimeout waits at most/)
  refuses("a timer of Infinity", `setTimeout(() => {}, Infinity)`, /^RangeError: setTimeout waits at most/)
  refuses(
    "an argument that nests too deep",
    `(() => { let v = 1; for (let i = 0; i < 600; i++) v = [v]; return svc.state.set("deep", v) })()`,
    /^RangeError: .*nests deeper than 256/
  )
  it("a timer of NaN milliseconds fires at once, as in browsers and Node", async () => {
    const answer = await answerOf(`return await new Promise((r) => setTimeout(() => r("fired"), NaN))`)
    assert.strictEqual(answer, "fired")
  })
})
