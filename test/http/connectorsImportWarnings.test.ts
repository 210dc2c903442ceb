/** The answer to an import lists what was not imported, with its place and the consequence. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"

let svc: Running
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

interface Warning {
  readonly path: string
  readonly message: string
}

const ask = (method: string, path: string, body: unknown) =>
  svc.ask(method, `/api/v1/connectors${path}`, { key: svc.first.key, body })

const answers = { responses: { "200": { description: "fine" } } }
const schema = { $ref: "common.yaml#/Item" }
const document = {
  openapi: "3.0.3",
  info: { title: "Files", version: "1.0.0" },
  servers: [
    {
      url: "{protocol}://{hostname}/api/v3",
      variables: { protocol: { default: "http" }, hostname: { default: "HOSTNAME" } }
    }
  ],
  paths: {
    "/list": { get: { operationId: "list", ...answers } },
    "/files": {
      post: { operationId: "upload", servers: [{ url: "https://upload.files.example/v2" }], ...answers }
    },
    "/shards": {
      get: {
        operationId: "shard",
        servers: [{ url: "https://{shard}.files.example", variables: { shard: {} } }],
        ...answers
      }
    },
    "/items": {
      get: {
        operationId: "items",
        responses: { "200": { description: "fine", content: { "application/json": { schema } } } }
      }
    }
  },
  components: {
    securitySchemes: {
      page: { type: "oauth2", flows: { implicit: { authorizationUrl: "https://files.example/login", scopes: {} } } },
      script: { type: "oauth2", flows: { password: { tokenUrl: "https://files.example/token", scopes: {} } } }
    }
  }
}

const plain = {
  openapi: "3.0.3",
  info: { title: "Files", version: "1.0.0" },
  servers: [{ url: "https://files.example" }],
  paths: { "/list": { get: { operationId: "list", ...answers } } }
}
const swagger = { openapi: undefined, servers: undefined, swagger: "2.0", host: "files.example" }
const eu = { url: "https://eu.files.example", description: "Europe" }

/** What the warnings say of servers: the part of the document, and the words that tell what to do. */
const servers: ReadonlyArray<
  readonly [name: string, given: object, expected: ReadonlyArray<readonly [path: string, words: RegExp]>]
> = [
  ["one server with TLS", {}, []],
  [
    "http://",
    { servers: [{ url: "http://files.example/v1" }] },
    [["servers", /^http:\/\/files\.example\/v1 is imported as https:\/\/files\.example\/v1, .*change the URL/]]
  ],
  ["http:// and https:// of one host", { servers: [{ url: "http://files.example" }, ...plain.servers] }, []],
  [
    "several servers",
    { servers: [{ url: "http://old.files.example" }, ...plain.servers, eu] },
    [
      [
        "servers",
        /^https:\/\/files.example is used, not http:\/\/old.files.example, https:\/\/eu.files.example \(Europe\)\. .*change baseUrl/
      ]
    ]
  ],
  [
    "several servers of an operation",
    {
      paths: { "/list": { get: { ...plain.paths["/list"].get, servers: [eu, { url: "https://us.files.example" }] } } }
    },
    [["paths./list.get.servers", /us\.files\.example\..*change the action's path/]]
  ],
  ["a relative server", { servers: [{ url: "/sub" }] }, [["servers", /config\.baseUrl, to which \/sub is added/]]],
  [
    "a server without scheme",
    { servers: [{ url: "files.example/v1" }] },
    [["servers", /https:\/\/files\.example\/v1/]]
  ],
  ["a query in a server", { servers: [{ url: "https://files.example?v=1" }] }, [["servers", /^\?v=1 is left out/]]],
  [
    "Swagger with http",
    { ...swagger, schemes: ["http"] },
    [["host", /^http:\/\/files\.example\/ is imported as https:/]]
  ],
  ["Swagger with both schemes", { ...swagger, schemes: ["http", "https"] }, []],
  [
    "an http:// token URL",
    {
      components: {
        securitySchemes: {
          app: {
            type: "oauth2",
            flows: { clientCredentials: { tokenUrl: "http://files.example/token", scopes: {} } }
          }
        }
      }
    },
    [["components.securitySchemes.app", /^http:\/\/files\.example\/token is imported as https/]]
  ]
]

const assertWarned = (warnings: ReadonlyArray<Warning>) => {
  const messageAt = (path: string): string =>
    warnings.find((warning) => warning.path === path)?.message ?? assert.fail(`no warning at ${path}`)
  // The operation uses the connector's base URL, since its own host has no value.
  assert.match(messageAt("paths./shards.get.servers"), /shard.*base URL/)
  assert.match(messageAt("components.securitySchemes.page"), /implicit.*token/)
  assert.match(messageAt("components.securitySchemes.script"), /password.*token/)
  assert.match(messageAt("common.yaml#/Item"), /not read/)
  for (const { message, path } of warnings) assert.isAbove(message.length, 20, path)
}

describe("an import", () => {
  it("imports base URLs of operations, and hosts that each connection must set", async () => {
    const made = await ask("POST", "", { import: { format: "openapi", source: document, slug: "files" } })
    assert.strictEqual(made.status, 201, made.text)
    const actions: ReadonlyArray<{ readonly name: string; readonly request: { readonly path: string } }> =
      made.body.data.actions
    assert.strictEqual(
      actions.find(({ name }) => name === "upload")?.request.path,
      "https://upload.files.example/v2/files"
    )
    assert.deepStrictEqual(made.body.data.connectionConfig.required, ["hostname"])
    assertWarned(made.body.warnings)
  })

  it("warns again when it replaces a draft, and on discovery", async () => {
    const again = await ask("PUT", "/files", { import: { format: "openapi", source: document } })
    assert.strictEqual(again.status, 200, again.text)
    assertWarned(again.body.warnings)
    const tried = await ask("POST", "/discover", { openapi: document })
    assert.strictEqual(tried.status, 200, tried.text)
    assertWarned(tried.body.warnings)
  })

  it.each(servers)("says what it decides of %s", async (_, given, expected) => {
    const source = { ...plain, ...given }
    const tried = await ask("POST", "/discover", { openapi: source })
    assert.strictEqual(tried.status, 200, tried.text)
    const said: ReadonlyArray<Warning> = tried.body.warnings
    assert.deepStrictEqual(
      said.map(({ path }) => path),
      expected.map(([path]) => path),
      tried.text
    )
    for (const [at, [, words]] of expected.entries()) assert.match(said[at]?.message ?? "", words)
  })

  it("of a complete document has no warnings, nor has a definition", async () => {
    const { paths } = document
    const source = { ...document, components: {}, paths: { "/list": paths["/list"], "/files": paths["/files"] } }
    const made = await ask("POST", "", { import: { format: "openapi", source, slug: "whole" } })
    assert.strictEqual(made.status, 201, made.text)
    const exported = await svc.ask("GET", "/api/v1/connectors/whole/export", { key: svc.first.key })
    const saved = await ask("PUT", "/whole", exported.body)
    assert.deepStrictEqual([saved.status, saved.body.warnings], [200, undefined], saved.text)
  })
})
