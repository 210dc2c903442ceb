/** A run with thousands of concurrent calls or timers holds the main loop only briefly. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { run, startCalls, stopCalls, workflow } from "../../support/calls.js"
import { assertLoopWithin } from "../../support/loopDelay.js"
import { manyCalls } from "../../support/manyCalls.js"

// The end of the test ends its requests.
const silent = createServer(() => undefined)
beforeAll(async () => {
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve))
  await startCalls()
}, 60_000)
afterAll(async () => {
  await stopCalls()
  silent.closeAllConnections()
  silent.close()
})

it.each(manyCalls)("%s", { timeout: 120_000 }, async (_, body) => {
  const id = await workflow(body)
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`
  // Far above what a quiet machine takes, and far below the seconds of work that the service cuts into slices.
  await assertLoopWithin(1_500, async () => assert.strictEqual((await run(id, { url })).status, 200))
})
