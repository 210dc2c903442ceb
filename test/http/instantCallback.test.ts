/** A start of an Instant workflow with a callback is answered at once and called back. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { eventually } from "../support/eventually.js"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { startReceiver, type Receiver } from "../support/receiver.js"

let svc: Running
let outside: Receiver
beforeAll(async () => {
  outside = await startReceiver()
  svc = await startShared()
})
afterAll(async () => {
  await svc.stop()
  await outside.close()
})

const execute = (body: object, headers: { readonly [name: string]: string } = {}) =>
  svc.ask("POST", `/api/v1/workflows/${svc.first.workflowId}/execute`, { key: svc.first.key, body, headers })

const calledAt = async (path: string) => {
  const [one] = await eventually(
    async () => outside.at(path),
    (found) => found.length > 0
  )
  return JSON.parse(one?.body ?? "")
}

describe("a callback of an Instant run", () => {
  it("is called with the run's answer", async () => {
    const ran = await execute({ input: {}, metadata: { order: 7 }, callback: { url: `${outside.url}/body` } })
    assert.strictEqual(ran.status, 200, ran.text)
    const { data, type } = await calledAt("/body")
    assert.strictEqual(type, "execution.completed")
    assert.deepInclude(data, {
      executionId: ran.headers["x-svc-execution-id"],
      tier: "instant",
      status: "completed",
      output: ran.body,
      metadata: { order: 7 }
    })
  })

  it("is called if a header names it", async () => {
    const ran = await execute({}, { "x-svc-callback-url": `${outside.url}/header` })
    assert.strictEqual((await calledAt("/header")).data.executionId, ran.headers["x-svc-execution-id"])
  })

  it("is called only for the events that it names", async () => {
    await execute({ callback: { url: `${outside.url}/failed`, events: ["execution.failed"] } })
    await execute({ callback: { url: `${outside.url}/completed`, events: ["execution.completed"] } })
    await calledAt("/completed")
    assert.lengthOf(outside.at("/failed"), 0)
  })

  it("is refused if it cannot be called", async () => {
    for (const url of ["ftp://example.com/x", "https://10.0.0.1/x", "nowhere"]) {
      const refused = await execute({ callback: { url } })
      assert.deepStrictEqual(
        [refused.status, refused.body.code, refused.body.details?.[0]?.path],
        [422, "VALIDATION_FAILED", "callback.url"],
        `${url}: ${refused.text}`
      )
    }
  })
})
