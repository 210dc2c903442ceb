/** The test of a field map: each value's way to the common record and back, of a sample or a live record; nothing is stored. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { makeKey } from "../support/keys.js"
import { connectTo, plainCrm, type PlainCrm, publishDefinition, startPlainCrm } from "../support/unified/PlainCrm.js"

let svc: Running
let crm: PlainCrm
let map = ""
let connection = ""
beforeAll(async () => {
  svc = await startShared()
  crm = await startPlainCrm()
  await publishDefinition(svc, plainCrm("tested-crm"))
  connection = await connectTo(svc, "tested-crm", crm.url)
  crm.add({ stage: " gold ", job: "Clerk", score: 7 })
  map = await makeMap({
    fields: [
      { from: "stage", to: "customFields.tier", transforms: ["TRIM"], enum: { gold: "G", silver: "S" } },
      { from: "job", to: "title", default: "none" },
      { from: "score", to: "remoteWasDeleted", enum: { 0: true } }
    ],
    fieldsOut: [
      { from: "customFields.tier", to: "stage", enum: { G: "gold", S: "silver" } },
      { from: "title", to: "job" }
    ]
  })
})
afterAll(async () => {
  await svc.stop()
  await crm.stop()
})

const ask = (method: string, target: string, body?: unknown, key = svc.first.key) =>
  svc.ask(method, `/api/v1${target}`, { key, ...(body === undefined ? {} : { body }) })
const place = { connector: "tested-crm", entity: "contact", model: "crm.contact" }
const makeMap = async (body: object): Promise<string> => {
  const made = await ask("POST", "/field-maps", { ...place, ...body })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data.id
}
const test = (body: object, id = map, key = svc.first.key) => ask("POST", `/field-maps/${id}/test`, body, key)
const keyWith = async (permissions: object) => (await makeKey(svc, { preset: "custom", permissions })).key

interface Traced {
  readonly to: string
  readonly from: string | null
  readonly steps: ReadonlyArray<{ readonly step: string; readonly value: unknown }>
  readonly problem: { readonly code: string } | null
  readonly isSame?: boolean
  readonly origin: { readonly level: string; readonly version: number | null }
}
interface TracedPair {
  readonly common: string | null
  readonly read: ReadonlyArray<Traced>
  readonly write: ReadonlyArray<Traced>
}
const pairOf = ({ pairs }: { readonly pairs: ReadonlyArray<TracedPair> }, common: string): TracedPair =>
  pairs.find((one) => one.common === common) ?? assert.fail(`no pair of ${common}`)
const stepsOf = ({ steps }: Traced) => steps.map(({ step, value }) => [step, value])

describe("The test of a field map", () => {
  const sample = {
    id: 9,
    stage: " Gold ",
    job: null,
    score: 3,
    mails: [{ value: "A@X.DE", kind: "work" }, { value: "b@x.de" }],
    created: 1_700_000_000
  }

  it("shows each step from the provider's value to the common one and back, with warnings and both records", async () => {
    const answer = await test({ sample })
    assert.strictEqual(answer.status, 200, answer.text)
    const { data } = answer.body
    const tier = pairOf(data, "customFields.tier")
    assert.deepStrictEqual(stepsOf(tier.read[0]!), [
      ["provider", " Gold "],
      ["TRIM", "Gold"],
      ["enum", "G"],
      ["type", "G"]
    ])
    assert.deepStrictEqual(tier.read[0]?.origin, { level: "organisation", fieldMapId: map, version: null } as never)
    assert.deepStrictEqual(stepsOf(tier.write[0]!), [
      ["common", "G"],
      ["enum", "gold"]
    ])
    assert.strictEqual(tier.write[0]?.isSame, false)
    assert.deepStrictEqual(stepsOf(pairOf(data, "title").read[0]!), [
      ["provider", null],
      ["default", "none"]
    ])
    const mails = pairOf(data, "emailAddresses[*].emailAddress")
    assert.deepStrictEqual(
      mails.read.map(({ from, to }) => [from, to]),
      [0, 1].map((at) => [`mails[${at}].value`, `emailAddresses[${at}].emailAddress`])
    )
    assert.deepStrictEqual(
      mails.write.map(({ isSame }) => isSame),
      [false, true]
    )
    const created = pairOf(data, "remoteCreatedAt")
    assert.deepStrictEqual(stepsOf(created.read[0]!), [
      ["provider", 1_700_000_000],
      ["type", "2023-11-14T22:13:20.000Z"]
    ])
    // The provider sets it: it is not written.
    assert.deepStrictEqual(created.write, [])
    assert.strictEqual(pairOf(data, "remoteWasDeleted").read[0]?.problem?.code, "UNMAPPED_ENUM")
    assert.deepStrictEqual(
      data.warnings.map((one: { path: string; code: string }) => [one.path, one.code]),
      [["remoteWasDeleted", "UNMAPPED_ENUM"]]
    )
    assert.deepInclude(data.record, { title: "none", customFields: { score: 3, tier: "G" }, remoteWasDeleted: null })
    assert.deepInclude(data.written, { stage: "gold", job: "none", score: 3 })
    assert.deepStrictEqual(data.mistakes, [])
    assert.deepStrictEqual([data.isComplete, data.provider.id, data.connectionId], [true, 9, null])
  })

  it("of a published version shows that version, though the draft goes on", async () => {
    const own = await makeMap({ entity: "contact", customerId: svc.first.customerId, dropped: ["title"] })
    assert.strictEqual((await ask("POST", `/field-maps/${own}/publish`, {})).status, 200)
    await ask("PUT", `/field-maps/${own}`, { dropped: [], fields: [{ from: "stage", to: "title" }] })
    const [first, draft] = [await test({ sample, number: 1 }, own), await test({ sample }, own)]
    assert.deepStrictEqual([first.body.data.record.title, draft.body.data.record.title], [null, " Gold "])
    assert.strictEqual((await test({ sample, number: 2 }, own)).body.details[0].code, "NOT_FOUND")
    await ask("DELETE", `/field-maps/${own}`)
  })

  it("reads a live record through the customer's connection, the first or one of an id, and changes nothing", async () => {
    const requests = crm.requests.length
    for (const live of [{ connectionId: connection }, { customerId: svc.first.customerId, recordId: "1" }]) {
      const answer = await test({ live })
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepStrictEqual(
        [answer.body.data.connectionId, answer.body.data.record.customFields.tier, answer.body.data.provider.job],
        [connection, "G", "Clerk"]
      )
      assert.notInclude(answer.text, "canary-of-a-key")
    }
    assert.deepStrictEqual(
      crm.requests.slice(requests).map(({ method, path }) => `${method} ${path}`),
      ["GET /contacts", "GET /contacts/1"]
    )
    const audit = await ask("GET", "/audit?page_size=50")
    assert.notInclude(audit.text, "Clerk")
  })

  it("of a live record needs the right to read records", async () => {
    const key = await keyWith({ connectors: ["read"] })
    assert.strictEqual((await test({ sample }, map, key)).status, 200)
    const refused = await test({ live: { connectionId: connection } }, map, key)
    assert.deepStrictEqual([refused.status, refused.body.code], [403, "FORBIDDEN"], refused.text)
    assert.include(refused.text, "unified_api:read")
    const none = await test({ sample }, map, await keyWith({ unified_api: ["read"] }))
    assert.deepStrictEqual([none.status, none.body.code], [403, "FORBIDDEN"])
  })

  it("answers the provider's failures as the proxy does", async () => {
    crm.replies.push({ status: 400, body: { message: "bad request" } })
    const failed = await test({ live: { connectionId: connection } })
    assert.strictEqual(failed.status, 502, failed.text)
    crm.replies.push({ status: 503 }, { status: 503 })
    const down = await test({ live: { connectionId: connection } })
    assert.deepStrictEqual([down.status, down.body.provider.status], [502, 503], down.text)
  })

  it("is refused for a map of nobody, of another organisation, and for bodies that say neither or both", async () => {
    const other = await svc.organisation("Other")
    for (const [id, key] of [
      ["fmp_00000000000000000000000000", svc.first.key],
      [map, other.key]
    ] as const) {
      const missing = await test({ sample }, id, key)
      assert.deepStrictEqual([missing.status, missing.body.code], [404, "NOT_FOUND"], missing.text)
    }
    for (const [body, path, code] of [
      [{}, "sample", "REQUIRED"],
      [{ sample, live: {} }, "sample", "REQUIRED"],
      [{ live: {} }, "live.customerId", "REQUIRED"],
      [{ live: { customerId: "cus_00000000000000000000000000" } }, "customerId", "NOT_FOUND"],
      [{ sample, number: 3 }, "number", "NOT_FOUND"],
      [{ sample: [] }, "sample", undefined],
      [{ sample, numbr: 1 }, "numbr", undefined]
    ] as const) {
      const refused = await test(body)
      assert.strictEqual(refused.status, 422, refused.text)
      assert.strictEqual(refused.body.details[0].path, path, refused.text)
      if (code !== undefined) assert.strictEqual(refused.body.details[0].code, code)
    }
    assert.strictEqual((await test({ live: { connectionId: "conn_00000000000000000000000000" } })).status, 404)
    const unread = await test({ live: { connectionId: connection, recordId: "404" } })
    assert.notStrictEqual(unread.status, 200)
  })

  it("of hostile samples is bounded, and reaches no prototype", async () => {
    const polluted = await ask("POST", `/field-maps/${map}/test`, {
      sample: JSON.parse('{"__proto__": {"stage": "gold"}, "constructor": {"x": 1}, "stage": {"deep": [[[[1]]]]}}')
    })
    assert.oneOf(polluted.status, [200, 422], polluted.text)
    const wide = await makeMap({
      customerId: svc.first.customerId,
      fields: Array.from({ length: 900 }, (_, at) => ({ from: "list[*].v", to: `customFields.f${at}[*].x` }))
    })
    const many = await test({ sample: { list: Array.from({ length: 400 }, (_, v) => ({ v })) } }, wide)
    assert.oneOf(many.status, [200, 422], many.text.slice(0, 500))
    if (many.status === 200) assert.isFalse(many.body.data.isComplete)
    assert.isBelow(many.text.length, 6_000_000)
    const large = await test({ sample: { t: "x".repeat(600_000) } })
    assert.deepStrictEqual([large.status, large.body.details[0].code], [422, "OUT_OF_RANGE"])
    await ask("DELETE", `/field-maps/${wide}`)
  })
})
