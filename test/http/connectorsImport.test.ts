import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { stringify } from "yaml"
import { Connectors } from "../../src/actors/ports/connection/Connectors.js"
import { catalogue } from "../../src/domain/connectors/index.js"
import { WriterSql } from "../support/Sql.js"
import { acme, oauth } from "../support/connectors.js"
import type { Ask, Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
let key: string
let documents: Server
let origin: string

/** The answers of the document server, by path. */
const served = new Map<string, { readonly status?: number; readonly body: string }>()

beforeAll(async () => {
  svc = await startShared()
  key = svc.first.key
  documents = createServer((request, response) => {
    const found = served.get(request.url ?? "")
    response.writeHead(found?.status ?? (found === undefined ? 404 : 200)).end(found?.body)
  })
  await new Promise<void>((done) => documents.listen(0, "127.0.0.1", done))
  origin = `http://127.0.0.1:${(documents.address() as AddressInfo).port}`
})
afterAll(async () => {
  documents.close()
  await svc.stop()
})

const at = "/api/v1/connectors"
const ask = (method: string, path = "", more: Ask = {}) => svc.ask(method, `${at}${path}`, { key, ...more })

const create = async (document: object) => {
  const made = await ask("POST", "", { body: document })
  assert.strictEqual(made.status, 201, made.text)
  return made.body.data
}

const clientOf = (slug: string, provider: string | null = null) =>
  svc.run(
    Effect.map(
      Effect.flatMap(Connectors, (connectors) =>
        connectors.clientOf(svc.first.organisationId, slug, "oauth", provider)
      ),
      Option.map(({ clientId, clientSecret }) => [
        clientId,
        clientSecret === null ? null : Redacted.value(clientSecret)
      ])
    )
  )

describe("a client at a provider", () => {
  it("in a definition is sealed on save and never returned, nor is its secret", async () => {
    const canary = "canary-client-secret-1"
    const document = acme("sealed", { auth: [oauth({ clientId: "id-1", clientSecret: canary })] })
    const made = await ask("POST", "", { body: document, headers: { "idempotency-key": "once" } })
    const { id } = made.body.data
    const answers = [
      made,
      await ask("POST", "", { body: document, headers: { "idempotency-key": "once" } }),
      await ask("GET", `/${id}`),
      await ask("GET", "?include=actions&page_size=200"),
      await ask("GET", `/${id}/export`),
      await ask("GET", `/${id}/auth-providers`),
      await ask("POST", `/${id}/publish`, { body: {} }),
      await svc.ask("GET", "/api/v1/audit", { key })
    ]
    assert.strictEqual(answers[1]?.headers["idempotent-replayed"], "true")
    for (const { status, text } of answers) {
      assert.isBelow(status, 300)
      assert.notInclude(text, canary)
    }
    assert.deepInclude(answers[5]?.body.data[0], {
      name: "default",
      methodId: "oauth",
      clientId: "id-1",
      hasClientSecret: true,
      isDefault: true
    })
    const stored = await svc.run(
      Effect.flatMap(
        WriterSql,
        (sql) => sql<{ row: string }>`SELECT v.definition::text || c.summary::text AS row FROM connectors c
          JOIN connector_versions v ON v.connector_id = c.id WHERE c.id = ${id}
          UNION ALL SELECT encode(client_secret, 'escape') FROM auth_providers WHERE connector = 'sealed'`
      )
    )
    assert.strictEqual(stored.length, 2)
    for (const { row } of stored) assert.notInclude(row, canary)
    assert.deepStrictEqual(await clientOf("sealed"), Option.some(["id-1", canary]))
    // Saved again without a secret, the client keeps its own; another client does not get it.
    await ask("PUT", `/${id}`, { body: acme("sealed", { version: "1.1.0", auth: [oauth({ clientId: "id-1" })] }) })
    assert.deepStrictEqual(await clientOf("sealed"), Option.some(["id-1", canary]))
    await ask("PUT", `/${id}`, { body: acme("sealed", { version: "1.2.0", auth: [oauth({ clientId: "id-2" })] }) })
    assert.deepStrictEqual(await clientOf("sealed"), Option.some(["id-2", null]))
  })

  it("is one of several, one of them the default; a built-in connector may have them too", async () => {
    const slug =
      catalogue().find(({ auth }) => auth.some(({ type }) => type === "oauth2"))?.slug ?? assert.fail("no OAuth2")
    const methodId = catalogue()
      .find((one) => one.slug === slug)
      ?.auth.find(({ type }) => type === "oauth2")?.id
    const put = (body: object) => ask("PUT", `/${slug}/auth-providers`, { body: { methodId, ...body } })
    const first = await put({ name: "eu", clientId: "a", clientSecret: "s-1" })
    assert.strictEqual(first.status, 200, first.text)
    const second = await put({ name: "us", clientId: "b", isDefault: true, scopes: ["x"] })
    const listed = await ask("GET", `/${slug}/auth-providers`)
    assert.deepStrictEqual(
      listed.body.data.map((one: { name: string; isDefault: boolean }) => [one.name, one.isDefault]).sort(),
      [
        ["eu", false],
        ["us", true]
      ]
    )
    const changed = await put({ name: "eu", clientId: "a" })
    assert.deepInclude(changed.body.data, { id: first.body.data.id, version: 3, hasClientSecret: true })
    assert.strictEqual((await put({ name: "eu", clientId: "a", clientSecret: null })).body.data.hasClientSecret, false)
    assert.strictEqual(
      (await ask("PUT", `/${slug}/auth-providers`, { body: { name: "x", methodId: "nope", clientId: "c" } })).body
        .details[0].path,
      "methodId"
    )
    assert.strictEqual((await ask("DELETE", `/${slug}/auth-providers/${second.body.data.id}`)).status, 204)
    assert.strictEqual((await ask("DELETE", `/${slug}/auth-providers/${second.body.data.id}`)).status, 404)
  })
})

describe("discover", () => {
  it("reports what a connector offers and its coverage of the common model", async () => {
    await create(
      acme("offer", {
        entities: [
          {
            name: "contact",
            cdm: "CDMContact",
            read: "getMe",
            fields: [
              { from: "id", to: "id" },
              { from: "mail", to: "email" }
            ]
          }
        ],
        events: [{ id: "changed", delivery: "poll", poll: { action: "getMe", key: "$.id" } }]
      })
    )
    const { body, status } = await ask("POST", "/discover", { body: { connector: "offer" } })
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(body.data.entities[0], {
      name: "contact",
      cdm: "CDMContact",
      unified: null,
      operations: ["list"],
      fields: ["id", "email"],
      account: null
    })
    // One required member that weighs two, one of eight others.
    assert.deepStrictEqual(body.data.coverage[0].score, 0.3)
    assert.deepStrictEqual(body.data.coverage[0].mapped, ["id", "email"])
    assert.include(body.data.coverage[0].missing, "addresses")
    assert.deepStrictEqual(body.data.events[0], {
      id: "changed",
      title: "changed",
      delivery: "poll",
      payloadSchema: {}
    })
    assert.strictEqual((await ask("POST", "/discover", { body: { connector: "nope" } })).status, 404)
    assert.strictEqual((await ask("POST", "/discover", { body: {} })).status, 422)
  })

  it("of the whole catalogue answers, with scores between 0 and 1", async () => {
    for (const { slug } of catalogue()) {
      const { body, status } = await ask("POST", "/discover", { body: { connector: slug } })
      assert.strictEqual(status, 200)
      assert.isAbove(body.data.actions.length, 0)
      for (const { score } of body.data.coverage) assert.isTrue(score > 0 && score <= 1)
    }
  })

  it("of an OpenAPI document stores nothing", async () => {
    const openapi = { openapi: "3.0.0", info: { title: "Seen" }, paths: { "/a": { get: { responses: {} } } } }
    const { body } = await ask("POST", "/discover", { body: { openapi } })
    assert.deepStrictEqual(
      body.data.actions.map(({ name }: { name: string }) => name),
      ["getA"]
    )
    assert.strictEqual((await ask("GET", "/seen")).status, 404)
  })
})

describe("import of OpenAPI", () => {
  const document = {
    openapi: "3.0.0",
    info: { title: "Remote", version: "3.2" },
    servers: [{ url: "/api" }],
    paths: {
      "/things/{id}": {
        get: {
          operationId: "getThing",
          responses: { 200: { content: { "application/json": { schema: { $ref: "#/components/schemas/T" } } } } }
        }
      }
    },
    components: { schemas: { T: { type: "object", properties: { t: { $ref: "#/components/schemas/T" } } } } }
  }
  /** Aliases that multiply: nine levels of nine expand to hundreds of millions. */
  const bomb = [
    "a0: &a0 [x, x]",
    ...Array.from(
      { length: 9 },
      (_, i) => `a${i + 1}: &a${i + 1} [${Array.from({ length: 9 }, () => `*a${i}`).join(", ")}]`
    )
  ].join("\n")
  const importing = (source: unknown, more: object = {}) =>
    ask("POST", "", { body: { import: { format: "openapi", source, ...more } } })

  it("reads a document through the egress guard, and makes a connector of it", async () => {
    served.set("/spec.json", { body: JSON.stringify(document) })
    const made = await importing(`${origin}/spec.json`, { slug: "remote-one", kind: "documents" })
    assert.strictEqual(made.status, 201, made.text)
    assert.deepInclude(made.body.data, {
      slug: "remote-one",
      version: "3.2.0",
      kind: "documents",
      baseUrl: `https://${new URL(origin).host}/api`
    })
    assert.strictEqual((await importing(document, { slug: "remote-two" })).status, 201)
    const written = await importing(stringify(document), { slug: "remote-yaml" })
    assert.strictEqual(written.status, 201, written.text)
    assert.deepStrictEqual(written.body.data.actions, made.body.data.actions)
    const again = await ask("PUT", "/remote-one", {
      body: { import: { format: "openapi", source: { ...document, info: { title: "Remote", version: "3.3" } } } }
    })
    assert.deepStrictEqual([again.status, again.body.data?.version], [200, "3.3.0"], again.text)
  })

  it.each<[unknown, string, string]>([
    ["http://169.254.169.254/latest/meta-data", "import.source", "URL_NOT_ALLOWED"],
    ["http://[::1]/x", "import.source", "URL_NOT_ALLOWED"],
    ["http://10.0.0.1/x", "import.source", "URL_NOT_ALLOWED"],
    ["{ not: [json", "import.source", "SYNTAX_ERROR"],
    ["not: openapi", "import.source", "INVALID_VALUE"],
    [bomb, "import.source", "SYNTAX_ERROR"],
    [{ openapi: "9" }, "import.source", "INVALID_VALUE"],
    [5, "import.source", "INVALID_VALUE"]
  ])("%j is refused at %s with %s", async (source, path, code) => {
    const { body, status } = await importing(source)
    assert.deepStrictEqual([status, body.details[0].path, body.details[0].code], [422, path, code])
  })

  it("a missing document, or one that is not OpenAPI, is refused", async () => {
    served.set("/html", { body: "<html>" })
    served.set("/deep", { body: "[".repeat(100) + "]".repeat(100) })
    for (const [path, code] of [
      ["/nope", "UNREACHABLE"],
      ["/html", "INVALID_VALUE"],
      ["/deep", "NOT_STORABLE"]
    ] as const) {
      const { body, status } = await importing(`${origin}${path}`)
      assert.deepStrictEqual([status, body.details[0].code], [422, code])
    }
  })

  it.each([{ format: "postman", source: {} }, { format: "openapi" }, { format: "svc", source: {}, more: 1 }, 7])(
    "%j is refused",
    async (request) => assert.strictEqual((await ask("POST", "", { body: { import: request } })).status, 422)
  )
})

describe("a plan's limit of connectors", () => {
  it("counts the organisation's own", async () => {
    const { key: small } = await svc.organisation("Small", "starter")
    for (const slug of ["a1", "a2", "a3"])
      assert.strictEqual((await ask("POST", "", { key: small, body: acme(slug) })).status, 201)
    const refused = await ask("POST", "", { key: small, body: acme("a4") })
    assert.deepStrictEqual(
      [refused.status, refused.body.code, refused.body.quota?.dimension],
      [403, "PLAN_LIMIT_REACHED", "connectors_per_tenant"]
    )
  })
})
