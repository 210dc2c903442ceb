/** Refused keys are rate-limited without harm to the service, its audit trail, or others behind the same address. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { refusalLimits } from "../../src/domain/Limits.js"
import { subscriberOf } from "../../src/http/auth/RefusalCounters.js"
import { eventually } from "../support/eventually.js"
import { type Answer, type Running, start } from "../support/InProcess.js"

let svc: Running
let full: string
beforeAll(async () => {
  svc = await start()
  full = svc.first.key
})
afterAll(() => svc.stop())

const make = async (body: object): Promise<{ readonly id: string; readonly key: string }> =>
  (await svc.ask("POST", "/api/v1/api-keys", { key: full, body: { name: "k", mode: "live", ...body } })).body.data

const list = (key: string, from: string, headers: object = {}) =>
  svc.ask("GET", "/api/v1/customers", { from, headers: { authorization: `Bearer ${key}`, ...headers } })

const repeated = async (times: number, ask: (at: number) => Promise<Answer>): Promise<ReadonlyArray<Answer>> => {
  const answers: Array<Answer> = []
  for (let at = 0; at < times; at++) answers.push(await ask(at))
  return answers
}

/** At most twice the limit, if the minute changes meanwhile. */
const assertLimited = (answers: ReadonlyArray<Answer>, limit: number) => {
  const looked = answers.filter(({ status }) => status === 401).length
  const limited = answers.filter(({ status }) => status === 429)
  assert.isAtLeast(looked, limit)
  assert.isAtMost(looked, 2 * limit)
  assert.strictEqual(looked + limited.length, answers.length)
  for (const { body, headers } of limited) {
    assert.strictEqual(body.code, "RATE_LIMITED")
    assert.isAtLeast(Number(headers["retry-after"]), 1)
    assert.isAtMost(Number(headers["retry-after"]), 60)
  }
}

const wrongKey = (at: number) => `svk_live_${String(at).padStart(43, "W")}`

describe("an address that sends keys which do not exist", () => {
  it("is answered 429 over its limit, and another address is not", async () => {
    const answers = await repeated(3 * refusalLimits.unknownCredentials, (at) => list(wrongKey(at), "192.0.2.10"))
    assertLimited(answers, refusalLimits.unknownCredentials)
    assert.strictEqual((await list(wrongKey(1), "192.0.2.11")).status, 401)
  })

  it("does not lock out a key that exists, used before or never", async () => {
    const fresh = await make({ preset: "full_access" })
    await repeated(2 * refusalLimits.unknownCredentials + 1, (at) => list(wrongKey(at), "192.0.2.12"))
    assert.strictEqual((await list(full, "192.0.2.12")).status, 200)
    // A new key works after a second from an address over its limit.
    await eventually(
      () => list(fresh.key, "192.0.2.12"),
      ({ status }) => status === 200
    )
  })

  it("is one whole /64 of IPv6", async () => {
    const answers = await repeated(3 * refusalLimits.unknownCredentials, (at) =>
      list(wrongKey(at), `2001:db8:0:7::${(at + 1).toString(16)}`)
    )
    assertLimited(answers, refusalLimits.unknownCredentials)
    assert.strictEqual((await list(wrongKey(1), "2001:db8:0:8::1")).status, 401)
    assert.strictEqual(subscriberOf("2001:db8::1"), "2001:db8:0:0::/64")
    assert.strictEqual(subscriberOf("::1"), "0:0:0:0::/64")
    assert.strictEqual(subscriberOf("192.0.2.1"), "192.0.2.1")
  })
})

describe("a key that is refused", () => {
  it("is answered 429 over its limit, and another key of that address is served", async () => {
    const revoked = await make({})
    await svc.ask("DELETE", `/api/v1/api-keys/${revoked.id}`, { key: full })
    const answers = await repeated(4 * refusalLimits.ofOneCaller, () => list(revoked.key, "192.0.2.20"))
    assertLimited(answers, refusalLimits.ofOneCaller)
    assert.strictEqual((await list(full, "192.0.2.20")).status, 200)
    const started = await repeated(refusalLimits.ofOneCaller + 1, () =>
      svc.ask("POST", `/api/v1/workflows/${svc.first.workflowId}/execute`, {
        key: revoked.key,
        from: "192.0.2.20",
        body: {}
      })
    )
    // All of them, unless the minute has changed meanwhile.
    assert.strictEqual(started.at(-1)?.status, 429)
  })

  it("is no longer verified after wrong signatures, from that address", async () => {
    const signing = await make({ preset: "full_access", hmac: { enabled: true } })
    const wrong = { "x-identity-hmac": `t=${Math.floor(Date.now() / 1000)},v1=${"0".repeat(64)}` }
    const answers = await repeated(4 * refusalLimits.ofOneCaller, () => list(signing.key, "192.0.2.21", wrong))
    assertLimited(answers, refusalLimits.ofOneCaller)
    assert.strictEqual((await list(signing.key, "192.0.2.22", wrong)).status, 401)
  })

  it("without a required header does not lock out calls that have it", async () => {
    const test = await make({ mode: "test", preset: "full_access" })
    await repeated(3 * refusalLimits.ofOneCaller, () => list(test.key, "192.0.2.23"))
    assert.strictEqual((await list(test.key, "192.0.2.23", { "x-svc-test-mode": "true" })).status, 200)
  })
})
