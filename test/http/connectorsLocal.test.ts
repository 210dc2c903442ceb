/** A connector can be developed against a local server: http:// is allowed for hosts in the operator's networks. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Running, start } from "../support/InProcess.js"
import { acme, type OAuthProvider, startOAuthProvider } from "../support/oauthProvider.js"

let open: Running
let closed: Running
let provider: OAuthProvider

beforeAll(async () => {
  provider = await startOAuthProvider()
  open = await start({ SVC_EGRESS_ALLOW: "127.0.0.1/32,::1/128" })
  closed = await start()
})
afterAll(async () => {
  await open.stop()
  await closed.stop()
  await provider.close()
})

const save = (svc: Running, body: unknown) => svc.ask("POST", "/api/v1/connectors", { key: svc.first.key, body })

const oauth = (origin: string) => ({
  id: "oauth",
  type: "oauth2",
  authorizationUrl: `${origin}/authorize`,
  tokenUrl: `${origin}/token`,
  clientId: "c",
  clientSecret: "s"
})

describe("a definition with http://", () => {
  it("is saved, published and called where SVC_EGRESS_ALLOW covers the address", async () => {
    const upload = { name: "upload", request: { method: "GET", path: `${provider.url}/me` } }
    const { actions } = acme()
    const made = await save(open, acme({ slug: "local", baseUrl: provider.url, actions: [...actions, upload] }))
    assert.strictEqual(made.status, 201, made.text)
    assert.strictEqual(made.body.data.baseUrl, provider.url)
    const { key } = open.first
    assert.strictEqual((await open.ask("POST", "/api/v1/connectors/local/publish", { key, body: {} })).status, 200)
    const connected = await open.ask("POST", "/api/v1/connections", {
      key,
      body: {
        connector: "local",
        customerId: open.first.customerId,
        config: { base: provider.url },
        authMethod: "key",
        credential: { apiKey: "canary_key_1" }
      }
    })
    assert.deepStrictEqual([connected.status, connected.body.data?.status], [201, "active"], connected.text)
    const exported = await open.ask("GET", "/api/v1/connectors/local/export", { key })
    const copy = await save(open, { import: { format: "svc", source: exported.body, slug: "local-copy" } })
    assert.strictEqual(copy.status, 201, copy.text)
  })

  it("may name the host, if all of its addresses are covered", async () => {
    const { port } = new URL(provider.url)
    const made = await save(open, acme({ slug: "by-name", baseUrl: `http://localhost:${port}` }))
    assert.strictEqual(made.status, 201, made.text)
  })

  it("may have OAuth endpoints there", async () => {
    const made = await save(open, acme({ slug: "local-oauth", auth: [oauth(provider.url)] }))
    assert.strictEqual(made.status, 201, made.text)
  })

  it.each([
    ["baseUrl", { baseUrl: "http://127.0.0.2:8080" }],
    ["baseUrl", { baseUrl: "http://api.example.invalid" }],
    ["baseUrl", { baseUrl: "http://127.0.0.1@evil.example" }],
    ["baseUrl", { baseUrl: "http://127.0.0.1{{connection.config.base}}" }],
    ["auth[0].authorizationUrl", { auth: [oauth("http://127.0.0.2")] }],
    ["actions[0].request.path", { actions: [{ name: "me", request: { method: "GET", path: "http://10.0.0.1/me" } }] }]
  ])("is refused at %s for every other host: %j", async (path, more) => {
    const made = await save(open, acme({ slug: "refused", ...more }))
    const found: ReadonlyArray<{ readonly path: string; readonly code: string }> = made.body.details ?? []
    assert.deepStrictEqual([made.status, found[0]?.path], [422, path], made.text)
    assert.match(found[0]?.code ?? "", /^INVALID_(?:URL|PATH)$/)
  })

  it("is refused if the operator allows no networks", async () => {
    const made = await save(closed, acme({ slug: "local", baseUrl: provider.url }))
    assert.deepStrictEqual([made.status, made.body.details[0].path], [422, "baseUrl"], made.text)
  })
})
