/** A key cannot create, change or rotate a key that is wider than itself. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

const make = async (body: object): Promise<{ readonly id: string; readonly key: string }> => {
  const made = await svc.ask("POST", "/api/v1/api-keys", {
    key: svc.first.key,
    body: { name: "k", mode: "live", preset: "full_access", ...body }
  })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data
}

describe("a key", () => {
  it.each([
    ["mode", { mode: "test" }, { mode: "live" }],
    ["allowedIps", { allowedIps: ["192.0.2.0/24"] }, { allowedIps: [] }],
    ["allowedIps", { allowedIps: ["192.0.2.0/24"] }, { allowedIps: ["192.0.0.0/16"] }],
    ["rateLimitPerMinute", { rateLimitPerMinute: 500 }, { rateLimitPerMinute: null }],
    ["expires", { expires: "30d" }, { expires: "never" }],
    ["resourceScope", { resourceScope: [{ type: "workflow", ids: ["wf_000000000000"] }] }, { resourceScope: [] }]
  ])("makes, changes and rotates no key that is wider than itself in %s: %j", async (attribute, own, more) => {
    const bound = await make({ expires: "never", ...own })
    const as = {
      from: "192.0.2.7",
      headers: { authorization: `Bearer ${bound.key}`, "x-svc-test-mode": "true" }
    }
    const made = (body: object) =>
      svc.ask("POST", "/api/v1/api-keys", { ...as, body: { name: "n", preset: "viewer", mode: "live", ...body } })
    const wide = await make({ expires: "never", ...more })
    const answers = [await made({ ...own, ...more })]
    answers.push(await svc.ask("POST", `/api/v1/api-keys/${wide.id}/rotate`, { ...as, body: {} }))
    answers.push(await svc.ask("PUT", `/api/v1/api-keys/${wide.id}`, { ...as, body: { name: "taken over" } }))
    const editable = attribute === "allowedIps" || attribute === "rateLimitPerMinute"
    if (editable) answers.push(await svc.ask("PUT", `/api/v1/api-keys/${bound.id}`, { ...as, body: more }))
    for (const { body, status, text } of answers)
      assert.deepStrictEqual([status, body.details?.[0]?.path], [403, attribute], text)
    const within = await made({ ...own, expires: undefined })
    assert.strictEqual(within.status, 201, within.text)
  })

  it("expires no later than the key that created it, by default", async () => {
    const bound = await make({ expires: "30d" })
    const made = await svc.ask("POST", "/api/v1/api-keys", { key: bound.key, body: { name: "n" } })
    assert.strictEqual(made.status, 201, made.text)
    assert.approximately((Date.parse(made.body.data.expiresAt) - Date.now()) / 86_400_000, 30, 0.1)
  })
})
