/** Lists and objects are sent as an imported document says, or the import names the parameter that is not. */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { findAction } from "../../../src/domain/connector/Definition.js"
import { importOpenApi } from "../../../src/domain/connector/import/OpenApi.js"
import { buildRequest } from "../../../src/domain/connector/request/UnsignedRequest.js"
import { validateDefinition } from "../../../src/domain/connector/Validation.js"
import type { Json, JsonObject } from "../../../src/domain/Json.js"
import { findSchemaMistakes } from "../../../src/runtime/computing/worker/Contracts.js"

const imported = (document: JsonObject) => {
  const { definition, warnings } = Either.getOrThrowWith(importOpenApi(document, {}), (why) => new Error(why))
  return {
    definition: Either.getOrThrowWith(
      validateDefinition(definition, findSchemaMistakes),
      (all) => new Error(JSON.stringify(all))
    ),
    warnings
  }
}

const three = (path: string, operation: JsonObject, more: JsonObject = {}): JsonObject => ({
  openapi: "3.1.0",
  info: { title: "Styles", version: "1.0.0" },
  servers: [{ url: "https://api.example.com" }],
  paths: { [path]: { post: { operationId: "call", responses: {}, ...operation } } },
  ...more
})

const two = (path: string, operation: JsonObject): JsonObject => ({
  swagger: "2.0",
  info: { title: "Styles", version: "1.0.0" },
  host: "api.example.com",
  paths: { [path]: { post: { operationId: "call", responses: {}, ...operation } } }
})

/** What is sent of a document's only operation, decoded, and the places of its warnings. */
const sent = (document: JsonObject, args: Json) => {
  const { definition, warnings } = imported(document)
  const action = findAction(definition, "call") ?? assert.fail("no action")
  const request = Either.getOrThrowWith(
    buildRequest(definition, action, { args, config: {}, idempotencyKey: "k" }),
    ({ message, path }) => new Error(`${path} ${message}`)
  )
  const cookie = request.headers.find(([name]) => name === "cookie")?.[1]
  return {
    target: decodeURIComponent(request.url.slice("https://api.example.com".length)),
    body: typeof request.body === "string" ? decodeURIComponent(request.body) : null,
    cookie,
    warned: warnings.map(({ path }) => path)
  }
}

const list = { type: "array", items: { type: "string" } }
const nullable = { type: ["array", "null"], items: { type: "string" } }
const object = { type: "object", properties: { x: { type: "string" }, y: { type: "string" } } }
const xy = { x: "1", y: "2" }

describe("a query parameter of OpenAPI 3", () => {
  it.each<[string, JsonObject, Json, string, boolean?]>([
    ["a list", { schema: list }, ["a", "b"], "p=a&p=b"],
    ["a list, not exploded", { schema: list, explode: false }, ["a", "b"], "p=a,b"],
    ["a nullable list", { schema: nullable, explode: false }, ["a", "b"], "p=a,b"],
    ["a list or a text", { schema: { anyOf: [list, { type: "string" }] }, explode: false }, ["a", "b"], "p=a,b"],
    ["a list behind a reference", { schema: { $ref: "#/components/schemas/L" }, explode: false }, ["a", "b"], "p=a,b"],
    ["pipes", { schema: list, style: "pipeDelimited", explode: false }, ["a", "b"], "p=a|b"],
    ["spaces", { schema: nullable, style: "spaceDelimited" }, ["a", "b"], "p=a b"],
    ["exploded pipes", { schema: list, style: "pipeDelimited", explode: true }, ["a", "b"], "p=a&p=b"],
    ["an object", { schema: object }, xy, "x=1&y=2"],
    ["an object without members", { schema: { type: "object", additionalProperties: true } }, xy, "x=1&y=2"],
    ["a deep object", { schema: object, style: "deepObject" }, xy, "p[x]=1&p[y]=2"],
    ["JSON", { content: { "application/json": { schema: object } } }, xy, 'p={"x":"1","y":"2"}'],
    ["an object, not exploded", { schema: object, explode: false }, xy, "p[x]=1&p[y]=2", true],
    ["an unknown style", { schema: list, style: "fancy" }, ["a", "b"], "p=a&p=b", true]
  ])("that is %s", (_, parameter, value, query, isWarned = false) => {
    const document = three(
      "/q",
      { parameters: [{ in: "query", name: "p", ...parameter }] },
      { components: { schemas: { L: nullable } } }
    )
    const { target, warned } = sent(document, { p: value })
    assert.strictEqual(target, `/q?${query}`)
    assert.deepStrictEqual(warned, isWarned ? ["paths./q.post.parameters.p"] : [])
  })
})

describe("a path parameter of OpenAPI 3", () => {
  it.each<[JsonObject, Json, string, boolean?]>([
    [{ schema: { type: "string" } }, 5, "/p/5/e"],
    [{ schema: { type: "string" }, style: "label" }, 5, "/p/.5/e"],
    [{ schema: { type: "string" }, style: "matrix" }, 5, "/p/;id=5/e"],
    [{ schema: list }, ["a", "b"], "/p/a,b/e"],
    [{ schema: list, style: "label" }, ["a", "b"], "/p/.a,b/e"],
    [{ schema: list, style: "matrix" }, ["a", "b"], "/p/;id=a,b/e"],
    [{ schema: list, style: "matrix", explode: true }, ["a", "b"], "/p/;id=a,b/e", true],
    [{ schema: object }, 5, "/p/5/e", true]
  ])("with %j: %j is %s", (parameter, value, path, isWarned = false) => {
    const document = three("/p/{id}/e", { parameters: [{ in: "path", name: "id", required: true, ...parameter }] })
    const { target, warned } = sent(document, { id: value })
    assert.strictEqual(target, path)
    assert.deepStrictEqual(warned, isWarned ? ["paths./p/{id}/e.post.parameters.id"] : [])
  })

  it("in the style label cannot climb", () => {
    const document = three("/p/{id}", { parameters: [{ in: "path", name: "id", required: true, style: "label" }] })
    for (const id of [".", "..", "./x", ""]) assert.throws(() => sent(document, { id }), /^args\.id /)
  })
})

describe("cookies and headers of OpenAPI 3", () => {
  it.each<[JsonObject, Json, string, boolean?]>([
    [{ schema: { type: "string" } }, "a;b", "c=a%3Bb"],
    [{ schema: { type: "string" }, required: true }, "a", "c=a"],
    [{ schema: list, explode: false }, ["a", "b"], "c=a,b"],
    [{ schema: list }, ["a", "b"], "c=a,b", true]
  ])("a cookie with %j: %j is %s", (parameter, value, cookie, isWarned = false) => {
    const found = sent(three("/c", { parameters: [{ in: "cookie", name: "c", ...parameter }] }), { c: value })
    assert.strictEqual(found.cookie, cookie)
    assert.deepStrictEqual(found.warned, isWarned ? ["paths./c.post.parameters.c"] : [])
  })

  it("that cannot be sent so are reported by name", () => {
    const { warnings } = imported(
      three("/c", {
        parameters: [
          { in: "cookie", name: "a b", schema: { type: "string" } },
          { in: "header", name: "X-Filter", schema: object }
        ]
      })
    )
    assert.deepStrictEqual(
      warnings.map(({ message }) => /"(.*?)"/.exec(message)?.[1]),
      ["a b", "X-Filter"]
    )
  })
})

describe("a form of OpenAPI 3", () => {
  it.each<[string, JsonObject, JsonObject | undefined, Json, string, boolean?]>([
    ["a list", list, undefined, ["a", "b"], "m=a&m=b"],
    ["a nullable list", nullable, { style: "form", explode: false }, ["a", "b"], "m=a,b"],
    ["a deep list", list, { style: "deepObject", explode: true }, ["a", "b"], "m[]=a&m[]=b"],
    ["pipes", list, { style: "pipeDelimited" }, ["a", "b"], "m=a|b"],
    ["an object, which is JSON", object, undefined, xy, 'm={"x":"1","y":"2"}'],
    ["an object in a style", object, { style: "form" }, xy, "x=1&y=2"],
    ["a deep object", object, { style: "deepObject" }, xy, "m[x]=1&m[y]=2"],
    ["a list in JSON", list, { contentType: "application/json" }, ["a"], 'm=["a"]'],
    ["objects in a list", { type: "array", items: object }, undefined, [xy], "m[x]=1&m[y]=2", true]
  ])("with %s", (_, member, encoding, value, body, isWarned = false) => {
    const media = {
      schema: { allOf: [{ type: "object", properties: { m: member } }] },
      ...(encoding === undefined ? {} : { encoding: { m: encoding } })
    }
    const document = three("/f", { requestBody: { content: { "application/x-www-form-urlencoded": media } } })
    const found = sent(document, { body: { m: value } })
    assert.strictEqual(found.body, body)
    assert.deepStrictEqual(found.warned, isWarned ? ["paths./f.post.requestBody.m"] : [])
  })

  it("of several parts reports a style that parts do not have", () => {
    const media = { schema: { type: "object", properties: { m: list } }, encoding: { m: { explode: false } } }
    const { warnings } = imported(three("/f", { requestBody: { content: { "multipart/form-data": media } } }))
    assert.deepStrictEqual(
      warnings.map(({ path }) => path),
      ["paths./f.post.requestBody.m"]
    )
  })
})

describe("a list of Swagger 2", () => {
  const formats: ReadonlyArray<[string | undefined, string]> = [
    [undefined, "l=a,b"],
    ["csv", "l=a,b"],
    ["ssv", "l=a b"],
    ["tsv", "l=a\tb"],
    ["pipes", "l=a|b"],
    ["multi", "l=a&l=b"]
  ]
  const format = (collectionFormat: string | undefined) => ({
    name: "l",
    ...list,
    ...(collectionFormat === undefined ? {} : { collectionFormat })
  })

  it.each(formats)("in the format %s is %s in the query and in a form", (collectionFormat, expected) => {
    const query = sent(two("/l", { parameters: [{ in: "query", ...format(collectionFormat) }] }), { l: ["a", "b"] })
    assert.deepStrictEqual([query.target, query.warned], [`/l?${expected}`, []])
    const form = two("/l", {
      consumes: ["application/x-www-form-urlencoded"],
      parameters: [{ in: "formData", ...format(collectionFormat) }]
    })
    const { body, warned } = sent(form, { body: { l: ["a", "b"] } })
    assert.deepStrictEqual([body, warned], [expected, []])
  })

  it("in the path is joined by commas; another format is reported", () => {
    for (const [collectionFormat, warned] of [
      ["csv", []],
      ["pipes", ["paths./l/{l}.post.parameters.l"]],
      ["odd", ["paths./l/{l}.post.parameters.l", "paths./l/{l}.post.parameters.l"].slice(0, 1)]
    ] as const) {
      const found = sent(two("/l/{l}", { parameters: [{ in: "path", required: true, ...format(collectionFormat) }] }), {
        l: ["a", "b"]
      })
      assert.deepStrictEqual([found.target, found.warned], ["/l/a,b", warned])
    }
  })

  it("in a header, or in one part of several, is reported where commas are not meant", () => {
    const { warnings } = imported(
      two("/l", {
        consumes: ["multipart/form-data"],
        parameters: [
          { in: "header", ...format("pipes"), name: "X-L" },
          { in: "formData", ...format("csv") },
          { in: "formData", ...format("multi"), name: "m" }
        ]
      })
    )
    assert.deepStrictEqual(
      warnings.map(({ path }) => path),
      ["paths./l.post.parameters.X-L", "paths./l.post.requestBody.l"]
    )
  })
})

describe("a version without quotes", () => {
  it.each<[JsonObject, string]>([
    [{ ...two("/v", {}), swagger: 2, info: { title: "V", version: 1.2 } }, "1.2.0"],
    [{ ...three("/v", {}), openapi: 3.1, info: { title: "V", version: 2 } }, "2.0.0"],
    [{ ...three("/v", {}), openapi: 3 }, "1.0.0"]
  ])("is a number in YAML: %#", (document, version) =>
    assert.strictEqual(imported(document).definition.version, version)
  )
})
