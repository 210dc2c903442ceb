/** A Postman collection is imported, published and called; a dry run of an import stores nothing. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Json } from "../../src/domain/Json.js"
import { acme } from "../support/connectors.js"
import { run, startSharedCalls, stopCalls, svc, systems, workflow } from "../support/calls.js"
import { authOf, collection, collectionSchema } from "../support/postman.js"

beforeAll(() => startSharedCalls())
afterAll(() => stopCalls())

const at = "/api/v1/connectors"
const ask = (method: string, path: string, body?: unknown, key = svc.first.key) =>
  svc.ask(method, `${at}${path}`, body === undefined ? { key } : { key, body })

const post = (request: object, key = svc.first.key) =>
  ask("POST", "", { import: { format: "postman", ...request } }, key)

const call = (name: string, method: string, url: Json, more: object = {}) => ({
  name,
  request: { method, url, ...more }
})

const canary = "canary-Credential-90125"

const shop = collection(
  [
    {
      name: "Orders",
      item: [
        call("Get order", "GET", "{{baseUrl}}/orders/:id?expand=lines"),
        call("Create order", "POST", "{{baseUrl}}/orders", {
          header: [
            { key: "X-Version", value: "7" },
            { key: "Content-Type", value: "application/json" }
          ],
          body: { mode: "raw", raw: '{"total": 12, "note": "first"}' }
        }),
        call("Odd", "PURGE", "{{baseUrl}}/orders")
      ]
    }
  ],
  { auth: authOf("apikey", { key: "x-shop-key", value: canary, in: "header" }) }
)

const documents = { orders: JSON.parse(JSON.stringify(shop)) as Json }

describe("a Postman collection", () => {
  it("is imported, published and called, and its credentials are in no answer", async () => {
    const made = await post({ source: documents.orders, slug: "shop", kind: "ecommerce" })
    assert.strictEqual(made.status, 201, made.text)
    assert.deepInclude(made.body.data, { slug: "shop", name: "Acme API", version: "2.1.0", kind: "ecommerce" })
    assert.deepStrictEqual(
      made.body.warnings.map(({ path }: { readonly path: string }) => path),
      ["item[0].item[2].request.method"]
    )
    assert.strictEqual((await ask("POST", "/shop/publish", {})).status, 200)
    const connection = await svc.ask("POST", "/api/v1/connections", {
      key: svc.first.key,
      body: {
        connector: "shop",
        customerId: svc.first.customerId,
        config: { baseUrl: systems.url },
        credential: { apiKey: "shop-key-of-a-customer" }
      }
    })
    assert.strictEqual(connection.status, 201, connection.text)
    const flow = await workflow(
      `const one = await svc.connector.shop.getOrder({ id: "A 1", expand: "lines" })
       const made = await svc.connector.shop.createOrder({ body: { total: 3 } })
       return { one, made }`
    )
    const answer = await run(flow)
    assert.strictEqual(answer.status, 200, answer.text)
    const [read, created] = systems.requests.slice(-2)
    assert.deepInclude(read, { method: "GET", url: "/orders/A%201?expand=lines" })
    assert.deepInclude(created, { method: "POST", url: "/orders", body: '{"total":3}' })
    assert.deepInclude(created?.headers, { "x-version": "7", "x-shop-key": "shop-key-of-a-customer" })
    for (const shown of [made, await ask("GET", "/shop"), await ask("GET", "/shop/export")])
      assert.notInclude(shown.text, canary)
  })

  it("may be its text, as Postman saves it", async () => {
    const made = await post({ source: JSON.stringify(shop, null, "\t"), slug: "shop-text" })
    assert.strictEqual(made.status, 201, made.text)
  })

  const v20 = { info: { name: "A", schema: collectionSchema.replace("v2.1.0", "v2.0.0") }, item: [] }
  it.each([
    ["of version 2.0", v20, "import.source.info.schema", /export it as Collection v2\.1/],
    ["that is none", { openapi: "3.0.0" }, "import.source", /not a Postman collection/],
    ["that is no object", "just words", "import.source", /not a Postman collection/],
    ["without requests", collection([]), "import.source.item", /no requests/],
    ["that is not JSON", "{", "import.source", /neither JSON nor YAML/]
  ])("%s is refused with the place", async (_name, source, path, message) => {
    const refused = await post({ source, slug: "refused" })
    assert.strictEqual(refused.status, 422, refused.text)
    assert.strictEqual(refused.body.details[0].path, path)
    assert.match(refused.body.details[0].message, message)
    assert.strictEqual((await ask("GET", "/refused")).status, 404)
  })

  it("replaces a draft", async () => {
    assert.strictEqual((await post({ source: documents.orders, slug: "replaced" })).status, 201)
    const changed = await ask("PUT", "/replaced", { import: { format: "postman", source: documents.orders } })
    assert.deepStrictEqual([changed.status, changed.body.data?.slug], [200, "replaced"], changed.text)
  })
})

describe("a dry run of an import", () => {
  const auditOf = async (action: string) =>
    (await svc.ask("GET", `/api/v1/audit?action=${action}&page_size=200`, { key: svc.first.key })).body.data.filter(
      (entry: { readonly outcome: string }) => entry.outcome === "success"
    ).length

  it("answers with the definition as it would be exported, and stores nothing", async () => {
    const before = await auditOf("connector.create")
    const asked = { source: documents.orders, slug: "dry" }
    const dry = await post({ ...asked, dryRun: true })
    assert.strictEqual(dry.status, 200, dry.text)
    assert.isUndefined(dry.headers["location"])
    assert.strictEqual((await ask("GET", "/dry")).status, 404)
    assert.strictEqual(await auditOf("connector.create"), before)
    const made = await post(asked)
    assert.strictEqual(made.status, 201, made.text)
    assert.deepStrictEqual(dry.body.warnings, made.body.warnings)
    assert.deepStrictEqual(dry.body.data, (await ask("GET", "/dry/export")).body)
    assert.strictEqual(await auditOf("connector.create"), before + 1)
  })

  it("of a definition file shows and stores no client secret", async () => {
    const auth = [
      {
        id: "oauth",
        type: "oauth2",
        authorizationUrl: "https://a.test/a",
        tokenUrl: "https://a.test/t",
        clientId: "c",
        clientSecret: canary
      }
    ]
    const source = acme("dry-file", { auth })
    const dry = await ask("POST", "", { import: { format: "svc", source, dryRun: true } })
    assert.deepStrictEqual([dry.status, dry.body.data?.slug, dry.body.warnings], [200, "dry-file", []], dry.text)
    assert.notInclude(dry.text, canary)
    const clients = await ask("GET", "/dry-file/auth-providers")
    assert.strictEqual(clients.status, 404)
  })

  it("of a change leaves the draft, its revision and the audit as they are", async () => {
    assert.strictEqual((await post({ source: documents.orders, slug: "kept" })).status, 201)
    const before = await ask("GET", "/kept")
    const entries = await auditOf("connector.update")
    const item = [call("Other", "GET", "https://other.test/x")]
    const dry = await ask("PUT", "/kept", { import: { format: "postman", source: collection(item), dryRun: true } })
    assert.strictEqual(dry.status, 200, dry.text)
    assert.deepStrictEqual([dry.body.data.slug, dry.body.data.actions[0].name], ["kept", "other"])
    const after = await ask("GET", "/kept")
    assert.deepStrictEqual([after.body, after.headers["etag"]], [before.body, before.headers["etag"]])
    assert.strictEqual(await auditOf("connector.update"), entries)
  })

  it("reports mistakes as the import does, and counts for no limit of the plan", async () => {
    const refused = await post({ source: {}, dryRun: true })
    assert.deepStrictEqual([refused.status, refused.body.details[0].path], [422, "import.source"], refused.text)
    const { key } = await svc.organisation("Small", "starter")
    for (const slug of ["a1", "a2", "a3"]) {
      const made = await post({ source: documents.orders, slug }, key)
      assert.strictEqual(made.status, 201, made.text)
    }
    const source = documents.orders
    assert.strictEqual((await post({ source, slug: "a4", dryRun: true }, key)).status, 200)
    assert.notStrictEqual((await post({ source, slug: "a4" }, key)).status, 201)
  })
})
