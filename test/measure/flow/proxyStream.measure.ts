/** Answers through the proxy that their callers do not read slow the provider down instead of filling the service's memory. */
import { get, type IncomingMessage } from "node:http"
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { setTimeout as pause } from "node:timers/promises"
import { svc } from "../../support/calls.js"
import { assertBytes } from "../../support/figures.js"
import { type FlowingProvider, startFlowingProvider } from "../../support/flowingProvider.js"
import { liveBytes } from "../../support/heap.js"

const MiB = 1024 * 1024
let provider: FlowingProvider
beforeAll(async () => {
  provider = await startFlowingProvider("flowing", "canary")
})
afterAll(() => provider.close())

const through = (path: string) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${svc.first.key}`,
      "x-svc-connector": "flowing",
      "x-org-id": svc.first.customerId
    }
    get({ port: provider.port, path: `/api/v1/proxy${path}`, headers }, resolve).once("error", reject)
  })

it("nine answers of 6 MiB that are not read", async () => {
  provider.scripts.set("/full", (_, response) => {
    let left = 96
    const more = () => {
      for (; left > 0; left--) if (!response.write(Buffer.alloc(64 * 1024))) return void response.once("drain", more)
      response.end()
    }
    more()
  })
  const before = liveBytes()
  const answers = await Promise.all(Array.from({ length: 9 }, () => through("/full")))
  // Pieces on their way through the sockets of this process count until they have gone.
  let held = Infinity
  for (let n = 0; n < 100 && held >= 12 * MiB; n++) {
    await pause(100)
    held = liveBytes() - before
  }
  assertBytes(held, 12 * MiB)
  for (const answer of answers) {
    for await (const _ of answer);
    assert.isTrue(answer.complete)
  }
})
