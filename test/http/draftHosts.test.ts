/** No draft leads the credential of a connection to another host, and no outcome of a test has a secret. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { connect, definition, publishConnector, scripts, svc, systems } from "../support/calls.js"
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
import { promised } from "../support/promises.js"
import { type Provider, startProvider } from "../support/provider.js"

/** Too short to be removed from answers by the egress: outcomes hide it. */
const shortSecret = "canary_k1"

/** Another host, which no published version names. It answers everything. */
let other: Provider

beforeAll(async () => {
  other = await startProvider()
  await startDraftTests()
})
afterAll(async () => {
  await stopDraftTests()
  await other.close()
})

/** The base URL of the published versions. */
const baseUrl = "{{connection.config.base}}"

const config = (...names: ReadonlyArray<string>) => ({
  connectionConfig: {
    type: "object",
    properties: Object.fromEntries(["base", ...names].map((name) => [name, { type: "string" }])),
    required: ["base"]
  }
})

describe("a draft that calls another host", () => {
  /** Asserts that the test is refused for the want of a permission, and that nothing was sent anywhere. */
  const assertKept = async (send: () => ReturnType<typeof testAction>) => {
    const [own, foreign] = [systems.requests.length, other.requests.length]
    const refused = await send()
    promised("a draft leads a credential to another host", () => assert.lengthOf(other.requests, foreign))
    assert.deepStrictEqual([refused.status, refused.body.code], [403, "FORBIDDEN"], refused.text)
    assert.include(refused.text, "connections:decrypt")
    assert.lengthOf(systems.requests, own)
  }

  it("gets no request without the permission to decrypt: by another base URL, a full URL, or a template", async () => {
    const fresh = [actionOf("fresh", "/fresh")]
    await saveDraft({ baseUrl: other.url, actions: fresh })
    await assertKept(() => testAction("fresh", { connectionId: connection }))
    await saveDraft({ actions: [actionOf("fresh", `${other.url}/fresh`)] })
    await assertKept(() => testAction("fresh", { connectionId: connection }))
    await saveDraft({ baseUrl: "{{connection.config.elsewhere}}", actions: fresh, ...config("elsewhere") })
    const labelled = await ask("POST", "/connections", {
      connector: testedConnector,
      customerId: svc.first.customerId,
      label: "with another address",
      config: { base: systems.url, elsewhere: other.url },
      credential: { apiKey: customerSecret }
    })
    assert.strictEqual(labelled.status, 201, labelled.text)
    await assertKept(() => testAction("fresh", { connectionId: labelled.body.data.id }))
  })

  it("gets none by a link to a next page, or by another transport", async () => {
    await saveDraft({
      actions: [{ ...actionOf("list", "/list"), pagination: { type: "link", next: "$.next" } }]
    })
    const [own, foreign] = [systems.requests.length, other.requests.length]
    const refused = await testAction("list", { connectionId: connection, args: { $next: `${other.url}/next` } })
    assert.strictEqual(refused.status, 422, refused.text)
    assert.strictEqual(refused.body.details[0].path, "args.$next")
    assert.deepStrictEqual([systems.requests.length, other.requests.length], [own, foreign])
    await saveDraft({
      transport: "smtp",
      baseUrl: `smtp://127.0.0.1:${new URL(other.url).port}`,
      actions: [actionOf("verify", "/", {}, "VERIFY")]
    })
    await assertKept(() => testAction("verify", { connectionId: connection }))
  })

  it("gets none of a connection that signs its requests, whoever asks", async () => {
    const signed = {
      auth: [
        {
          id: "key",
          type: "custom",
          default: true,
          fields: [{ name: "apiKey", secret: true }],
          inject: [{ in: "query", name: "key", value: "{{credential.apiKey}}" }],
          sign: "hook:hmacSha256",
          signing: { key: "{{credential.apiKey}}", payload: "{timestamp}{target}", header: "x-signature" }
        }
      ]
    }
    await publishConnector("svc-signed", "1.0.0", signed)
    const { id } = await connect("svc-signed", customerSecret)
    const elsewhere = { ...signed, baseUrl: other.url, actions: [actionOf("fresh", "/signed")] }
    const saved = await ask("PUT", "/connectors/svc-signed", definition("svc-signed", "2.0.0", elsewhere))
    assert.strictEqual(saved.status, 200, saved.text)
    const foreign = other.requests.length
    const refused = await testAction("fresh", { connectionId: id }, svc.first.key, "svc-signed")
    assert.strictEqual(refused.status, 422, refused.text)
    assert.deepInclude(refused.body.details[0], { path: "connectionId", code: "NOT_ALLOWED" })
    // A redirect of a request with the credential in its query is followed nowhere.
    scripts.set("/signed", () => ({ status: 302, headers: { location: `${other.url}/signed` }, body: "" }))
    const own = await ask("PUT", "/connectors/svc-signed", definition("svc-signed", "2.0.0", { ...elsewhere, baseUrl }))
    assert.strictEqual(own.status, 200, own.text)
    const moved = await testAction("fresh", { connectionId: id }, tester, "svc-signed")
    assert.deepInclude(moved.body.data, { ok: false, status: 302 }, moved.text)
    assert.property(systems.requests.at(-1)?.headers, "x-signature")
    assert.lengthOf(other.requests, foreign)
  })

  it("gets none by a webhook's call either", async () => {
    await saveDraft({
      actions: [actionOf("subscribe", `${other.url}/hooks`, {}, "POST")],
      webhooks: [webhookOf({ subscribe: { action: "subscribe" } })]
    })
    await assertKept(() => executeWebhook("hook", { snippet: "subscribe", connectionId: connection }))
  })

  it("gets none by auth methods and tokens of its own", async () => {
    const auth = [
      {
        id: "key",
        type: "api_key",
        default: true,
        fields: [{ name: "apiKey", secret: true }],
        inject: [
          { in: "query", name: "leak", value: "{{credential.apiKey}}" },
          { in: "header", name: "x-leak", value: "{{credential.apiKey}}" }
        ]
      }
    ]
    await saveDraft({ auth, actions: [actionOf("fresh", "/injected")] })
    const before = other.requests.length
    const answer = await testAction("fresh", { connectionId: connection })
    assert.strictEqual(answer.body.data.ok, true, answer.text)
    const sent = systems.requests.at(-1)
    assert.strictEqual(sent?.url, "/injected")
    assert.deepInclude(sent?.headers, { "x-acme-key": customerSecret })
    assert.notProperty(sent?.headers, "x-leak")
    assert.lengthOf(other.requests, before)
  })

  it("gets none by a draft with the slug of a built-in connector", async () => {
    const connectionId = await connectHttp("shadowed")
    const shadow = definition("http", "1.0.0", {
      baseUrl: other.url,
      actions: [actionOf("get", "/shadow")],
      auth: [
        {
          id: "bearer",
          type: "oauth2",
          default: true,
          grant: "client_credentials",
          tokenUrl: `${other.url}/token`,
          fields: [{ name: "token", secret: true }]
        }
      ],
      connectionConfig: undefined
    })
    const saved = await ask("POST", "/connectors", shadow)
    assert.strictEqual(saved.status, 201, saved.text)
    await assertKept(() => testAction("get", { connectionId }, tester, "http"))
    const replaced = await ask("PUT", "/connectors/http", { ...shadow, version: "1.0.1", baseUrl: systems.url })
    assert.strictEqual(replaced.status, 200, replaced.text)
    const before = other.requests.length
    const answer = await testAction("get", { connectionId }, tester, "http")
    assert.strictEqual(answer.body.data.ok, true, answer.text)
    assert.deepInclude(systems.requests.at(-1)?.headers, { authorization: `Bearer ${customerSecret}` })
    assert.lengthOf(other.requests, before)
    assert.strictEqual((await ask("DELETE", "/connectors/http")).status, 204)
  })

  it("by a redirect gets a request without the credential", async () => {
    await saveDraft({
      actions: [actionOf("moved", "/moved", { request: { method: "GET", path: "/moved", headers: { "x-own": "1" } } })]
    })
    scripts.set("/moved", () => ({ status: 302, headers: { location: `${other.url}/stolen` }, body: "" }))
    const answer = await testAction("moved", { connectionId: connection })
    assert.strictEqual(answer.status, 200, answer.text)
    const [stolen] = other.requests.filter(({ url }) => url === "/stolen")
    assert.isDefined(stolen)
    promised("a redirect leads a credential to another host", () => assert.notInclude(JSON.stringify(stolen), "canary"))
    assert.notProperty(stolen?.headers, "x-own")
  })

  it("is called for those who may decrypt, which the audit trail says", async () => {
    await saveDraft({ baseUrl: other.url, actions: [actionOf("fresh", "/with-decrypt")] })
    const permissions = { connections: ["read", "update", "decrypt"] }
    const { key } = await makeKey(svc, { preset: "custom", permissions })
    const answer = await testAction("fresh", { connectionId: connection }, key)
    assert.deepInclude(answer.body.data, { ok: true, status: 200, result: { url: "/with-decrypt" } }, answer.text)
    const [sent] = other.requests.filter(({ url }) => url === "/with-decrypt")
    assert.strictEqual(sent?.headers["x-acme-key"], customerSecret)
    const found = await eventually(
      () => ask("GET", "/audit?action=connector.test_action&page_size=200"),
      ({ body }) => body.data.some((one: { requestId: string }) => one.requestId === answer.headers["x-request-id"])
    )
    const entry = found.body.data.find((one: { requestId: string }) => one.requestId === answer.headers["x-request-id"])
    assert.deepInclude(entry.changes, { path: "credentialSentTo", before: null, after: other.url })
  })

  it("cannot end the connection by refusing its credential", async () => {
    const refusing = await startProvider((_, response) => void response.writeHead(401).end())
    await saveDraft({ baseUrl: refusing.url, actions: [actionOf("fresh", "/refused")] })
    for (let round = 0; round < 3; round++) {
      const answer = await testAction("fresh", { connectionId: connection }, svc.first.key)
      assert.deepInclude(answer.body.data, { ok: false, status: 401 }, answer.text)
    }
    await refusing.close()
    assert.strictEqual((await ask("GET", `/connections/${connection}`)).body.data.status, "active")
  })
})

describe("secrets in what a provider answers", () => {
  it("are in no outcome, also short ones and those with the name of one", async () => {
    const short = (await connect(testedConnector, shortSecret, svc.first.customerId, "short")).id
    await saveDraft({
      actions: [
        actionOf("echo", "/echo", { response: { map: { all: "{{body}}", headers: "{{headers}}" } } }),
        actionOf("fails", "/fails")
      ],
      webhooks: [webhookOf({ subscribe: { action: "echo", idFrom: "$.all.key" } })]
    })
    const echo = (key: unknown) => ({ key, seen: `you sent ${String(key)}`, accessToken: "canary_token_of_answer" })
    scripts.set("/echo", ({ headers }) => ({
      headers: { "set-cookie": "session=canary_cookie" },
      body: echo(headers["x-acme-key"])
    }))
    scripts.set("/fails", ({ headers }) => ({
      status: 400,
      body: { message: `not ${String(headers["x-acme-key"])}`, ...echo(headers["x-acme-key"]) }
    }))
    for (const connectionId of [connection, short]) {
      const subscribed = await executeWebhook("hook", { snippet: "subscribe", connectionId })
      assert.strictEqual(subscribed.body.data.subscription.id, "[redacted]")
      promised("an outcome has a secret", () => assert.notInclude(subscribed.text, "canary"))
      for (const [name, ok] of [
        ["echo", true],
        ["fails", false]
      ] as const) {
        const answer = await testAction(name, { connectionId })
        assert.strictEqual(answer.body.data.ok, ok, answer.text)
        assert.include(answer.text, "[redacted]")
        promised("an outcome has a secret", () => assert.notInclude(answer.text, "canary"))
      }
    }
  })
})
