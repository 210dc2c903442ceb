/** A limit that a provider counts over all connections of a connector holds also after the death of its owner. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { acme, ownBase } from "../support/connectors.js"
import { api, type Api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { proofs } from "../support/proofs.js"
import { startProvider, type Provider } from "../support/provider.js"
import { makeDataDirectory, prepareData, type Service, startService } from "../support/Service.js"
import { assertKeepsLimit } from "../support/providerLimits.js"

const limit = { requests: 4, perSeconds: 3 }
const callsOfEach = 5

describe("a limit of scope connector", () => {
  const place = makeDataDirectory()
  const { dataDir } = place
  let systems: Provider
  let current: Service
  let client: Api

  const begin = async (): Promise<void> => {
    await prepareData(dataDir)
    current = startService({ dataDir, env: { SVC_EGRESS_ALLOW: "127.0.0.1/32" } })
    await current.ready
    client = api(dataDir)
  }
  const made = async (path: string, body: object) => {
    const answer = await client.call("POST", `/api/v1${path}`, body)
    assert.oneOf(answer.status, [200, 201], JSON.stringify(answer.body))
    return answer.body.data
  }

  beforeAll(async () => {
    systems = await startProvider()
    await begin()
    await made(
      "/connectors",
      acme("limited", {
        ...ownBase,
        auth: [
          {
            id: "key",
            type: "api_key",
            fields: [{ name: "apiKey", secret: true }],
            inject: [{ in: "header", name: "x-key", value: "{{credential.apiKey}}" }]
          }
        ],
        rateLimit: { scope: "connector", ...limit },
        actions: [{ name: "get", version: 1, request: { method: "GET", path: "/get/{{args.id}}" } }]
      })
    )
    await made("/connectors/limited/publish", {})
  })

  afterAll(async () => {
    await proofs(current)
    await systems.close()
    place.remove()
  })

  it("holds over two customers' connections and a kill -9: no window has more calls, and every call is sent", async () => {
    const workflow = await client.workflow(
      "limited_calls",
      "standard",
      `export default async (ctx) => {
        for (let i = 0; i < ${callsOfEach}; i++) await svc.connector.limited.get({ id: ctx.customer.id + "-" + i })
        return "done"
      }`
    )
    const customers = await Promise.all(["one", "two"].map((name) => made("/customers", { name })))
    const began = Date.now()
    const runs = await Promise.all(
      customers.map(async ({ id }) => {
        const body = { connector: "limited", customerId: id, config: { base: systems.url } }
        await made("/connections", { ...body, credential: { apiKey: `key-${id}` } })
        const started = await client.run(workflow, {}, { "x-end-org-id": id })
        assert.strictEqual(started.status, 202, JSON.stringify(started.body))
        return String(started.body.executionId)
      })
    )
    await eventually(
      () => Promise.resolve(systems.requests.length),
      (count) => count >= limit.requests
    )
    current.kill("SIGKILL")
    await current.ended
    await begin()
    for (const run of runs) assert.strictEqual((await client.ended(run, 60_000)).output, "done")

    const distinct = new Set(systems.requests.map(({ url }) => url))
    assert.strictEqual(distinct.size, customers.length * callsOfEach)
    const times = systems.requests.map(({ at }) => at)
    assertKeepsLimit(times, began, limit)
  })
})
