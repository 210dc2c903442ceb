/** Tests of a draft's action and of the calls of its webhooks at their provider. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { connect, publishConnector, scripts, svc, systems } from "../support/calls.js"
import {
  actionOf,
  ask,
  connection,
  connectHttp,
  customerSecret,
  executeWebhook,
  saveDraft,
  startDraftTests,
  stopDraftTests,
  testAction,
  testedConnector,
  tester,
  webhookOf
} from "../support/draftTests.js"
import { eventually } from "../support/eventually.js"
import { makeKey } from "../support/keys.js"

beforeAll(startDraftTests)
afterAll(stopDraftTests)

describe("an action of a draft", () => {
  it("is called with the connection's credential, before it is published", async () => {
    await saveDraft({ actions: [actionOf("fresh", "/fresh/{{args.id}}", { response: { map: "$.path" } })] })
    const answer = await testAction("fresh", { connectionId: connection, args: { id: "a/b" } })
    assert.strictEqual(answer.status, 200, answer.text)
    const { durationMs, ...outcome } = answer.body.data
    assert.deepStrictEqual(outcome, { ok: true, status: 200, result: "/fresh/a%2Fb", isCut: false, error: null })
    assert.isAtLeast(durationMs, 0)
    assert.deepInclude(systems.requests.at(-1), { method: "GET", url: "/fresh/a%2Fb" })
    assert.strictEqual(systems.requests.at(-1)?.headers["x-acme-key"], customerSecret)
    const run = await ask("GET", "/executions")
    assert.deepStrictEqual(run.body.data, [])
  })

  it("is the published one without a draft, and that of a built-in connector", async () => {
    await publishConnector("svc-plain")
    const { id } = await connect("svc-plain", customerSecret)
    const own = await testAction("get", { connectionId: id, args: { id: 1 } }, tester, "svc-plain")
    assert.deepInclude(own.body.data, { ok: true, status: 200 }, own.text)
    const http = await connectHttp("built in")
    const builtIn = await testAction("get", { connectionId: http, args: { path: "here" } }, tester, "http")
    assert.deepInclude(builtIn.body.data.result, { status: 200, body: { path: "/here", nth: 1 } }, builtIn.text)
    assert.strictEqual(systems.requests.at(-1)?.headers.authorization, `Bearer ${customerSecret}`)
  })

  it("is sent once, and a refusal by the provider is an outcome", async () => {
    await saveDraft({ actions: [actionOf("busy", "/busy"), actionOf("wrong", "/wrong", {}, "POST")] })
    scripts.set("/busy", () => ({ status: 503, body: { message: "later" } }))
    scripts.set("/wrong", () => ({ status: 422, body: { error: { code: "NO_NAME", message: "name is missing" } } }))
    const busy = await testAction("busy", { connectionId: connection })
    assert.strictEqual(busy.status, 200, busy.text)
    assert.deepInclude(busy.body.data, { ok: false, status: 503, result: null })
    assert.lengthOf(
      systems.requests.filter(({ url }) => url === "/busy"),
      1
    )
    const wrong = await testAction("wrong", { connectionId: connection })
    assert.deepInclude(wrong.body.data, {
      ok: false,
      status: 422,
      error: {
        code: "NO_NAME",
        message: "name is missing",
        body: { error: { code: "NO_NAME", message: "name is missing" } }
      }
    })
  })

  it("needs arguments by its schema, whose mistakes are told with their paths before anything is sent", async () => {
    const inputSchema = { type: "object", properties: { id: { $ref: "#/$defs/Id" } }, required: ["id"] }
    await saveDraft({
      schemas: { Id: { type: "string", minLength: 3 } },
      actions: [actionOf("strict", "/strict/{{args.id}}", { inputSchema })]
    })
    const before = systems.requests.length
    for (const [args, path] of [
      [{ id: "ab" }, "args.id"],
      [{}, "args"]
    ] as const) {
      const refused = await testAction("strict", { connectionId: connection, args })
      assert.strictEqual(refused.status, 422, refused.text)
      assert.include(refused.body.details[0].path, path)
    }
    const list = await testAction("strict", { connectionId: connection, args: [] })
    assert.strictEqual(list.status, 422, list.text)
    assert.lengthOf(systems.requests, before)
    assert.strictEqual(
      (await testAction("strict", { connectionId: connection, args: { id: "abc" } })).body.data.ok,
      true
    )
  })

  it("answers from its mocks without a connection and without a call", async () => {
    const mocks = [
      { name: "one", input: { id: 1 }, output: { name: "Ada", password: customerSecret } },
      { name: "rest", input: { id: 2 }, output: { name: "Bob" } }
    ]
    await saveDraft({ actions: [actionOf("mocked", "/mocked", { mocks }), actionOf("bare", "/bare")] })
    const before = systems.requests.length
    const one = await testAction("mocked", { mock: true, args: { id: 1 } })
    assert.deepStrictEqual(one.body.data, {
      ok: true,
      status: null,
      result: { name: "Ada", password: "[redacted]" },
      isCut: false,
      error: null,
      durationMs: 0
    })
    for (const refused of [
      await testAction("mocked", { mock: true, args: { id: 3 } }),
      await testAction("bare", { mock: true }),
      await testAction("mocked", { mock: true, args: { id: 1 }, connectionId: connection }),
      await testAction("mocked", { args: { id: 1 } })
    ])
      assert.strictEqual(refused.status, 422, refused.text)
    const bare = await testAction("mocked", { args: { id: 1 } })
    assert.deepInclude(bare.body.details[0], { path: "connectionId", code: "REQUIRED" })
    assert.lengthOf(systems.requests, before)
  })

  it("that the draft does not have is not found", async () => {
    await saveDraft({ actions: [actionOf("fresh", "/fresh")] })
    for (const [name, connector] of [
      ["frsh", testedConnector],
      ["fresh", "svc-nowhere"]
    ] as const)
      assert.strictEqual((await testAction(name, { connectionId: connection }, tester, connector)).status, 404)
  })

  it("shows a result of up to 64 KiB, a longer text cut, and another longer value not at all", async () => {
    await saveDraft({
      actions: [actionOf("large", "/large"), actionOf("text", "/text", { response: { type: "text" } })]
    })
    scripts.set("/large", () => ({ body: { items: Array.from({ length: 10_000 }, (_, id) => ({ id })) } }))
    scripts.set("/text", () => ({ body: "a".repeat(100_000) }))
    const large = await testAction("large", { connectionId: connection })
    assert.deepInclude(large.body.data, { ok: true, status: 200, result: null, isCut: true })
    const text = await testAction("text", { connectionId: connection })
    assert.strictEqual(text.body.data.isCut, true)
    assert.strictEqual(text.body.data.result, "a".repeat(65_536))
  })

  it("is one entry of the audit trail, which says what was called", async () => {
    await saveDraft({ actions: [actionOf("noted", "/noted")] })
    const answer = await testAction("noted", { connectionId: connection })
    const { id } = (await ask("GET", `/connectors/${testedConnector}`)).body.data
    const found = await eventually(
      () => ask("GET", `/audit?resource_id=${id}&action=connector.test_action`),
      ({ body }) => body.data.some((one: { requestId: string }) => one.requestId === answer.headers["x-request-id"])
    )
    const [entry] = found.body.data
    assert.deepInclude(entry, { action: "connector.test_action", outcome: "success", customerId: svc.first.customerId })
    assert.deepStrictEqual(entry.changes, [
      { path: "called", before: null, after: "noted" },
      { path: "connectionId", before: null, after: connection }
    ])
  })
})

describe("the connection of a test", () => {
  it("must be one that the caller reaches, to this connector, and active", async () => {
    await saveDraft({ actions: [actionOf("fresh", "/fresh")] })
    await publishConnector("svc-else")
    const elsewhere = (await connect("svc-else", customerSecret)).id
    const disabled = (await connect(testedConnector, customerSecret, svc.first.customerId, "disabled")).id
    await ask("POST", `/connections/${disabled}/disable`)
    const neighbour = await svc.organisation("Neighbour")
    const before = systems.requests.length
    const unknown = await testAction("fresh", { connectionId: "conn_00000000000000000000000000" })
    assert.strictEqual(unknown.status, 404, unknown.text)

    const foreign = await ask(
      "POST",
      "/connectors/http/actions/get/test",
      { connectionId: connection, args: { path: "x" } },
      neighbour.key
    )
    assert.strictEqual(foreign.status, 404, foreign.text)
    const otherCustomer = await ask("POST", "/customers", { name: "Another" })
    const narrow = await makeKey(svc, { customers: { mode: "subset", ids: [otherCustomer.body.data.id] } })
    const unreached = await testAction("fresh", { connectionId: connection }, narrow.key)
    for (const { body } of [foreign, unreached])
      assert.deepStrictEqual({ ...body, requestId: "" }, { ...unknown.body, requestId: "" })

    const wrong = await testAction("fresh", { connectionId: elsewhere })
    assert.strictEqual(wrong.status, 422, wrong.text)
    assert.deepInclude(wrong.body.details[0], { path: "connectionId", code: "INVALID_VALUE" })
    const inactive = await testAction("fresh", { connectionId: disabled })
    assert.deepStrictEqual([inactive.status, inactive.body.code], [409, "CONNECTION_NOT_ACTIVE"], inactive.text)
    assert.lengthOf(systems.requests, before)
  })

  it("needs the permission to change connections", async () => {
    const { key } = await makeKey(svc, { preset: "custom", permissions: { connectors: ["read", "write"] } })
    assert.strictEqual((await testAction("fresh", { connectionId: connection }, key)).status, 403)
  })
})

describe("the calls of a draft's webhook", () => {
  it("have arguments of their templates over the input, and say what was found in the answer", async () => {
    const body = {
      url: "{{args.url}}",
      secret: "{{args.secret}}",
      topic: "{{args.topic}}",
      list: "{{args.list}}"
    }
    const text = { type: "string" }
    await saveDraft({
      actions: [
        {
          ...actionOf("subscribe", "/hooks"),
          inputSchema: { type: "object", properties: { url: text, topic: text }, required: ["url"] },
          request: { method: "POST", path: "/hooks", body }
        },
        actionOf("extend", "/hooks/{{args.id}}/renew", {}, "POST"),
        actionOf("unsubscribe", "/hooks/{{args.id}}", {}, "DELETE")
      ],
      webhooks: [
        webhookOf({
          subscribe: {
            action: "subscribe",
            args: {
              url: "{{webhook.url}}",
              secret: "{{webhook.secret}}",
              topic: "{{event.key}}",
              list: "{{args.list}}"
            },
            idFrom: "$.id",
            expiresFrom: "$.expires",
            secretFrom: "$.signing"
          },
          renew: { action: "extend", args: { id: "{{subscription.id}}" } },
          unsubscribe: { action: "unsubscribe", args: { id: "{{subscription.id}}" } }
        })
      ]
    })
    const expires = "2030-01-02T03:04:05.000Z"
    scripts.set("/hooks", () => ({ body: { id: 7, expires, signing: "canary_signing_secret" } }))
    scripts.set("/hooks/7/renew", () => ({ body: { expires } }))
    scripts.set("/hooks/7", () => ({ status: 204, body: "" }))

    const input = {
      args: { list: "vip" },
      event: { key: "deal.changed" },
      webhook: { url: "https://svc.example/hooks/x", secret: "canary_own_secret" },
      subscription: { id: "7" }
    }
    const asked = (snippet: string, more: object = { input }) =>
      executeWebhook("hook", { snippet, connectionId: connection, ...more })
    const subscribed = await asked("subscribe")
    assert.deepInclude(subscribed.body.data, {
      ok: true,
      status: 200,
      result: { id: 7, expires, signing: "[redacted]" },
      subscription: { id: "7", expiresAt: expires }
    })
    assert.notInclude(subscribed.text, "canary")
    assert.deepStrictEqual(JSON.parse(systems.requests.at(-1)?.body ?? ""), {
      url: "https://svc.example/hooks/x",
      secret: "canary_own_secret",
      topic: "deal.changed",
      list: "vip"
    })
    assert.strictEqual(systems.requests.at(-1)?.headers["x-acme-key"], customerSecret)
    const renewed = await asked("renew")
    assert.deepStrictEqual(renewed.body.data.subscription, { id: null, expiresAt: expires })
    const ended = await asked("unsubscribe")
    assert.deepInclude(ended.body.data, { ok: true, status: 204, subscription: null })
    assert.deepInclude(systems.requests.at(-1), { method: "DELETE", url: "/hooks/7" })

    const before = systems.requests.length
    const incomplete = await asked("subscribe", {})
    assert.strictEqual(incomplete.status, 422, incomplete.text)
    assert.match(incomplete.body.details[0].path, /^subscribe\.args/)
    const unknown = await executeWebhook("hok", { snippet: "subscribe", connectionId: connection })
    assert.strictEqual(unknown.status, 404, unknown.text)
    const form = await asked("remove")
    assert.strictEqual(form.status, 422, form.text)
    assert.lengthOf(systems.requests, before)
  })

  it("fail where the webhook does not define them", async () => {
    await saveDraft({
      actions: [actionOf("subscribe", "/hooks", {}, "POST")],
      webhooks: [webhookOf({ subscribe: { action: "subscribe" } })]
    })
    const refused = await executeWebhook("hook", { snippet: "renew", connectionId: connection })
    assert.strictEqual(refused.status, 422, refused.text)
    assert.deepInclude(refused.body.details[0], { path: "snippet", code: "NOT_FOUND" })
  })

  it("need the permission to write connectors, too", async () => {
    const { key } = await makeKey(svc, { preset: "custom", permissions: { connections: ["read", "update"] } })
    const refused = await executeWebhook("hook", { snippet: "subscribe", connectionId: connection }, key)
    assert.strictEqual(refused.status, 403, refused.text)
  })
})
