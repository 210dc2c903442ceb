/** An agent makes, tests and publishes a connector, and manages connections of it, by the tools of the admin gateway alone. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { presetPermissions } from "../../../src/domain/access/Permission.js"
import { eventually } from "../../support/eventually.js"
import { type Answer, type Running, start } from "../../support/InProcess.js"
import { makeKey } from "../../support/keys.js"
import { type CalledTool, callTool } from "../../support/mcp/Gateway.js"
import { acme, type OAuthProvider, startOAuthProvider } from "../../support/oauthProvider.js"

let svc: Running
let provider: OAuthProvider
beforeAll(async () => {
  provider = await startOAuthProvider()
  svc = await start({ SVC_EGRESS_ALLOW: "127.0.0.1/32" })
  assert.strictEqual((await store("/connectors", acme())).status, 201)
  assert.strictEqual((await store("/connectors/acme/publish", {})).status, 200)
})
afterAll(async () => {
  await svc.stop()
  await provider.close()
})

/** The value of a call that is not refused. */
const called = async (name: string, input: object): Promise<CalledTool["value"]> => {
  const { isError, text, value } = await callTool(svc, name, input)
  assert.isFalse(isError, text)
  return value
}

/** The code and the path of a refusal. */
const refused = async (name: string, input: object, key = svc.first.key): Promise<readonly [string, string]> => {
  const { isError, text, value } = await callTool(svc, name, input, { key })
  assert.isTrue(isError, text)
  return [value.code, value.details[0]?.path ?? ""]
}

const read = (path: string): Promise<Answer> => svc.ask("GET", `/api/v1${path}`, { key: svc.first.key })
const store = (path: string, body: object): Promise<Answer> =>
  svc.ask("POST", `/api/v1${path}`, { key: svc.first.key, body })

describe("a connector", () => {
  const slug = "crew"

  it("is created, changed by its parts, tested, published and exported", async () => {
    const made = await called("svc_connector_create", { definition: acme({ slug }) })
    assert.deepInclude(made, { slug, status: "draft" })
    const changed = await called("svc_connector_update", {
      slug,
      patch: { description: "Crews" },
      version: made.revision
    })
    assert.deepInclude(changed, { description: "Crews", revision: made.revision + 1 })
    const stale = { slug, patch: { description: "Others" }, version: made.revision }
    assert.deepStrictEqual(await refused("svc_connector_update", stale), ["VERSION_MISMATCH", ""])

    const ping = {
      name: "ping",
      request: { method: "GET", path: "/ping" },
      mocks: [{ name: "one", output: { ok: 1 } }]
    }
    assert.deepInclude(await called("svc_action_create", { connector: slug, action: ping }), {
      name: "ping",
      version: 1
    })
    assert.include(await refused("svc_action_create", { connector: slug, action: ping }), "CONFLICT")
    await called("svc_action_update", { connector: slug, action: "ping", patch: { title: "Ping" } })
    assert.deepInclude(await called("svc_action_get", { connector: slug, action: "ping" }), { title: "Ping" })
    const listed = await called("svc_action_list", { connector: slug })
    assert.include(
      listed.data.map(({ name }: { readonly name: string }) => name),
      "ping"
    )
    const mocked = await called("svc_action_test", { connector: slug, action: "ping", args: {}, mock: true })
    assert.deepInclude(mocked, { ok: true, result: { ok: 1 } })

    const method = { id: "later", type: "api_key", fields: [{ name: "apiKey", secret: true }] }
    const inject = [{ in: "header", name: "x-api-key", value: "{{credential.apiKey}}" }]
    await called("svc_auth_method_create", { connector: slug, method: { ...method, inject } })
    await called("svc_auth_method_set_default", { connector: slug, methodId: "later" })
    const methods = await called("svc_auth_method_list", { connector: slug })
    assert.deepStrictEqual(
      methods.data.flatMap((one: { readonly default?: boolean; readonly id: string }) => (one.default ? [one.id] : [])),
      ["later"]
    )
    await called("svc_auth_method_delete", { connector: slug, methodId: "later" })

    const config = { id: "app", type: "per_event", subscribe: { action: "ping" }, verify: { scheme: "none" } }
    await called("svc_webhook_config_upsert", { connector: slug, config })
    assert.deepInclude(await called("svc_webhook_config_get", { connector: slug, configId: "app" }), {
      type: "per_event"
    })
    await called("svc_webhook_config_delete", { connector: slug, configId: "app" })
    assert.deepStrictEqual((await called("svc_webhook_config_list", { connector: slug })).data, [])

    const published = await called("svc_connector_publish_version", { slug, version: "1.4.0", notes: "First" })
    assert.deepInclude(published.data, { status: "published", version: "1.4.0", latestVersion: "1.4.0" })
    const versions = await called("svc_action_list_versions", { connector: slug, action: "ping" })
    assert.deepInclude(versions.data[0], { version: 1, connectorVersion: "1.4.0" })
    const exported = await called("svc_connector_export", { slug })
    assert.deepInclude(exported, { svcConnector: 1, slug, version: "1.4.0" })
    assert.deepStrictEqual((await read(`/connectors/${slug}/export`)).body, exported)
  })

  it("is imported, or only shown, from a Postman collection and from an export", async () => {
    const schema = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
    const item = [{ name: "List orders", request: { method: "GET", url: "https://orders.example.com/v1/orders" } }]
    const collection = { format: "postman", source: { info: { name: "Orders", schema }, item }, slug: "orders" }
    const shown = await called("svc_connector_import", { ...collection, dryRun: true })
    assert.deepInclude(shown.data, { slug: "orders", baseUrl: "https://orders.example.com/v1" })
    assert.strictEqual((await refused("svc_connector_get", { slug: "orders" }))[0], "NOT_FOUND")
    const made = await called("svc_connector_import", collection)
    assert.deepInclude(made.data, { slug: "orders", status: "draft" })
    assert.strictEqual(made.data.actions[0].name, "listOrders")
    const exported = await called("svc_connector_export", { slug: "orders" })
    await called("svc_connector_delete", { slug: "orders" })
    const again = await called("svc_connector_import", { format: "svc", source: exported, slug: "orders-two" })
    assert.deepInclude(again.data ?? again, { slug: "orders-two" })
  })

  it("names what is wrong by the argument, and the place in it", async () => {
    const imported = { format: "openapi", source: { openapi: "3.0.0" } }
    const [code, path] = await refused("svc_connector_import", imported)
    assert.deepStrictEqual([code, path.split(/[.[]/)[0]], ["VALIDATION_FAILED", "source"])
    const { value } = await callTool(svc, "svc_connector_import", imported)
    assert.match(value.message, /^source/)
    assert.deepStrictEqual(await refused("svc_connection_list", { status: "odd" }), ["VALIDATION_FAILED", "status"])
    assert.deepStrictEqual(await refused("svc_connector_list", { limit: "5" }), ["VALIDATION_FAILED", "limit"])
    assert.deepStrictEqual(await refused("svc_connector_get", { slag: "crew" }), ["VALIDATION_FAILED", "slug"])
    assert.deepStrictEqual(await refused("svc_connector_get", { slug: "" }), ["VALIDATION_FAILED", "slug"])
    assert.deepStrictEqual(await refused("svc_connector_get", { slug: "crew", x: 1 }), ["VALIDATION_FAILED", "x"])
    // A name is taken literally, and leads to no other path.
    for (const escape of ["../customers", "crew/export", "crew?version=1.0.0", "%2e%2e", "__proto__"])
      assert.deepStrictEqual(await refused("svc_connector_get", { slug: escape }), ["NOT_FOUND", ""])
  })

  it("is guarded before its arguments are looked at, as the same request elsewhere is", async () => {
    const all = presetPermissions("full_access")
    const without = async (lacking: string) => {
      const permissions: { [group: string]: Array<string> } = {}
      for (const one of all) {
        const [group = "", name = ""] = one.split(":")
        if (one !== lacking) (permissions[group] ??= []).push(name)
      }
      return (await makeKey(svc, { preset: "custom", permissions })).key
    }
    for (const [name, permission] of [
      ["svc_connector_create", "connectors:create"],
      ["svc_webhook_config_execute", "connections:update"],
      ["svc_connection_create_link", "connections:create"]
    ] as const) {
      const key = await without(permission)
      assert.strictEqual((await refused(name, { none: 1 }, key))[0], "FORBIDDEN")
      assert.deepStrictEqual((await refused(name, { none: 1 }))[0], "VALIDATION_FAILED")
    }
    const reconnecting = { customerId: svc.first.customerId, connector: "crew", reconnect: "conn_none" }
    const creator = await without("connections:update")
    assert.strictEqual((await refused("svc_connection_create_link", reconnecting, creator))[0], "FORBIDDEN")
  })
})

describe("an OAuth client", () => {
  it("takes its secret from a secret of the organisation, for those who may read secrets", async () => {
    assert.strictEqual((await store("/secrets", { name: "CREW_SECRET", type: "text", value: "s3cr3t" })).status, 201)
    assert.strictEqual((await store("/secrets", { name: "CREW_JSON", type: "json", value: { a: 1 } })).status, 201)
    const client = { connector: "acme", name: "main", clientId: "svc-client" }
    const made = await called("svc_auth_provider_upsert", { ...client, clientSecretName: "CREW_SECRET" })
    assert.deepInclude(made, { name: "main", methodId: "oauth", hasClientSecret: true })
    assert.notInclude(JSON.stringify(made), "s3cr3t")
    for (const [more, path] of [
      [{ clientSecretName: "CREW_NONE" }, "clientSecretName"],
      [{ clientSecretName: "CREW_JSON" }, "clientSecretName"],
      [{ clientSecretName: "CREW_SECRET", clientSecret: "x" }, "clientSecretName"],
      [{ methodId: "key" }, "methodId"]
    ] as const)
      assert.deepStrictEqual((await refused("svc_auth_provider_upsert", { ...client, ...more }))[1], path)
    const { key } = await makeKey(svc, { preset: "developer" })
    const byName = { ...client, clientSecretName: "CREW_SECRET" }
    assert.deepStrictEqual((await refused("svc_auth_provider_upsert", byName, key))[0], "FORBIDDEN")
    assert.isFalse((await callTool(svc, "svc_auth_provider_upsert", client, { key })).isError)
  })

  it("whose secret was named signs people in with it", async () => {
    const link = await called("svc_connection_create_link", { customerId: svc.first.customerId, connector: "acme" })
    assert.include(link.connectUrl, "http://svc.test/connect/")
    assert.strictEqual(link.status, "pending")
    const { data } = await called("svc_auth_provider_list", { connector: "acme" })
    await called("svc_connector_get", { slug: "acme" })
    const other = { connector: "acme", name: "other", clientId: "other-client" }
    const { id } = await called("svc_auth_provider_upsert", other)
    assert.deepStrictEqual(await called("svc_auth_provider_delete", { connector: "acme", providerId: id }), {
      done: true
    })
    assert.strictEqual((await called("svc_auth_provider_list", { connector: "acme" })).data.length, data.length)
  })
})

describe("a connection", () => {
  const connected = async (more: object = {}): Promise<string> => {
    const { accessToken, refreshToken } = provider.issue()
    const made = await store("/connections", {
      connector: "acme",
      customerId: svc.first.customerId,
      authMethod: "oauth",
      config: { base: provider.url },
      credential: { accessToken, refreshToken, expiresIn: 3_600 },
      ...more
    })
    assert.strictEqual(made.status, 201, made.text)
    return made.body.data.id
  }

  it("is listed, read, tested and refreshed: only when it is due, unless told to", async () => {
    const connectionId = await connected()
    const filters = { customerId: svc.first.customerId, connector: "acme", status: "active" }
    assert.strictEqual((await called("svc_connection_list", filters)).data[0].id, connectionId)
    assert.deepInclude(await called("svc_connection_get", { connectionId }), { id: connectionId, status: "active" })
    assert.deepInclude(await called("svc_connection_test", { connectionId }), { ok: true })
    const before = provider.tokenRequests.length
    const fresh = await called("svc_connection_refresh", { connectionId })
    assert.deepStrictEqual([fresh.id, provider.tokenRequests.length], [connectionId, before])
    await called("svc_connection_refresh", { connectionId, force: true })
    assert.strictEqual(provider.tokenRequests.length, before + 1)
    // The operation itself refreshes now unless it is told otherwise.
    assert.strictEqual((await store(`/connections/${connectionId}/refresh`, {})).status, 200)
    assert.strictEqual(provider.tokenRequests.length, before + 2)
  })

  it("that is due is refreshed without force", async () => {
    const { accessToken, refreshToken } = provider.issue()
    const connectionId = await connected({ credential: { accessToken, refreshToken, expiresIn: 3_600 } })
    const before = provider.tokenRequests.length
    const { isError, text } = await callTool(svc, "svc_connection_refresh", { connectionId }, { later: "50 minutes" })
    assert.isFalse(isError, text)
    assert.strictEqual(provider.tokenRequests.length, before + 1)
  })

  it("calls an action of the draft, and a webhook's", async () => {
    const connectionId = await connected()
    const request = { method: "POST", path: "/hooks" }
    const subscribe = { name: "subscribe", request }
    const config = { id: "hooks", type: "per_event", subscribe: { action: "subscribe" }, verify: { scheme: "none" } }
    await called("svc_action_create", { connector: "acme", action: subscribe })
    await called("svc_webhook_config_upsert", { connector: "acme", config })
    const tested = await called("svc_action_test", { connector: "acme", action: "subscribe", connectionId, args: {} })
    assert.deepInclude(tested, { ok: true, status: 200 })
    const snippet = { connector: "acme", configId: "hooks", snippet: "subscribe", connectionId }
    assert.deepInclude(await called("svc_webhook_config_execute", snippet), { ok: true, status: 200 })
    assert.deepStrictEqual(
      provider.calls.slice(-2).map(({ target }) => target),
      ["/hooks", "/hooks"]
    )
  })

  it("gets a link to connect it again, of its own customer and connector only", async () => {
    const connectionId = await connected()
    const asked = { customerId: svc.first.customerId, connector: "acme", reconnect: connectionId }
    assert.deepInclude(await called("svc_connection_create_link", asked), { id: connectionId })
    const other = await store("/customers", { name: "Other" })
    const elsewhere = { ...asked, customerId: other.body.data.id }
    assert.deepStrictEqual((await refused("svc_connection_create_link", elsewhere))[1], "customerId")
    assert.deepStrictEqual(
      (await refused("svc_connection_create_link", { ...asked, connector: "hubspot" }))[1],
      "connector"
    )
  })

  it("is made for the customers and the connectors that the key reaches", async () => {
    const other = await store("/customers", { name: "Elsewhere" })
    const mine = { customerId: svc.first.customerId, connector: "acme" }
    const { key: ofOne } = await makeKey(svc, { customers: { mode: "subset", ids: [svc.first.customerId] } })
    assert.isFalse((await callTool(svc, "svc_connection_create_link", mine, { key: ofOne })).isError)
    const elsewhere = { ...mine, customerId: other.body.data.id }
    assert.deepStrictEqual(await refused("svc_connection_create_link", elsewhere, ofOne), [
      "VALIDATION_FAILED",
      "customerId"
    ])
    const { key: ofHubspot } = await makeKey(svc, { resourceScope: [{ type: "connector", ids: ["hubspot"] }] })
    assert.strictEqual((await refused("svc_connection_create_link", mine, ofHubspot))[0], "RESOURCE_OUT_OF_SCOPE")
    const source = { svcConnector: 1 }
    const imported = { format: "svc", source }
    assert.strictEqual((await refused("svc_connector_import", imported, ofHubspot))[0], "RESOURCE_OUT_OF_SCOPE")
  })

  it("is disconnected, with or without its token being revoked", async () => {
    const [kept, ended] = [await connected(), await connected()]
    const before = provider.revoked.length
    const gone = await called("svc_connection_disconnect", { connectionId: kept, revokeAtProvider: false })
    assert.strictEqual(gone.status, "disconnected")
    await called("svc_connection_disconnect", { connectionId: ended })
    await eventually(
      async () => provider.revoked.length,
      (revoked) => revoked > before
    )
    assert.strictEqual(provider.revoked.length, before + 1)
    assert.strictEqual((await refused("svc_connection_get", { connectionId: kept }))[0], "NOT_FOUND")
  })
})
