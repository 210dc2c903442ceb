import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { buildRequest } from "../../../src/domain/connector/request/UnsignedRequest.js"
import { type ConnectorDefinition, findAction } from "../../../src/domain/connector/Definition.js"
import { importOpenApi, type OpenApiOptions } from "../../../src/domain/connector/import/OpenApi.js"
import { standaloneSchema, validateDefinition } from "../../../src/domain/connector/Validation.js"
import type { Json, JsonObject } from "../../../src/domain/Json.js"
import { compileSchema, findSchemaMistakes } from "../../../src/runtime/computing/worker/Contracts.js"

const violations = (schema: JsonObject, value: Json) => compileSchema(schema)(value)

const imported = (document: Json, options: OpenApiOptions = {}): ConnectorDefinition =>
  importOpenApi(document, options).pipe(
    Either.getOrThrowWith((why) => new Error(why)),
    ({ definition }) => validateDefinition(definition, findSchemaMistakes),
    Either.getOrThrowWith((all) => new Error(JSON.stringify(all)))
  )

const action = (definition: ConnectorDefinition, name: string) =>
  findAction(definition, name) ??
  assert.fail(`no ${name} among ${definition.actions.map((one) => one.name).join(", ")}`)

const request = (definition: ConnectorDefinition, name: string, args: Json, config = {}) =>
  Either.getOrThrowWith(
    buildRequest(definition, action(definition, name), { args, config, idempotencyKey: "k1" }),
    (wrong) => new Error(`${wrong.path} ${wrong.message}`)
  )

const wrongArgs = (definition: ConnectorDefinition, name: string, args: Json) =>
  violations(standaloneSchema(definition, action(definition, name).inputSchema), args).map(({ path }) => path)

const pets = {
  openapi: "3.0.3",
  info: { title: "Pet Store!", version: "v2.1", description: "All about pets" },
  servers: [
    {
      url: "http://{region}.pets.example/{base}/",
      variables: { region: { default: "eu", enum: ["eu", "us"] }, base: {} }
    }
  ],
  security: [{ key: [], app: [] }, { oauth: ["read"] }],
  paths: {
    "/pets": {
      parameters: [{ $ref: "#/components/parameters/Trace" }],
      get: {
        operationId: "list-pets",
        summary: "List pets",
        parameters: [
          { in: "query", name: "tags", schema: { type: "array", items: { type: "string" } }, explode: false },
          { in: "query", name: "page size", schema: { type: "integer", minimum: 0, exclusiveMinimum: true } },
          { in: "query", name: "filter", style: "deepObject", schema: { type: "object" } },
          { in: "header", name: "Authorization", schema: { type: "string" } }
        ],
        responses: {
          "200": {
            content: { "application/json": { schema: { type: "array", items: { $ref: "#/components/schemas/Pet" } } } }
          }
        }
      },
      post: {
        operationId: "list pets",
        parameters: [{ in: "header", name: "Idempotency-Key", required: true, schema: { type: "string" } }],
        requestBody: { $ref: "#/components/requestBodies/Pet" },
        responses: { "201": { $ref: "#/components/responses/Pet" } }
      }
    },
    "/pets/{petId}/photos/{body}": {
      put: {
        parameters: [
          { in: "path", name: "petId", required: true, schema: { type: "integer", format: "int64" } },
          { in: "query", name: "petId", schema: { type: "string" } }
        ],
        requestBody: {
          required: true,
          content: {
            "multipart/form-data": {
              schema: {
                type: "object",
                properties: { photo: { type: "string", format: "binary" }, note: { type: "string" } }
              }
            }
          }
        },
        responses: { "204": { description: "done" } }
      },
      get: { responses: { "200": { content: { "image/png": { schema: { type: "string", format: "binary" } } } } } }
    }
  },
  components: {
    parameters: { Trace: { in: "header", name: "X-Trace", schema: { type: "string" } } },
    requestBodies: {
      Pet: {
        required: true,
        content: { "application/json; charset=utf-8": { schema: { $ref: "#/components/schemas/Pet" } } }
      }
    },
    responses: { Pet: { content: { "application/vnd.pet+json": { schema: { $ref: "#/components/schemas/Pet" } } } } },
    schemas: {
      Pet: {
        type: "object",
        required: ["name"],
        properties: {
          name: { type: "string", nullable: true, pattern: "(a+" },
          parent: { $ref: "#/components/schemas/Pet" },
          kind: { allOf: [{ $ref: "#/components/schemas/Kind~1Name" }], nullable: true },
          gone: { $ref: "https://elsewhere.example/x.json" }
        }
      },
      "Kind/Name": { type: "string", enum: ["cat", "dog"] },
      Unused: { type: "object" }
    },
    securitySchemes: {
      key: { type: "apiKey", in: "query", name: "api_key" },
      app: { type: "apiKey", in: "header", name: "X-App" },
      oauth: {
        type: "oauth2",
        flows: {
          authorizationCode: {
            authorizationUrl: "https://a.example/auth",
            tokenUrl: "http://a.example/token",
            scopes: { read: "" }
          },
          clientCredentials: { tokenUrl: "https://a.example/token", scopes: {} },
          implicit: { authorizationUrl: "https://a.example/auth", scopes: {} }
        }
      },
      digest: { type: "http", scheme: "digest" },
      bearer: { type: "http", scheme: "bearer" },
      "basic auth": { type: "http", scheme: "basic" }
    }
  }
}

describe("an OpenAPI 3.0 document", () => {
  const definition = imported(pets)

  it("becomes a valid definition whose every operation is an action with a name of its own", () => {
    assert.deepInclude(definition, { slug: "pet-store", name: "Pet Store!", version: "2.1.0", kind: "custom" })
    assert.deepStrictEqual(definition.actions.map(({ name }) => name).sort(), [
      "getPetsByPetIdPhotosByBody",
      "listPets",
      "listPets_2",
      "putPetsByPetIdPhotosByBody"
    ])
  })

  it("is called at its server, with variables as the connection's config, and always over TLS", () => {
    const made = request(
      definition,
      "listPets",
      { tags: ["a", "b,c"], "page size": 3, filter: { x: [1] } },
      { base: "v1" }
    )
    assert.strictEqual(made.url, "https://eu.pets.example/v1/pets?tags=a,b%2Cc&page%20size=3&filter%5Bx%5D%5B%5D=1")
    assert.strictEqual(
      request(definition, "listPets", {}, { base: "v1", region: "us" }).origin,
      "https://us.pets.example"
    )
    assert.deepStrictEqual(definition.connectionConfig?.["required"], ["base"])
  })

  it("checks arguments: unknown and missing ones are reported, cycles and shared schemas work", () => {
    assert.deepStrictEqual(wrongArgs(definition, "listPets", { tags: ["a"], "X-Trace": "t" }), [])
    assert.isNotEmpty(wrongArgs(definition, "listPets", { colour: "red" }))
    assert.isNotEmpty(wrongArgs(definition, "listPets", { "page size": 0 }))
    assert.isNotEmpty(wrongArgs(definition, "listPets_2", {}))
    assert.deepStrictEqual(wrongArgs(definition, "listPets_2", { body: { name: null, parent: { name: "x" } } }), [])
    assert.include(
      wrongArgs(definition, "listPets_2", { body: { name: "a", parent: { name: 5 } } }),
      "body.parent.name"
    )
    assert.include(wrongArgs(definition, "listPets_2", { body: { name: "a", kind: "cow" } }).join(), "body.kind")
    assert.deepStrictEqual(Object.keys(definition.schemas).sort(), ["Kind_Name", "Pet"])
  })

  it("separates arguments of one name, fills in the idempotency key, and leaves credentials to the connection", () => {
    const put = request(
      definition,
      "putPetsByPetIdPhotosByBody",
      { petId: 7, petId_query: "q", body_path: "x", body: { photo: { base64: "aGk=", filename: "a.png" }, note: "n" } },
      { base: "v" }
    )
    assert.strictEqual(put.url, "https://eu.pets.example/v/pets/7/photos/x?petId=q")
    assert.match(put.headers.find(([name]) => name === "content-type")?.[1] ?? "", /^multipart\/form-data/)
    const post = request(definition, "listPets_2", { body: { name: "a" } }, { base: "v" })
    assert.deepInclude(post.headers, ["idempotency-key", "k1"])
    assert.notProperty(action(definition, "listPets").inputSchema["properties"], "Authorization")
    assert.strictEqual(action(definition, "getPetsByPetIdPhotosByBody").response.type, "base64")
    assert.deepStrictEqual(action(definition, "listPets_2").outputSchema, { $ref: "#/$defs/Pet" })
  })

  it("has auth methods for its security schemes, several required together as one", () => {
    assert.deepStrictEqual(
      definition.auth.map(({ default: first, id, type }) => [id, type, first]),
      [
        ["key_app", "custom", true],
        ["oauth", "oauth2", false],
        ["oauth_2", "oauth2", false],
        ["digest", "custom", false],
        ["bearer", "api_key", false],
        ["basic_auth", "basic", false]
      ]
    )
    assert.deepStrictEqual(definition.auth[0]?.inject, [
      { in: "query", name: "api_key", value: "{{credential.key}}" },
      { in: "header", name: "X-App", value: "{{credential.app}}" }
    ])
    const oauth = definition.auth[1]
    assert.strictEqual(oauth?.type === "oauth2" ? oauth.tokenUrl : "", "https://a.example/token")
  })
})

describe("other versions and unusual documents", () => {
  it("Swagger 2: host, form data, files, list formats, body schemas", () => {
    const definition = imported({
      swagger: "2.0",
      info: { title: "Old", version: "7" },
      host: "old.example",
      basePath: "/api",
      consumes: ["application/json"],
      securityDefinitions: {
        key: { type: "apiKey", in: "header", name: "X-Key" },
        oauth: {
          type: "oauth2",
          flow: "accessCode",
          authorizationUrl: "https://o.example/a",
          tokenUrl: "https://o.example/t",
          scopes: { x: "" }
        }
      },
      paths: {
        "/f/{id}": {
          post: {
            operationId: "upload",
            consumes: ["multipart/form-data"],
            parameters: [
              { in: "path", name: "id", type: "string", required: true },
              { in: "formData", name: "file", type: "file", required: true },
              { in: "query", name: "ids", type: "array", items: { type: "integer" }, collectionFormat: "pipes" }
            ],
            responses: { 200: { schema: { $ref: "#/definitions/Thing" } } }
          },
          patch: {
            operationId: "change",
            parameters: [{ in: "body", name: "thing", schema: { $ref: "#/definitions/Thing" } }],
            responses: {}
          },
          delete: {
            operationId: "form",
            parameters: [{ in: "formData", name: "why", type: "string" }],
            consumes: ["application/x-www-form-urlencoded"],
            responses: {}
          }
        }
      },
      definitions: {
        Thing: {
          type: "object",
          properties: { self: { $ref: "#/definitions/Thing" }, "x-nullable": { type: "string" } }
        }
      }
    })
    assert.strictEqual(definition.version, "7.0.0")
    const upload = request(definition, "upload", { id: "a/b", ids: [1, 2], body: { file: { base64: "aGk=" } } })
    assert.strictEqual(upload.url, "https://old.example/api/f/a%2Fb?ids=1%7C2")
    assert.strictEqual(request(definition, "change", { id: "x", body: { self: {} } }).body, '{"self":{}}')
    assert.strictEqual(request(definition, "form", { id: "x", body: { why: "a&b" } }).body, "why=a%26b")
    assert.deepStrictEqual(
      definition.auth.map(({ type }) => type),
      ["api_key", "oauth2"]
    )
  })

  it("3.1: types in lists, schemas that are booleans, path items behind references", () => {
    const definition = imported({
      openapi: "3.1.0",
      info: { title: "New", version: "2026-01-05" },
      servers: [{ url: "https://new.example" }],
      paths: { "/a": { $ref: "#/components/pathItems/A" } },
      components: {
        pathItems: {
          A: {
            post: {
              requestBody: { content: { "text/csv": {} } },
              responses: {
                "2XX": { content: { "application/json": { schema: { $ref: "#/components/schemas/Any" } } } }
              }
            }
          }
        },
        schemas: { Any: true, N: { type: ["string", "null"] } }
      }
    })
    assert.strictEqual(definition.version, "2026.1.5")
    assert.deepStrictEqual(definition.schemas, { Any: true })
    const made = request(definition, "postA", { body: "a,b" })
    assert.deepStrictEqual(
      [made.body, made.headers.find(([name]) => name === "content-type")],
      ["a,b", ["content-type", "text/csv"]]
    )
    assert.deepStrictEqual(
      definition.auth.map(({ id, type }) => [id, type]),
      [["none", "none"]]
    )
  })

  it("without a server the connection has the base URL; a relative server is resolved against the document", () => {
    const document = {
      openapi: "3.0.0",
      info: { title: "x", version: "" },
      servers: [{ url: "/api/v3" }],
      paths: { "/p": { get: { responses: {} } } }
    }
    const definition = imported(document)
    assert.strictEqual(definition.baseUrl, "{{connection.config.baseUrl}}/api/v3")
    assert.strictEqual(
      request(definition, "getP", {}, { baseUrl: "https://mine.example" }).url,
      "https://mine.example/api/v3/p"
    )
    assert.strictEqual(
      imported(document, { location: "https://docs.example/spec/openapi.json" }).baseUrl,
      "https://docs.example/api/v3"
    )
  })

  it("cycles of references end, wherever they are", () => {
    const definition = imported({
      openapi: "3.0.0",
      info: { title: "Round" },
      servers: [{ url: "https://r.example" }],
      paths: {
        "/loop": { $ref: "#/paths/~1loop" },
        "/p": {
          get: {
            parameters: [{ $ref: "#/components/parameters/A" }],
            requestBody: { $ref: "#/components/requestBodies/B" },
            responses: { 200: { content: { "application/json": { schema: { $ref: "#/components/schemas/C" } } } } }
          }
        }
      },
      components: {
        parameters: { A: { $ref: "#/components/parameters/A" } },
        requestBodies: { B: { $ref: "#/components/requestBodies/B" } },
        schemas: {
          C: { $ref: "#/components/schemas/D" },
          D: { anyOf: [{ $ref: "#/components/schemas/C" }, { type: "string" }] }
        }
      }
    })
    assert.strictEqual(definition.actions.length, 1)
    assert.deepStrictEqual(Object.keys(definition.schemas).sort(), ["C", "D"])
  })

  it.each([
    null,
    1,
    [],
    {},
    { openapi: "4.0.0" },
    { swagger: "1.2" },
    { openapi: "3.0.0", paths: {} },
    { openapi: "3.0.0", paths: { "/a": { get: 1, $ref: "#/x" } } }
  ])("%j is none, and says so", (document) => assert.isTrue(Either.isLeft(importOpenApi(document, {}))))

  it("unusual names and paths", () => {
    const definition = imported({
      openapi: "3.0.0",
      info: { title: "日本" },
      servers: [{ url: "https://o.example" }],
      paths: {
        "/a/{x-y.z}/{n:[0-9]+}#frag": { get: { operationId: "9 Lives/é", responses: {} } },
        "/b c/{__proto__}": { get: { operationId: "constructor", responses: {} } }
      }
    })
    assert.strictEqual(definition.slug, "connector")
    assert.strictEqual(request(definition, "call9LivesE", { "x-y.z": "1", n: "2" }).url, "https://o.example/a/1/2")
    assert.strictEqual(
      request(definition, "constructor", JSON.parse('{"__proto__":"p"}')).url,
      "https://o.example/b%20c/p"
    )
  })
})
