/** `fetch` reads headers in a time linear in them. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { run, startCalls, stopCalls, workflow } from "../../support/calls.js"
import { assertWithin } from "../../support/pace.js"

const receiver = createServer((_, response) => response.end("ok"))
beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve))
  await startCalls()
}, 60_000)
afterAll(async () => {
  await stopCalls()
  receiver.closeAllConnections()
  receiver.close()
})

it("twenty headers of 60,000 spaces", async () => {
  const id = await workflow(`
    for (let i = 0; i < 20; i++) await fetch(ctx.input.url, { headers: { a: "b" + " ".repeat(60_000) + "c" } }).catch(() => {})
    return 1`)
  const { port } = receiver.address() as AddressInfo
  const started = performance.now()
  const { body } = await run(id, { url: `http://127.0.0.1:${port}` })
  // A pattern took seconds for each of the twenty.
  assertWithin(performance.now() - started, 10_000)
  assert.strictEqual(body, 1)
})
