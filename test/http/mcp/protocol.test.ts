/** The tool gateways speak the protocol in all its versions, and refuse what is none of it without an answer of 5xx. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { createHash, createHmac } from "node:crypto"
import { signIdentity } from "../../../src/domain/delivery/Signature.js"
import { openPanel } from "../../support/embed.js"
import { type Ask, type Running, start } from "../../support/InProcess.js"
import { makeKey } from "../../support/keys.js"
import { adminGateway, callTool, message, post, toolCall } from "../../support/mcp/Gateway.js"

let svc: Running
beforeAll(async () => {
  svc = await start()
})
afterAll(() => svc.stop())

const listed = (id: number | string) => message(id, "tools/list")

describe("messages", () => {
  it("begin with a handshake in the version that the client names", async () => {
    for (const protocolVersion of ["2025-03-26", "2025-06-18", "2025-11-25"]) {
      const clientInfo = { name: "client", version: "1" }
      const { body } = await post(svc, message(1, "initialize", { protocolVersion, capabilities: {}, clientInfo }))
      assert.deepInclude(body.result, { protocolVersion, capabilities: { tools: {} } })
      assert.include(body.result.serverInfo, { name: "svc" })
      assert.include(body.result.instructions, "svc_connector_publish_version")
    }
  })

  it("need no handshake, and no session", async () => {
    const { body, headers, status } = await post(svc, message("a", "ping"))
    assert.deepStrictEqual([status, body], [200, { jsonrpc: "2.0", id: "a", result: {} }])
    assert.notProperty(headers, "mcp-session-id")
    assert.strictEqual(headers["cache-control"], "no-store")
  })

  it("of version 2026-07-28 name it in each request", async () => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "client", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {}
    }
    const headers = {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "svc_connector_get"
    }
    const params = { name: "svc_connector_get", arguments: { slug: "hubspot" }, _meta }
    const { body, status, text } = await post(svc, message(1, "tools/call", params), { headers })
    assert.strictEqual(status, 200, text)
    assert.strictEqual(body.result.structuredContent.slug, "hubspot")
    const { body: refused, status: missing } = await post(svc, message(1, "tools/call", params), {
      headers: { "mcp-protocol-version": "2026-07-28" }
    })
    assert.deepStrictEqual([missing, refused.error.code], [400, -32020])
  })

  it("that are notifications are accepted, and have no effect", async () => {
    const { status, text } = await post(svc, { jsonrpc: "2.0", method: "notifications/initialized" })
    assert.deepStrictEqual([status, text], [202, ""])
  })

  it("may come as a batch of 2025-03-26: each request is answered once, also beside its cancellation", async () => {
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } }
    const get = toolCall(2, "svc_connector_get", { slug: "hubspot" })
    const { body } = await post(svc, [message(1, "ping"), cancelled, get, toolCall("3", "none")])
    assert.deepStrictEqual(
      // oxlint-disable-next-line typescript/no-explicit-any -- The members of the answers are asserted.
      body.map(({ error, id, result }: any) => [id, error?.code ?? result.structuredContent?.slug ?? null]),
      [
        [1, null],
        [2, "hubspot"],
        ["3", -32602]
      ]
    )
    const { body: one } = await post(svc, [message(7, "ping")])
    assert.deepStrictEqual(one, [{ jsonrpc: "2.0", id: 7, result: {} }])
  })
})

describe("what is no message", () => {
  const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`
  const raw = (text: string): Ask => ({ raw: text, headers: { "content-type": "application/json" } })
  const batch = (size: number) => JSON.stringify(Array.from({ length: size }, (_, id) => message(id, "ping")))

  it.each<readonly [what: string, ask: Ask, status: number, code: number]>([
    ["no JSON", raw("{nope"), 400, -32700],
    ["bytes that are no UTF-8", { ...raw(""), raw: new Uint8Array([0x7b, 0xff]) }, 400, -32700],
    ["nothing", raw(""), 400, -32700],
    ["another version of JSON-RPC", raw('{"jsonrpc":"1.0","id":1,"method":"ping"}'), 400, -32600],
    ["no object", raw("7"), 400, -32600],
    ["an empty batch", raw("[]"), 400, -32600],
    ["a batch of more than 20 messages", raw(batch(21)), 400, -32600],
    ["a batch with equal ids", raw(JSON.stringify([message(1, "ping"), message(1, "tools/list")])), 400, -32600],
    [
      "a batch of a version that has none",
      { raw: batch(2), headers: { "content-type": "application/json", "mcp-protocol-version": "2025-06-18" } },
      400,
      -32600
    ],
    [
      "an unknown version",
      {
        raw: JSON.stringify(listed(1)),
        headers: { "content-type": "application/json", "mcp-protocol-version": "1999-01-01" }
      },
      400,
      -32000
    ],
    [
      "a value that is nested too deeply",
      raw(`{"jsonrpc":"2.0","id":1,"method":"ping","params":${nested(80)}}`),
      422,
      -32600
    ],
    ["more than a MiB", raw(`"${"a".repeat(1024 * 1024)}"`), 413, -32600],
    ["another media type", { raw: "{}", headers: { "content-type": "text/plain" } }, 415, -32600]
  ])("is refused: %s", async (_, ask, status, code) => {
    const answer = await post(svc, undefined, ask)
    assert.deepStrictEqual([answer.status, answer.body.error.code], [status, code], answer.text)
    assert.isString(answer.body.error.message)
  })

  it("an unknown method, tool or cursor is a refusal of that message", async () => {
    for (const [sent, code] of [
      [message(1, "resources/list"), -32601],
      [message(1, "nope/nope"), -32601],
      [toolCall(1, "svc_connector_gat"), -32602],
      [message(1, "tools/list", { cursor: "x" }), -32602],
      [message(1, "tools/call", { name: 7 }), -32602],
      [message(1, "tools/call", { name: "svc_connector_get", arguments: [1] }), -32602]
    ] as const) {
      const { body, status } = await post(svc, sent)
      assert.deepStrictEqual([status, body.id, body.error?.code], [200, 1, code], JSON.stringify(body))
    }
  })

  it("an integer that a number cannot hold is refused, not rounded", async () => {
    const text = JSON.stringify(toolCall(1, "svc_connector_update", { slug: "a", patch: { x: "AT" } })).replace(
      '"AT"',
      "9007199254740993"
    )
    const { body, status } = await post(svc, undefined, raw(text))
    assert.deepStrictEqual([status, body.error.data.details[0].path], [422, "params.arguments.patch.x"])
  })

  it.each(["GET", "DELETE", "PUT"])("%s is refused", async (method) => {
    const { headers, status } = await svc.ask(method, adminGateway, { key: svc.first.key })
    assert.deepStrictEqual([status, headers["allow"]], [405, "POST"])
  })

  it.each(["/mcp", "/mcp/gateways", "/mcp/admin/x"])("%s is no gateway", async (path) => {
    const { body, status } = await post(svc, listed(1), { path })
    assert.deepStrictEqual([status, body.error.data.code], [404, "NOT_FOUND"])
  })
})

describe("who may call", () => {
  const sent = (headers: { readonly [name: string]: string }) => post(svc, listed(1), { headers })

  it("no page of another site, and no name that is not the service's", async () => {
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: "http://svc.test:81" },
      { host: "evil.example" },
      { host: "svc.test.evil.example" },
      { host: "0x7f000001.evil.example:80" },
      { host: "not a host" }
    ]) {
      const answer = await sent(headers)
      assert.deepStrictEqual([answer.status, answer.body.error.data.code], [403, "FORBIDDEN"], JSON.stringify(headers))
      assert.isEmpty(Object.keys(answer.headers).filter((name) => name.startsWith("access-control-")))
    }
  })

  it("the service's own pages, its public name, this machine and its addresses", async () => {
    for (const headers of [
      { origin: "http://svc.test" },
      { host: "svc.test" },
      { host: "SVC.test:8080" },
      { host: "localhost:4100" },
      { host: "127.0.0.1:4100" },
      { host: "[::1]:4100" }
    ]) {
      const answer = await sent(headers)
      assert.strictEqual(answer.status, 200, JSON.stringify(headers))
      assert.isEmpty(Object.keys(answer.headers).filter((name) => name.startsWith("access-control-")))
    }
  })

  it("a key in the URL, in a header, or in both if they agree; the answer says where it stands", async () => {
    const key = svc.first.key
    const inUrl = `${adminGateway}?api_key=${key}`
    const ask = async (path: string, headers: { readonly [name: string]: string }) =>
      svc.ask("POST", path, { body: listed(1), headers })
    for (const [path, headers] of [
      [inUrl, {}],
      [inUrl, { "x-svc-api-key": key }],
      [`${inUrl}&other=1`, { authorization: `Bearer ${key}` }]
    ] as const) {
      const answer = await ask(path, headers)
      assert.deepStrictEqual([answer.status, answer.headers["x-svc-notice"]], [200, "key-in-url"], answer.text)
    }
    for (const [path, headers] of [
      [adminGateway, { "x-svc-api-key": key }],
      [`${adminGateway}?api_key=`, { authorization: `Bearer ${key}` }]
    ] as const)
      assert.strictEqual((await ask(path, headers)).status, 200)
    assert.notProperty((await ask(adminGateway, { "x-svc-api-key": key })).headers, "x-svc-notice")
    const { key: other } = await makeKey(svc, {})
    for (const [path, headers] of [
      [adminGateway, {}],
      [`${adminGateway}?api_key=svk_live_${"A".repeat(43)}`, {}],
      [`${inUrl}&api_key=${other}`, {}],
      [inUrl, { "x-svc-api-key": other }],
      [inUrl, { authorization: `Bearer ${other}` }]
    ] as const) {
      const answer = await ask(path, headers)
      assert.deepStrictEqual([answer.status, answer.body.error.data.code], [401, "UNAUTHORIZED"], answer.text)
      if (path !== adminGateway) assert.strictEqual(answer.headers["x-svc-notice"], "key-in-url")
    }
  })

  it("a Test key without its header, since a client that knows a URL only cannot send it", async () => {
    const { key } = await makeKey(svc, { mode: "test" })
    assert.strictEqual((await post(svc, listed(1), { key })).status, 200)
    assert.strictEqual((await svc.ask("GET", "/api/v1/connectors", { key })).status, 403)
  })

  it("a key that verifies its caller, by one signature of the request for all of its calls", async () => {
    const made = await svc.ask("POST", "/api/v1/api-keys", {
      key: svc.first.key,
      body: { name: "signed", mode: "live", preset: "full_access", hmac: { enabled: true } }
    })
    const { hmacSecret, key } = made.body.data
    const digests = {
      hmacHex: (secret: string | Uint8Array, text: string | Uint8Array) =>
        createHmac("sha256", secret).update(text).digest("hex")
    }
    const body = JSON.stringify([
      toolCall(1, "svc_connector_get", { slug: "hubspot" }),
      toolCall(2, "svc_connector_get", { slug: "shopify" })
    ])
    const signed = (target: string) => {
      const bodySha256 = createHash("sha256").update(body).digest("hex")
      const request = { method: "POST", target, header: () => undefined, bodySha256 }
      return Option.getOrThrow(signIdentity(digests, [hmacSecret], request, Math.floor(Date.now() / 1000), "n1"))
    }
    const ask = (signature: string) =>
      svc.ask("POST", adminGateway, {
        key,
        raw: body,
        headers: { "content-type": "application/json", "x-identity-hmac": signature }
      })
    const answer = await ask(signed(adminGateway))
    assert.deepStrictEqual(
      answer.body.map(
        ({ result }: never) => (result as { structuredContent: { slug: string } }).structuredContent.slug
      ),
      ["hubspot", "shopify"]
    )
    const wrong = await ask(signed("/mcp/other"))
    assert.deepStrictEqual([wrong.status, wrong.body.error.data.code], [401, "IDENTITY_HMAC_INVALID"])
  })

  it("no embed session, whose page may read what the API answers, and no session of a person", async () => {
    const origin = "https://app.example.com"
    const { ask, token } = await openPanel(svc, svc.first.customerId, { allowedOrigins: [origin] })
    const api = await ask("GET", "/connectors", { headers: { origin } })
    assert.strictEqual(api.headers["access-control-allow-origin"], origin)
    for (const [headers, status] of [
      [{ origin }, 403],
      [{}, 401]
    ] as const) {
      const answer = await post(svc, listed(1), { key: token, headers })
      assert.strictEqual(answer.status, status, answer.text)
      assert.notProperty(answer.headers, "access-control-allow-origin")
    }
    const preflight = { origin, "access-control-request-method": "POST" }
    const asked = await svc.ask("OPTIONS", adminGateway, { headers: preflight })
    assert.strictEqual(asked.status, 403)
    assert.isEmpty(Object.keys(asked.headers).filter((name) => name.startsWith("access-control-")))
    const cookie = await svc.ask("POST", adminGateway, { body: listed(1), headers: { cookie: "svc_session=x" } })
    assert.strictEqual(cookie.status, 401)
  })
})

describe("calls", () => {
  it("count as one call each, also in a batch", async () => {
    const { key } = await makeKey(svc, { rateLimitPerMinute: 5 })
    const three = [message(1, "ping"), listed(2), toolCall(3, "svc_connector_get", { slug: "hubspot" })]
    const first = await post(svc, three, { key })
    assert.strictEqual(first.status, 200, first.text)
    const second = await post(svc, toolCall(1, "svc_connector_get", { slug: "hubspot" }), { key })
    assert.strictEqual(second.headers["x-ratelimit-remaining"], "1")
    // Not one of them runs if they are too many.
    const third = await post(svc, three, { key })
    assert.deepStrictEqual([third.status, third.body.error.data.code], [429, "RATE_LIMITED"])
    assert.isDefined(third.headers["retry-after"])
  })

  it("get none of the request's headers", async () => {
    const customer = await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name: "Other" } })
    const headers = {
      "idempotency-key": "one",
      "if-match": '"7"',
      "x-end-org-id": customer.body.data.id,
      "x-user-id": "ada",
      "x-svc-env": "nowhere"
    }
    const definition = (slug: string) => ({
      definition: {
        svcConnector: 1,
        slug,
        name: slug,
        kind: "custom",
        version: "1.0.0",
        baseUrl: "https://api.example.com",
        auth: [{ id: "none", type: "none" }],
        actions: []
      }
    })
    for (const slug of ["headers-one", "headers-two"]) {
      const made = await callTool(svc, "svc_connector_create", definition(slug), { headers })
      assert.deepStrictEqual([made.isError, made.value.slug], [false, slug], made.text)
    }
  })

  it("are told apart, whatever ids clients choose", async () => {
    const slugs = ["hubspot", "shopify", "stripe", "xero", "slack"]
    const calls = Array.from({ length: 200 }, (_, at) => slugs[at % slugs.length] ?? "")
    const answers = await Promise.all(calls.map((slug) => callTool(svc, "svc_connector_get", { slug })))
    assert.deepStrictEqual(
      answers.map(({ value }) => value.slug),
      calls
    )
  })
})
