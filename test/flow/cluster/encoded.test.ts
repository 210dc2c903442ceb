/** A node that does nothing in place: what it asks of its own actors is encoded and decoded, and all goes on as before. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { api, type Api } from "../../support/api.js"
import { proofs } from "../../support/proofs.js"
import { makeDataDirectory, prepareData, type Service, startService } from "../../support/Service.js"

const place = makeDataDirectory()
let service: Service
let client: Api

beforeAll(async () => {
  await prepareData(place.dataDir)
  service = startService({ dataDir: place.dataDir, isEncoded: true })
  await service.ready
  client = api(place.dataDir)
})
afterAll(async () => {
  await proofs(service)
  place.remove()
})

describe("a service whose messages are all encoded", () => {
  it("answers Instant runs with their results, failures and repetitions", async () => {
    const echo = await client.workflow("echo", "instant", "export default async (ctx) => ctx.input")
    const run = (input: object, headers = {}) =>
      client.call("POST", `/api/v1/workflows/${echo}/execute`, { input }, headers)
    for (const input of [{ __a: [null, 1.5, "ü"], constructor: { x: 1 } }, {}])
      assert.deepStrictEqual([(await run(input)).body], [input])
    const key = { "idempotency-key": "encoded" }
    assert.deepStrictEqual([(await run({ n: 1 }, key)).body, (await run({ n: 1 }, key)).body], [{ n: 1 }, { n: 1 }])
    const draft = await client.call("POST", `/api/v1/workflows/${echo}/execute`, { input: { n: 2 }, draft: true })
    assert.deepStrictEqual([draft.status, draft.body], [200, { n: 2 }])
    const fails = await client.workflow("fails", "instant", `export default async () => { throw new Error("no") }`)
    const failed = await client.call("POST", `/api/v1/workflows/${fails}/execute`, { input: {} })
    assert.deepStrictEqual([failed.status, failed.body.error?.message], [200, "no"], JSON.stringify(failed.body))
  })

  it("limits what its organisation and its callers may do", async () => {
    const before = await client.call("GET", "/api/v1/workflows")
    assert.strictEqual(before.status, 200)
    assert.isString(before.headers.get("x-ratelimit-limit") ?? before.headers.get("ratelimit-limit"))
  })
})
