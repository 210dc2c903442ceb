/**
 * A run with thousands of concurrent calls or timers ends as its own success or typed failure, and delays no other run.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { run, startCalls, stopCalls, workflow } from "../support/calls.js"
import { assertWithin } from "../support/pace.js"

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
}, 60_000)
afterAll(async () => {
  await stopCalls()
  slow.closeAllConnections()
  slow.close()
})

/** The run's answer, and the longest delay of the event loop meanwhile. */
const measured = async (body: string, input: unknown = {}) => {
  const id = await workflow(body)
  let longest = 0
  let last = performance.now()
  const poll = setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
  }, 5)
  const { body: answer, status } = await run(id, input)
  clearInterval(poll)
  assert.strictEqual(status, 200)
  return { answer, longest }
}

/** Far above what a quiet machine takes, and far below the seconds of work that the service cuts into slices. */
const heldUpMillis = 1500

describe("A run that makes more calls than it awaits", () => {
  const ends = (name: string, body: string, expected: unknown) =>
    it(name, { timeout: 60_000 }, async () => {
      const { answer, longest } = await measured(body, { url: slowUrl() })
      assert.deepStrictEqual(answer?.error?.name ?? answer, expected)
      assertWithin(longest, heldUpMillis)
    })

  ends(
    "ends with thousands of reads that are not awaited",
    `for (let i = 0; i < 4000; i++) svc.state.get("k" + i); return await svc.state.get("x")`,
    null
  )
  ends(
    "gets the results of as many calls as a run is allowed",
    `const all = []; for (let i = 0; i < 9999; i++) all.push(svc.envConfig.get("k" + i, i)); return (await Promise.all(all)).every((v, i) => v === i)`,
    true
  )
  ends(
    "fails as TooManyCalls beyond the allowed number of calls",
    `const all = []; for (let i = 0; i < 20000; i++) all.push(svc.state.get("k" + i)); return (await Promise.all(all)).length`,
    "TooManyCalls"
  )
  ends(
    "sets thousands of short timers, which fire in the order of their times",
    `const order = []; for (let i = 0; i < 3000; i++) setTimeout(() => order.push(i % 300), i % 300); await new Promise((r) => setTimeout(r, 320)); return order.length === 3000 && order.every((v, i) => i === 0 || order[i - 1] <= v)`,
    true
  )
  ends(
    "sets thousands of long timers",
    `for (let i = 0; i < 5000; i++) setTimeout(() => {}, 50_000); await new Promise((r) => setTimeout(r, 1)); return 1`,
    1
  )
  ends(
    "writes thousands of long lines in one step",
    `const s = "x".repeat(1500); for (let i = 0; i < 9900; i++) console.log(s); return 5`,
    5
  )
  ends(
    "fails as TooMuchAsked when the arguments of waiting calls become too many",
    `const s = "x".repeat(1 << 20); for (let i = 0; i < 9; i++) { for (let k = 0; k < 12; k++) fetch(ctx.input.url + "hang", { method: "POST", body: s }); await new Promise((r) => setTimeout(r, 1)) } return 1`,
    "TooMuchAsked"
  )
  ends(
    "ends on time, since timers take no place among the concurrent calls",
    `for (let i = 0; i < 200; i++) new Promise((r) => setTimeout(r, 20_000)); await new Promise((r) => setTimeout(r, 5)); return "on time"`,
    "on time"
  )
})

describe("The calls of one run", () => {
  it("are sent at most 64 at a time, in the order of the run's calls", { timeout: 60_000 }, async () => {
    Object.assign(seen, { now: 0, most: 0, paths: [] })
    const { answer } = await measured(
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
      const { answer } = await measured(`try { return await ${call} } catch (e) { return String(e) }`)
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
    const { answer } = await measured(`return await new Promise((r) => setTimeout(() => r("fired"), NaN))`)
    assert.strictEqual(answer, "fired")
  })
})
