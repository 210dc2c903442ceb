/** Figures and details of a node are for loopback and private networks; everybody learns whether it is ready. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { publicLimits } from "../../src/domain/Limits.js"
import { type Ask, type Running, start } from "../support/InProcess.js"

const stranger = "203.0.113.7"
const nearby = [
  "127.0.0.1",
  "::1",
  "::ffff:10.2.3.4",
  "10.1.2.3",
  "172.16.0.9",
  "192.168.1.1",
  "169.254.1.1",
  "100.64.0.9",
  "fd00::1",
  "fe80::1"
]
const distant = [
  stranger,
  "8.8.8.8",
  "172.32.0.1",
  "100.128.0.1",
  "2001:db8::1",
  "::ffff:8.8.8.8",
  "not an address",
  ""
]

describe("the metrics and the details of readiness", () => {
  let svc: Running
  beforeAll(async () => {
    svc = await start({ SVC_TRUSTED_PROXIES: "10.9.0.0/16" })
  })
  afterAll(() => svc.stop())

  const isShown = async (how: Ask) => {
    const [metrics, readyz] = [await svc.ask("GET", "/metrics", how), await svc.ask("GET", "/readyz", how)]
    assert.include([200, 503], readyz.status)
    const found = [metrics.status === 200, readyz.body.checks !== undefined]
    assert.strictEqual(found[0], found[1])
    if (metrics.status !== 200) {
      assert.deepInclude(metrics.body, { code: "FORBIDDEN", statusCode: 403, retryable: false })
      assert.include(metrics.body.message, "SVC_METRICS=open")
      assert.deepStrictEqual(readyz.body, { status: readyz.status === 200 ? "ready" : "not_ready" })
    }
    return found[0]
  }

  it.each(nearby)("are for %s", async (from) => assert.isTrue(await isShown({ from })))
  it.each(distant)("are not for %j", async (from) => assert.isFalse(await isShown({ from })))

  it.each([
    ["10.9.0.1", { "x-forwarded-for": stranger }, false],
    ["10.9.0.1", { "x-forwarded-for": "10.2.2.2" }, true],
    ["10.9.0.1", { "x-forwarded-for": `127.0.0.1, ${stranger}` }, false],
    ["10.9.0.1", { forwarded: `for=${stranger}` }, false],
    ["10.9.0.1", {}, true],
    ["127.0.0.1", { "x-forwarded-for": stranger }, false],
    ["127.0.0.1", { "x-forwarded-for": "127.0.0.1" }, false],
    ["127.0.0.1", { "x-real-ip": stranger }, false],
    ["127.0.0.1", { forwarded: `for=${stranger}` }, false],
    ["127.0.0.1", { via: "1.1 proxy" }, false],
    [stranger, { "x-forwarded-for": "127.0.0.1" }, false]
  ] as const)("from %s with %j: %s", async (from, headers, shown) =>
    assert.strictEqual(await isShown({ from, headers }), shown)
  )

  it("refuse other methods from everywhere", async () => {
    assert.strictEqual((await svc.ask("POST", "/metrics", { from: stranger })).status, 405)
  })
})

describe("with SVC_METRICS=open", () => {
  let svc: Running
  beforeAll(async () => {
    svc = await start({ SVC_METRICS: "open" })
  })
  afterAll(() => svc.stop())

  it("they are for everybody", async () => {
    const how = { from: stranger, headers: { "x-forwarded-for": "198.51.100.1" } }
    assert.strictEqual((await svc.ask("GET", "/metrics", how)).status, 200)
    assert.isDefined((await svc.ask("GET", "/readyz", how)).body.checks)
  })

  it.each(["/metrics", "/nothing", "/api/v1/nothing"])("%s is limited by address", async (path) => {
    const from = `192.0.2.${path.length}`
    const statuses = new Set<number>()
    for (let n = 0; n < publicLimits.perMinute.missing * 2 + 2 && !statuses.has(429); n++)
      statuses.add((await svc.ask("GET", path, { from })).status)
    assert.isTrue(statuses.has(429))
    const refused = await svc.ask("GET", path, { from })
    assert.isAtMost(Number(refused.headers["retry-after"]), 60)
    assert.strictEqual(refused.body.code, "RATE_LIMITED")
    assert.notStrictEqual((await svc.ask("GET", path, { from: "192.0.2.200" })).status, 429)
  })

  it("/healthz is never limited", async () => {
    const asked = Array.from({ length: publicLimits.perMinute.probe + 1 }, () =>
      svc.send({ method: "GET", target: "/healthz", headers: {}, remoteAddress: stranger, body: Buffer.alloc(0) })
    )
    assert.isTrue((await Promise.all(asked)).every(({ status }) => status === 200))
  })

  it("a request with a key is not counted as one without", async () => {
    const from = "192.0.2.201"
    for (let n = 0; n <= publicLimits.perMinute.missing; n++)
      assert.strictEqual((await svc.ask("GET", "/api/v1/customers", { from, key: svc.first.key })).status, 200)
  })
})
