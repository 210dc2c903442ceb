/** What answers without end, at any number of calls, take of the memory. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { assertBytes } from "../../support/figures.js"
import { call, type ProviderWorld, providerWorld } from "../../support/providerWorld.js"

let world: ProviderWorld
beforeAll(async () => {
  world = await providerWorld()
}, 60_000)
afterAll(() => world.close(), 30_000)

it("48 answers without end", { timeout: 120_000 }, async () => {
  await world.publish("bad", { actions: [call] })
  const id = await world.attempt("bad")
  for (const how of ["endless", "bomb"]) await world.connected("bad", { how }, { label: how })
  await world.run(id, { opts: { connection: "bomb" } })
  const before = process.memoryUsage().rss
  let most = before
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss)
  }, 5)
  const calls = Array.from({ length: 48 }, (_, at) =>
    world.run(id, { opts: { connection: at % 2 === 0 ? "endless" : "bomb", timeoutMs: 20_000 } })
  )
  const codes = (await Promise.all(calls)).map(({ body }) => body.code)
  clearInterval(timer)
  assert.deepStrictEqual([...new Set(codes)], ["TOO_LARGE"])
  // 48 answers of at most 4 MiB each, in several buffers; the provider is in this process too.
  assertBytes(most - before, 48 * 4 * 2 * 1024 * 1024)
})
