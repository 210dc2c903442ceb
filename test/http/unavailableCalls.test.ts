/** `svc.sync`, which this release does not have, says so and what to use. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

const ask = (method: string, target: string, body: unknown) =>
  svc.ask(method, `/api/v1/workflows${target}`, { key: svc.first.key, body })

describe("a call of svc.sync", () => {
  it("fails with a typed error that names what to use instead", async () => {
    const code = `export default async () => {
      try { await svc.sync.upsert({ entityType: "contact", source: {}, target: {} }) } catch (error) {
        return { name: error.name, code: error.code, message: error.message, isError: error instanceof Error }
      }
    }`
    const made = await ask("POST", "", { name: "caught", form: "code", code })
    assert.strictEqual(made.status, 201, made.text)
    assert.deepStrictEqual(made.body.data.warnings, [])
    await ask("POST", `/${made.body.data.id}/publish`, {})
    const ran = await ask("POST", `/${made.body.data.id}/execute`, {})
    assert.strictEqual(ran.status, 200, ran.text)
    const { message, ...rest } = ran.body
    assert.deepStrictEqual(rest, { name: "NotAvailable", code: "NOT_AVAILABLE", isError: true })
    assert.isTrue(message.startsWith("svc.sync.upsert: this release keeps no records in sync; "), message)
    assert.include(message, "svc.diff.compare")
  })

  it("fails a run that does not catch it, and is not retried", async () => {
    const code = "export default async () => { await svc.sync.upsert({}) }"
    const made = await ask("POST", "", { name: "uncaught", form: "code", code })
    await ask("POST", `/${made.body.data.id}/publish`, {})
    const ran = await ask("POST", `/${made.body.data.id}/execute`, {})
    assert.deepStrictEqual([ran.status, ran.headers["x-svc-execution-status"]], [200, "failed"], ran.text)
    assert.deepInclude(ran.body.error, { name: "NotAvailable", category: "code", retryable: false })
  })
})
