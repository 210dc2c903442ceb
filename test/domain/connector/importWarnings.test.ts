/** An import takes over what a definition can express, and reports the rest with its place and the consequence. */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { buildRequest } from "../../../src/domain/connector/request/UnsignedRequest.js"
import { findAction } from "../../../src/domain/connector/Definition.js"
import { importOpenApi } from "../../../src/domain/connector/import/OpenApi.js"
import { validateDefinition } from "../../../src/domain/connector/Validation.js"
import type { JsonObject } from "../../../src/domain/Json.js"
import { findSchemaMistakes } from "../../../src/runtime/computing/worker/Contracts.js"

const answers = { responses: { "200": { description: "fine" } } }
const document = (more: JsonObject): JsonObject => ({
  openapi: "3.0.3",
  info: { title: "Files", version: "1" },
  servers: [{ url: "https://api.files.example/v1" }],
  paths: { "/list": { get: { operationId: "list", ...answers } } },
  ...more
})

const imported = (more: JsonObject) => {
  const { definition, warnings } = Either.getOrThrowWith(importOpenApi(document(more), {}), (why) => new Error(why))
  return {
    definition: Either.getOrThrowWith(
      validateDefinition(definition, findSchemaMistakes),
      (all) => new Error(JSON.stringify(all))
    ),
    warnings
  }
}

const urlOf = (definition: ReturnType<typeof imported>["definition"], name: string, config = {}) => {
  const action = findAction(definition, name) ?? assert.fail(name)
  const input = { args: { id: "7" }, config, idempotencyKey: "k" }
  return Either.getOrThrowWith(buildRequest(definition, action, input), ({ message }) => new Error(message)).url
}

describe("servers", () => {
  it("of paths and operations are used by their operations", () => {
    const { definition, warnings } = imported({
      paths: {
        "/list": { get: { operationId: "list", ...answers } },
        "/files/{id}": {
          servers: [{ url: "https://content.files.example/v2" }],
          get: { operationId: "read", ...answers },
          put: { operationId: "upload", servers: [{ url: "//Upload.files.example" }], ...answers },
          delete: { operationId: "remove", servers: [{ url: "/v3" }], ...answers }
        }
      }
    })
    assert.deepStrictEqual(
      ["list", "read", "upload", "remove"].map((name) => urlOf(definition, name)),
      [
        "https://api.files.example/v1/list",
        "https://content.files.example/v2/files/7",
        "https://upload.files.example/files/7",
        "https://api.files.example/v3/files/7"
      ]
    )
    assert.deepStrictEqual(warnings, [])
  })

  it("of an operation without a host are reported, with the consequence", () => {
    const servers = [{ url: "https://{shard}.files.example", variables: { shard: {} } }]
    const { definition, warnings } = imported({ paths: { "/a": { get: { operationId: "a", servers, ...answers } } } })
    assert.strictEqual(urlOf(definition, "a"), "https://api.files.example/v1/a")
    assert.strictEqual(warnings[0]?.path, "paths./a.get.servers")
    assert.match(warnings[0]?.message ?? "", /shard.*no default.*base URL/)
  })

  it("whose scheme and host are variables become config of each connection", () => {
    const { definition } = imported({
      servers: [
        {
          url: "{protocol}://{hostname}/api/v3",
          variables: { protocol: { default: "http" }, hostname: { default: "HOSTNAME" } }
        }
      ]
    })
    assert.strictEqual(
      urlOf(definition, "list", { hostname: "git.own.example" }),
      "https://git.own.example/api/v3/list"
    )
    assert.deepStrictEqual(definition.connectionConfig?.["required"], ["hostname"])
  })

  it.each([
    ["/sub", undefined, "{{connection.config.baseUrl}}/sub"],
    ["sub", undefined, "{{connection.config.baseUrl}}/sub"],
    ["./sub/", undefined, "{{connection.config.baseUrl}}/sub"],
    ["/", undefined, "{{connection.config.baseUrl}}"],
    ["wss://files.example/socket", undefined, "{{connection.config.baseUrl}}"],
    ["/sub", "https://docs.example/spec/openapi.json", "https://docs.example/sub"],
    ["sub", "https://docs.example/spec/openapi.json", "https://docs.example/spec/sub"],
    ["../v2/", "http://docs.example/spec/a/openapi.json", "https://docs.example/spec/v2"],
    ["files.example/v1", "https://docs.example/openapi.json", "https://files.example/v1"],
    ["{host}:8443/v1", undefined, "https://{{connection.config.host}}:8443/v1"]
  ] as const)("at %s, of a document at %s, keep their path", (url, location, baseUrl) => {
    const options = location === undefined ? {} : { location }
    const { definition, warnings } = Either.getOrThrowWith(
      importOpenApi(document({ servers: [{ url }] }), options),
      (why) => new Error(why)
    )
    assert.strictEqual(definition["baseUrl"], baseUrl)
    assert.isAtLeast(warnings.length, 1)
    for (const { message } of warnings) assert.include(message, location?.startsWith("http:") ? "https" : url)
  })

  it("beyond what an answer lists are counted", () => {
    const servers = [{ url: "http://other.example" }]
    const operation = { get: { servers, ...answers } }
    const paths = Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`/p${n}`, operation]))
    const { warnings } = imported({ paths })
    assert.strictEqual(warnings.length, 201)
    assert.match(warnings.at(-1)?.message ?? "", /^50 more/)
  })

  it("that are one variable become config, with its default", () => {
    const servers = [{ url: "{server}/v1", variables: { server: { default: "https://eu.files.example" } } }]
    const { definition } = imported({ servers })
    assert.strictEqual(
      urlOf(definition, "list", { server: "https://us.files.example" }),
      "https://us.files.example/v1/list"
    )
    assert.deepStrictEqual(definition.connectionConfig?.["required"], ["server"])
  })
})

describe("security", () => {
  const schemes = (securitySchemes: JsonObject) => imported({ components: { securitySchemes } })
  const oauth = (flows: JsonObject) => schemes({ login: { type: "oauth2", flows } })

  it.each([
    ["implicit", { implicit: { authorizationUrl: "https://files.example/login", scopes: {} } }],
    ["password", { password: { tokenUrl: "https://files.example/token", scopes: {} } }]
  ] as const)("of the OAuth flow %s becomes a bearer token, and says so", (flow, flows) => {
    const { definition, warnings } = oauth(flows)
    const [method] = definition.auth
    assert.deepInclude(method, { id: "login", type: "api_key" })
    assert.strictEqual(warnings[0]?.path, "components.securitySchemes.login")
    assert.include(warnings[0]?.message, flow)
  })

  it("that cannot be imported is reported", () => {
    const { definition, warnings } = schemes({ cert: { type: "mutualTLS" } })
    assert.strictEqual(definition.auth[0]?.type, "none")
    assert.deepStrictEqual(
      warnings.map(({ path }) => path),
      ["components.securitySchemes.cert", "security"]
    )
  })
})

describe("references", () => {
  it("to other documents are reported once each", () => {
    const schema = { $ref: "common.yaml#/Item" }
    const content = { "application/json": { schema } }
    const operation = { responses: { "200": { description: "fine", content } }, requestBody: { content } }
    const { warnings } = imported({ paths: { "/a": { post: { operationId: "a", ...operation } } } })
    assert.deepStrictEqual(
      warnings.map(({ path }) => path),
      ["common.yaml#/Item"]
    )
    assert.include(warnings[0]?.message, "not read")
  })
})
