/** Each row of the error table that the unified API has, over REST and in runs, for customers of their own. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { connectTo, plainCrm, type PlainCrm, publishDefinition, startPlainCrm } from "../support/unified/PlainCrm.js"

const [one, two] = ["error-crm", "other-crm"]
let svc: Running
let crm: PlainCrm
let customers = 0
let workflow = ""
let firstConnection = ""

/** The plain CRM, whose calls may take a fifth of a second. */
const impatient = (slug: string, maxAttempts: number) => {
  const plain = plainCrm(slug)
  const actions = plain.actions.map((action) => ({ ...action, timeoutMs: 200 }))
  return { ...plain, actions, retry: { initialMs: 10, maxAttempts } }
}

beforeAll(async () => {
  svc = await startShared()
  crm = await startPlainCrm()
  for (let index = 0; index < 3; index += 1) crm.add()
  await publishDefinition(svc, impatient(one, 1))
  await publishDefinition(svc, impatient(two, 2))
  firstConnection = await connectTo(svc, one, crm.url)
  const code = `export default async (ctx) => svc.unified.crm.contact[ctx.input.verb](ctx.input.args, ctx.input.options)
    .catch(({ category, code, message }) => ({ category, code, message }))`
  const made = await done("POST", "/workflows", { name: "record_errors", form: "code", code })
  workflow = made.id
  await done("POST", `/workflows/${workflow}/publish`, {})
})
afterAll(async () => {
  await svc.stop()
  await crm.stop()
})

const ask = (
  method: string,
  target: string,
  body?: unknown,
  headers: Record<string, string> = {},
  key = svc.first.key
) => svc.ask(method, `/api/v1${target}`, { key, headers, ...(body === undefined ? {} : { body }) })
const done = async (...args: Parameters<typeof ask>) => {
  const answer = await ask(...args)
  assert.oneOf(answer.status, [200, 201, 204], answer.text)
  return answer.body?.data
}
const customer = async (): Promise<string> => (await done("POST", "/customers", { name: `c${(customers += 1)}` })).id
const records = (method: string, target: string, of: string, body?: unknown, headers: Record<string, string> = {}) =>
  ask(method, `/unified/crm/contact${target}`, body, { "x-end-org-id": of, ...headers })
const run = async (of: string, verb: string, args: object, options: object = {}) => {
  const answer = await ask(
    "POST",
    `/workflows/${workflow}/execute`,
    { input: { verb, args, options } },
    { "x-end-org-id": of }
  )
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.body
}

describe("A customer with two connectors that serve a category", () => {
  it("is asked which, unless the request or the configuration names one", async () => {
    const both = await customer()
    await connectTo(svc, one, crm.url, both)
    const other = await connectTo(svc, two, crm.url, both)
    const page = await records("GET", "", both)
    assert.deepStrictEqual(
      [page.status, page.body.code, page.body.details[0].code],
      [409, "CONFLICT", "AMBIGUOUS_CONNECTION"]
    )
    assert.include(page.body.message, "unified.crm")
    assert.strictEqual((await run(both, "list", {})).code, "AMBIGUOUS_CONNECTION")

    assert.strictEqual((await records("GET", `?provider=${one}`, both)).body.meta.provider, one)
    assert.strictEqual((await records("GET", `?connection_id=${other}`, both)).body.meta.connectionId, other)
    assert.strictEqual((await run(both, "list", {}, { provider: two })).meta.provider, two)
    assert.strictEqual((await run(both, "list", {}, { connection: other })).meta.connectionId, other)

    for (const value of [two, other]) {
      await done("PUT", "/config", { level: "tenant", scopeId: both, key: "unified.crm", value })
      assert.strictEqual((await records("GET", "", both)).body.meta.provider, two)
      assert.strictEqual((await run(both, "list", {})).meta.provider, two)
    }
  })
})

describe("A connection", () => {
  it("of another customer is none, for reads and writes, over REST and in runs", async () => {
    const stranger = await customer()
    const calls = crm.requests.length
    for (const [method, target, body] of [
      ["GET", "?", undefined],
      ["GET", "/1?", undefined],
      ["POST", "?", { lastName: "Theft" }],
      ["PATCH", "/1?", { lastName: "Theft" }],
      ["DELETE", "/1?", undefined]
    ] as const) {
      const plain = await records(method, target, stranger, body)
      assert.deepStrictEqual([plain.status, plain.body.code, plain.body.category], [409, "CONNECTION_REQUIRED", "crm"])
      const named = await records(method, `${target}&connection_id=${firstConnection}`, stranger, body)
      assert.oneOf(named.status, [403, 404, 409, 422], named.text)
    }
    assert.strictEqual(
      (await run(stranger, "get", { id: "1" }, { connection: firstConnection })).code,
      "CONNECTION_REQUIRED"
    )
    assert.strictEqual((await run(stranger, "list", {}, { provider: one })).code, "CONNECTION_REQUIRED")
    assert.strictEqual(crm.requests.length, calls)
  })

  it("that is disabled, or of a connector that is not connected, is none", async () => {
    const own = await customer()
    const id = await connectTo(svc, one, crm.url, own)
    const missing = await records("GET", `?provider=${two}`, own)
    assert.deepStrictEqual(
      [missing.status, missing.body.code, missing.body.connector],
      [409, "CONNECTION_REQUIRED", two]
    )
    await done("POST", `/connections/${id}/disable`, {})
    const disabled = await records("GET", "", own)
    // Which of the two depends on whether the list of active connections was read before.
    const words = ["CONNECTION_NOT_ACTIVE", "CONNECTION_REQUIRED"]
    assert.strictEqual(disabled.status, 409, disabled.text)
    assert.include(words, disabled.body.code)
    assert.include(words, (await run(own, "list", {})).code)
    const wrong = await records("GET", `?connection_id=${id}`, own)
    assert.isAtLeast(wrong.status, 409, wrong.text)
    assert.isBelow(wrong.status, 500, wrong.text)
  })

  it("of a suspended customer is not used", async () => {
    const own = await customer()
    await connectTo(svc, one, crm.url, own)
    await done("PUT", `/customers/${own}`, { status: "suspended" })
    const refused = await records("GET", "", own)
    assert.deepStrictEqual([refused.status, refused.body.code], [409, "INVALID_STATE"], refused.text)
  })
})

describe("The provider's failure", () => {
  it("to answer in time is 504, and leaves a creation uncertain", async () => {
    crm.gate.answering = () => new Promise((resolve) => setTimeout(resolve, 400))
    const headers = { "idempotency-key": "slow-1" }
    const late = await records("POST", "", svc.first.customerId, { lastName: "Slow" }, headers)
    const inRun = await run(svc.first.customerId, "get", { id: "1" })
    delete crm.gate.answering
    assert.deepStrictEqual([late.status, late.body.code, late.body.provider.connector], [504, "PROVIDER_TIMEOUT", one])
    assert.strictEqual(inRun.category, "transient", JSON.stringify(inRun))
    const again = await records("POST", "", svc.first.customerId, { lastName: "Slow" }, headers)
    assert.deepStrictEqual([again.status, again.body.code], [409, "UNCERTAIN_WRITE"])
    assert.lengthOf(
      [...crm.contacts.values()].filter(({ last }) => last === "Slow"),
      1
    )
    const other = await records("POST", "", svc.first.customerId, { lastName: "Slower" }, headers)
    assert.strictEqual(other.status, 409, "a failed request leaves no reply: another body is as uncertain")
  })

  it("to take more requests is 429 with Retry-After, and the next request is not sent before", async () => {
    const own = await customer()
    await connectTo(svc, two, crm.url, own)
    crm.replies.push({ status: 429, headers: { "retry-after": "60" } })
    const limited = await records("GET", "", own)
    assert.deepStrictEqual([limited.status, limited.body.code], [429, "RATE_LIMITED"], limited.text)
    assert.isAbove(Number(limited.headers["retry-after"]), 30)
    const calls = crm.requests.length
    assert.strictEqual((await records("GET", "", own)).status, 429)
    assert.strictEqual(crm.requests.length, calls)
  })

  it.each([
    [400, "provider"],
    [404, "NOT_FOUND"],
    [500, "transient"]
  ])("%i of a record is told as such", async (status, word) => {
    crm.replies.push({ status, body: { message: "no" } })
    const answer = await records("GET", "/1", svc.first.customerId)
    assert.deepStrictEqual(
      [answer.status, answer.body.code],
      status === 404 ? [404, "NOT_FOUND"] : [502, "PROVIDER_ERROR"],
      answer.text
    )
    crm.replies.push({ status, body: { message: "no" } })
    const { category, code } = await run(svc.first.customerId, "get", { id: "1" })
    assert.strictEqual(status === 404 ? code : category, word)
  })

  it("that holds no record is told as none", async () => {
    crm.replies.push({ status: 200 })
    const empty = await records("GET", "/1", svc.first.customerId)
    assert.deepStrictEqual([empty.status, empty.body.code], [404, "NOT_FOUND"], empty.text)
  })
})

describe("A request", () => {
  it("under an Idempotency-Key with another body is 422", async () => {
    const headers = { "idempotency-key": "twice-1" }
    assert.strictEqual((await records("POST", "", svc.first.customerId, { lastName: "A" }, headers)).status, 201)
    const other = await records("POST", "", svc.first.customerId, { lastName: "B" }, headers)
    assert.deepStrictEqual([other.status, other.body.code], [422, "IDEMPOTENCY_KEY_REUSED"])
  })

  it.each([
    ["?page_size=0", 400, "INVALID_REQUEST"],
    ["?page_size=many", 400, "INVALID_REQUEST"],
    ["?modified_after=soon", 400, "INVALID_REQUEST"],
    ["?strict=maybe", 400, "INVALID_REQUEST"],
    ["?cursor=wrong", 400, "INVALID_CURSOR"]
  ])("for %s is %i %s", async (query, status, code) => {
    const answer = await records("GET", query, svc.first.customerId)
    assert.deepStrictEqual([answer.status, answer.body.code], [status, code], answer.text)
  })
})

describe("A change", () => {
  /** Members of the CRM's record that the map does not know, or knows in part. */
  const unmapped = { stage: "kept", tags: "kept,too", quota: 7, nested: { a: [1, { b: null }] } }

  it("sends no provider's member outside the map, however many are changed", async () => {
    const { id } = crm.add({ ...unmapped, street: { line: "Old 1", town: "Old", secret: "kept" } } as object)
    const own = JSON.stringify({ ...unmapped, secret: "kept" })
    const keptOf = () => {
      const { nested, quota, stage, street, tags } = crm.contacts.get(id) as never as Record<string, never>
      return JSON.stringify({ stage, tags, quota, nested, secret: street?.["secret"] })
    }
    const changes: ReadonlyArray<object> = [
      { firstName: "Ada" },
      { firstName: null, title: "Countess" },
      { addresses: [{ street1: "New 2", city: "New" }] },
      { addresses: [{ street1: "New 3" }] },
      {
        emailAddresses: [{ emailAddress: "a@example.com", type: "home" }],
        phoneNumbers: [{ phoneNumber: "+4930123456" }]
      },
      { customFields: { score: 5 } },
      { lastName: "Byron", title: null }
    ]
    const sent = crm.requests.length
    for (const change of changes) {
      const answer = await records("PATCH", `/${id}`, svc.first.customerId, change)
      assert.strictEqual(answer.status, 200, answer.text)
      assert.strictEqual(keptOf(), own, JSON.stringify(change))
    }
    const written = crm.requests.slice(sent).filter(({ method }) => method === "PATCH")
    assert.lengthOf(written, changes.length)
    const known = new Set(["first", "last", "mails", "phone", "job", "street", "score"])
    const names = written.flatMap(({ body }) => Object.keys(body as object))
    assert.deepStrictEqual(
      names.filter((name) => !known.has(name)),
      [],
      "counted at the provider"
    )
  })
})
