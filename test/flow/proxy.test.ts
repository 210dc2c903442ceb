/** The proxy, and the connections that a request names: a credential is sent only to its connector's system. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import {
  requestsTo,
  connect,
  publishConnector,
  scripts,
  startSharedCalls,
  stopCalls,
  svc,
  systems,
  workflow
} from "../support/calls.js"
import { eventually } from "../support/eventually.js"

beforeAll(() => startSharedCalls())
afterAll(stopCalls)

describe("The connections that a request names", () => {
  const names = (value: string, customer: string | null = svc.first.customerId) => ({
    authorization: `Bearer ${svc.first.key}`,
    "x-svc-connections": value,
    ...(customer === null ? {} : { "x-org-id": customer })
  })
  const runWith = (id: string, headers: Readonly<Record<string, string>>, input: unknown = {}) =>
    svc.ask("POST", `/api/v1/workflows/${id}/execute`, { key: svc.first.key, body: { input }, headers })

  it("are the only ones that its run may use, by alias too", async () => {
    await publishConnector("named")
    const first = await connect("named", "first")
    const second = await connect("named", "second", svc.first.customerId, "spare")
    const id = await workflow(
      `try { await svc.connector.named.create({}, ctx.input.opts); return "done" } catch (e) { return e.code }`
    )
    const keyOf = () => requestsTo("/named/create").at(-1)?.headers["x-acme-key"]
    assert.strictEqual((await runWith(id, names(second.id))).body, "done")
    assert.strictEqual(keyOf(), "second")
    assert.strictEqual(
      (await runWith(id, names(`named:ops=${first.id}`), { opts: { connection: "ops" } })).body,
      "done"
    )
    assert.strictEqual(keyOf(), "first")
    const outside = await runWith(id, names(first.id), { opts: { connection: "spare" } })
    assert.strictEqual(outside.body, "CONNECTION_REQUIRED")
  })

  it("must be the customer's own, and of the named connector", async () => {
    await publishConnector("checked")
    const { id } = await connect("checked", "k")
    const flow = await workflow("return 1")
    const other = (await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name: "Stranger" } })).body
      .data
    const stolen = await runWith(flow, names(id, other.id))
    const unknown = await runWith(flow, names("conn_00000000000000000000000000", other.id))
    for (const answer of [stolen, unknown, await runWith(flow, names(id, null))])
      assert.deepStrictEqual([answer.status, answer.body.code], [403, "FORBIDDEN"])
    assert.strictEqual(stolen.body.message, unknown.body.message)
    const wrong = await runWith(flow, names(`acme-crm=${id}`))
    assert.deepStrictEqual([wrong.status, wrong.body.code], [400, "INVALID_HEADER"])
  })
})

describe("The proxy", () => {
  const through = (
    method: string,
    target: string,
    headers: Readonly<Record<string, string>> = {},
    body?: unknown,
    key = svc.first.key
  ) =>
    svc.ask(method, `/api/v1/proxy/${target}`, {
      key,
      ...(body === undefined ? {} : { body }),
      headers: {
        authorization: `Bearer ${key}`,
        "x-svc-connector": "passage",
        "x-org-id": svc.first.customerId,
        ...headers
      }
    })

  it("sends a request with the connection's credential, and returns the answer unchanged", async () => {
    await publishConnector("passage")
    const { id } = await connect("passage", "canary-key")
    scripts.set("/v9/orders", (request) => ({
      status: 418,
      headers: { "x-own": "1", "set-cookie": "sid=1" },
      body: { got: request.body, agent: request.headers["x-mine"] }
    }))
    const answer = await through("POST", "v9/orders?limit=2&q=a%20b", { "x-mine": "yes", cookie: "no=1" }, { total: 1 })
    assert.deepStrictEqual([answer.status, answer.body], [418, { got: '{"total":1}', agent: "yes" }])
    assert.deepInclude(answer.headers, { "x-own": "1", "x-svc-connection-id": id })
    assert.isUndefined(answer.headers["set-cookie"])
    const sent = requestsTo("/v9/orders").at(-1)
    assert.strictEqual(sent?.url, "/v9/orders?limit=2&q=a%20b")
    assert.deepInclude(sent?.headers, { "x-acme-key": "canary-key", "x-mine": "yes" })
    for (const hidden of ["authorization", "cookie", "x-org-id", "x-svc-connector"])
      assert.isUndefined(sent?.headers[hidden], hidden)
    const trail = await eventually(
      () => svc.ask("GET", `/api/v1/audit?action=proxy.call&resource_id=${id}`, { key: svc.first.key }),
      ({ body }) => body.data.length > 0
    )
    assert.deepInclude(trail.body.data[0], { outcome: "success", customerId: svc.first.customerId })
  })

  it("sends encoded slashes as they are, and returns the provider's limits and repeated headers", async () => {
    scripts.set("/projects/group%2Fproject", () => ({
      status: 200,
      headers: { "x-ratelimit-remaining": "3", "x-warn": ["one", "two"] },
      body: {}
    }))
    const answer = await through("GET", "projects/group%2Fproject?ref=a%2fb")
    assert.strictEqual(answer.status, 200, answer.text)
    assert.strictEqual(requestsTo("/projects/group%2Fproject").at(-1)?.url, "/projects/group%2Fproject?ref=a%2fb")
    assert.deepInclude(answer.headers, { "x-provider-ratelimit-remaining": "3", "x-warn": "one, two" })
    assert.notStrictEqual(answer.headers["x-ratelimit-remaining"], "3")
  })

  it("retries safe requests as the connector defines, and returns the last answer", async () => {
    scripts.set("/flaky", (_, nth) => (nth < 3 ? { status: 503, body: {} } : { body: { nth } }))
    assert.deepStrictEqual((await through("GET", "flaky")).body, { nth: 3 })
    scripts.set("/down", () => ({ status: 503, body: { down: true } }))
    const down = await through("GET", "down")
    assert.deepStrictEqual([down.status, down.body, requestsTo("/down").length], [503, { down: true }, 3])
    scripts.set("/broken", () => ({ status: 502, body: {} }))
    assert.strictEqual((await through("POST", "broken", {}, {})).status, 502)
    assert.lengthOf(requestsTo("/broken"), 1)
    assert.strictEqual((await through("POST", "broken", { "idempotency-key": "k" }, {})).status, 502)
    assert.lengthOf(requestsTo("/broken"), 4)
  })

  it("sends only below the connector's base URL, and names what a request lacks", async () => {
    const before = systems.requests.length
    const leadingOut = ["../x", "a/%2e%2e/b", "a%2f..%2fb", "a//b", "a\\b", "%00", "..;/x", "a/..;v=1/b", "a/.;/b"]
    const encoded = [
      "%252e%252e/x",
      "%25252e%25252e/x",
      "..%3b/x",
      "..%253bv/x",
      "a%5cb",
      "a%255cb",
      "%2e./x",
      "x/.%2E"
    ]
    const malformed = [
      "%c0%ae%c0%ae/x",
      "%e0%80%ae./x",
      "%u002e%u002e/x",
      "%ef%bc%8e%ef%bc%8e/x",
      "a/..%20/b",
      "a%252f..%252fb"
    ]
    for (const target of [...leadingOut, ...encoded, ...malformed]) {
      const answer = await through("GET", target)
      assert.oneOf(answer.status, [400, 404], target)
    }
    const nameless = await through("GET", "x", { "x-svc-connector": "" })
    assert.deepStrictEqual([nameless.status, nameless.body.code], [400, "INVALID_HEADER"])
    const unconnected = await through("GET", "x", { "x-svc-connector": "nowhere" })
    assert.deepStrictEqual(
      [unconnected.status, unconnected.body.code, unconnected.body.connector],
      [409, "CONNECTION_REQUIRED", "nowhere"]
    )
    assert.strictEqual(systems.requests.length, before)
  })
})
