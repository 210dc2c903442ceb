/** A Postman collection becomes a valid definition whose requests are those of the collection, without its credentials. */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import type { ConnectorDefinition } from "../../src/domain/connector/Definition.js"
import { findAction } from "../../src/domain/connector/Definition.js"
import { importPostman } from "../../src/domain/connector/import/postman/PostmanCollection.js"
import { buildRequest } from "../../src/domain/connector/request/UnsignedRequest.js"
import { standaloneSchema, validateDefinition } from "../../src/domain/connector/Validation.js"
import type { Json, JsonObject } from "../../src/domain/Json.js"
import { compileSchema, findSchemaMistakes } from "../../src/runtime/computing/worker/Contracts.js"
import { collection } from "../support/postman.js"

const read = (document: Json) => {
  const { definition, places, warnings } = Either.getOrThrowWith(
    importPostman(document, {}),
    ({ at, message }) => new Error(`${at} ${message}`)
  )
  const valid = Either.getOrThrowWith(
    validateDefinition(definition, findSchemaMistakes),
    (all) => new Error(JSON.stringify(all))
  )
  return { definition: valid, places, warnings }
}

const imported = (item: ReadonlyArray<Json>, more: JsonObject = {}) => read(collection(item, more))

const get = (url: Json, more: JsonObject = {}): JsonObject => ({
  name: "Call",
  request: { method: "GET", url, ...more }
})

const namesOf = ({ actions }: ConnectorDefinition) => actions.map(({ name }) => name)

const action = (definition: ConnectorDefinition, name: string) =>
  findAction(definition, name) ?? assert.fail(`no ${name} among ${namesOf(definition).join(", ")}`)

const request = (definition: ConnectorDefinition, name: string, args: Json, config = {}) =>
  Either.getOrThrowWith(
    buildRequest(definition, action(definition, name), { args, config, idempotencyKey: "k1" }),
    (wrong) => new Error(`${wrong.path} ${wrong.message}`)
  )

const wrongArgs = (definition: ConnectorDefinition, name: string, args: Json) =>
  compileSchema(standaloneSchema(definition, action(definition, name).inputSchema))(args).map(({ path }) => path)

const at = (warnings: ReadonlyArray<{ readonly path: string; readonly message: string }>, path: string) =>
  warnings.filter((one) => one.path === path).map(({ message }) => message)

describe("the URLs of a collection", () => {
  const forms: ReadonlyArray<readonly [string, Json]> = [
    ["a text", "https://api.acme.test/v1/users/:id?expand=all"],
    ["an object with its text alone", { raw: "https://api.acme.test/v1/users/:id?expand=all" }],
    [
      "an object with lists",
      {
        raw: "ignored",
        protocol: "https",
        host: ["api", "acme", "test"],
        path: ["v1", "users", ":id"],
        query: [{ key: "expand", value: "all" }],
        variable: [{ key: "id", value: "7", description: "The user" }]
      }
    ],
    [
      "an object with texts",
      {
        protocol: "https",
        host: "api.acme.test",
        path: "/v1/users/:id",
        query: [{ key: "expand" }, { key: "page", disabled: true }]
      }
    ],
    ["a variable as the base", { host: ["{{baseUrl}}"], path: ["users", ":id"], query: [{ key: "expand" }] }],
    ["a variable as the base of a text", "{{baseUrl}}/users/{{id}}?expand"]
  ]
  it.each(forms)("%s", (_name, url) => {
    const { definition } = imported([get(url)], { variable: [{ key: "baseUrl", value: "https://api.acme.test/v1/" }] })
    const { method, url: sent } = request(definition, "call", { id: "a/b", expand: "x y" })
    assert.strictEqual(method, "GET")
    assert.strictEqual(sent, "https://api.acme.test/v1/users/a%2Fb?expand=x%20y")
    assert.deepStrictEqual(action(definition, "call").inputSchema["required"], ["id"])
    assert.deepStrictEqual(wrongArgs(definition, "call", { id: 7 }), [])
  })

  it("have a common address and beginning, which is the base URL; others have full URLs", () => {
    const { definition, warnings } = imported([
      get("https://api.acme.test/v2/users"),
      get("https://api.acme.test/v2/orders/:id"),
      get("http://files.acme.test/upload")
    ])
    assert.strictEqual(definition.baseUrl, "https://api.acme.test/v2")
    assert.deepStrictEqual(
      definition.actions.map((one) => one.request.path),
      ["/users", "/orders/{{args.id}}", "https://files.acme.test/upload"]
    )
    assert.match(at(warnings, "item[2].request.url").join(), /http:\/\/files\.acme\.test is imported as https/)
  })

  it("with variables that have no value become the connection's config", () => {
    const { definition } = imported([get("{{baseUrl}}/users")])
    assert.strictEqual(definition.baseUrl, "{{connection.config.baseUrl}}")
    assert.deepStrictEqual(definition.connectionConfig?.["required"], ["baseUrl"])
    const host = imported(
      [get("https://{{company}}.acme.test/{{version}}/users"), get("https://{{company}}.acme.test/{{version}}/a")],
      {
        variable: [{ key: "version", value: "v3" }]
      }
    ).definition
    assert.strictEqual(
      host.baseUrl,
      'https://{{connection.config.company}}.acme.test/{{connection.config.version ?? "v3"}}'
    )
    assert.strictEqual(request(host, "call", {}, { company: "shop" }).url, "https://shop.acme.test/v3/users")
  })

  it.each([
    ["localhost:3000/users", "https://localhost:3000"],
    ["{{protocol}}://api.acme.test/users", "https://api.acme.test"],
    ["https://user:password-1@api.acme.test/users", "https://api.acme.test"],
    ["/users", "{{connection.config.baseUrl}}"],
    ["ws://api.acme.test/users", "{{connection.config.baseUrl}}"],
    ["https://a b/users", "{{connection.config.baseUrl}}"]
  ])("%s is sent to %s, with a warning where it is changed", (url, baseUrl) => {
    const { definition, warnings } = imported([get(url)])
    assert.strictEqual(definition.baseUrl, baseUrl)
    assert.notInclude(JSON.stringify([definition, warnings]), "password-1")
    assert.isTrue(url.startsWith("{{") || at(warnings, "item[0].request.url").length > 0)
  })
})

describe("the items of a collection", () => {
  it("are actions with the names of the items; equal ones begin with their folder", () => {
    const folder = (name: string, ...item: ReadonlyArray<Json>) => ({ name, item })
    const { definition, places } = imported([
      folder(
        "Users",
        { ...get("https://a.test/users"), name: "List" },
        folder("Deep", { ...get("https://a.test/x"), name: "GET x!" })
      ),
      folder("Orders", { ...get("https://a.test/orders"), name: "List" }),
      { ...get("https://a.test/ü"), name: "получить" },
      { ...get("https://a.test/other"), name: "getX" },
      { name: "Text", request: "https://a.test/text" }
    ])
    assert.deepStrictEqual(namesOf(definition), ["usersList", "deepGETX", "ordersList", "getC3BC", "getX", "text"])
    assert.deepStrictEqual(places, [
      "item[0].item[0]",
      "item[0].item[1].item[0]",
      "item[1].item[0]",
      "item[2]",
      "item[3]",
      "item[4]"
    ])
  })

  it("read only with GET and HEAD; methods that no action has are left out with a warning", () => {
    const call = (method: string): Json => ({ name: method, request: { method, url: "https://a.test/x" } })
    const { definition, warnings } = imported([call("GET"), call("HEAD"), call("POST"), call("DELETE"), call("PURGE")])
    assert.deepStrictEqual(
      definition.actions.map(({ name, readOnly }) => [name, readOnly]),
      [
        ["get", true],
        ["head", true],
        ["post", false],
        ["delete", false]
      ]
    )
    assert.match(at(warnings, "item[4].request.method").join(), /PURGE.*left out/)
  })

  it("have the collection's headers, except disabled ones, credentials and types of content", () => {
    const { definition } = imported(
      [
        get("https://a.test/x", {
          header: [
            { key: "X-Version", value: "2024-01" },
            { key: "X-Region", value: "{{region}}" },
            { key: "X-Off", value: "1", disabled: true },
            { key: "Authorization", value: "Bearer header-credential-77" },
            { key: "X-Api-Secret", value: "other-credential-88" },
            { key: "Accept", value: "application/json" },
            { key: "Content-Type", value: "application/json" },
            { key: "Idempotency-Key", value: "{{$guid}}" },
            { key: "not a name", value: "1" }
          ]
        })
      ],
      { variable: [{ key: "region", value: "eu" }] }
    )
    const headersOf = (args: Json) => Object.fromEntries(request(definition, "call", args).headers)
    assert.include(headersOf({}), { "x-version": "2024-01", "x-region": "eu" })
    assert.include(headersOf({ "X-Version": "9" }), { "x-version": "9" })
    assert.notProperty(headersOf({}), "x-off")
    assert.strictEqual(action(definition, "call").idempotency?.header, "Idempotency-Key")
    assert.notMatch(JSON.stringify(definition), /credential-(77|88)/)
    assert.deepStrictEqual(
      definition.auth.map(({ id, type }) => [id, type]),
      [["bearer", "api_key"]]
    )
  })

  it("have the small example of a success as a mock, without secret members", () => {
    const response = [
      { name: "no", code: 404, body: "{}" },
      { name: "large", code: 200, body: JSON.stringify("x".repeat(5_000)) },
      { name: "fine", code: 200, body: '{"id":7,"token":"mock-credential"}' }
    ]
    const { definition } = imported([{ ...get("https://a.test/x"), response }])
    assert.deepStrictEqual(action(definition, "call").mocks, [{ name: "fine", output: { id: 7, token: "[redacted]" } }])
  })

  it("run no scripts: a warning says so", () => {
    const event = [{ listen: "test", script: { exec: ["", "pm.environment.set('x', 1)"] } }]
    const { warnings } = imported([{ ...get("https://a.test/x"), event }])
    assert.match(at(warnings, "item[0].event").join(), /not run/)
    assert.deepStrictEqual(imported([{ ...get("https://a.test/x"), event: [{ script: { exec: [""] } }] }]).warnings, [])
  })
})

describe("bodies", () => {
  const post = (body: JsonObject, header: Json = []) =>
    imported([{ name: "Send", request: { method: "POST", url: "https://a.test/x", header, body } }])

  it("in JSON are the argument body, whose schema has the example's types and none of its values", () => {
    const { definition, warnings } = post({
      mode: "raw",
      raw: '{"name": "canary-name", "n": {{number}}, "tags": ["a"], "at": "{{at}}", "deep": {"on": true}, "any": null}'
    })
    assert.deepStrictEqual(warnings, [])
    assert.deepStrictEqual((action(definition, "send").inputSchema["properties"] as JsonObject)["body"], {
      type: "object",
      properties: {
        name: { type: "string" },
        n: {},
        tags: { type: "array", items: { type: "string" } },
        at: { type: "string" },
        deep: { type: "object", properties: { on: { type: "boolean" } } },
        any: {}
      }
    })
    assert.notInclude(JSON.stringify(definition), "canary-name")
    assert.deepStrictEqual(action(definition, "send").inputSchema["required"], ["body"])
    assert.strictEqual(request(definition, "send", { body: { name: "A" } }).body, '{"name":"A"}')
  })

  it("as a form and in parts have members; files are sent as files", () => {
    const form = post({
      mode: "urlencoded",
      urlencoded: [
        { key: "a", value: "1" },
        { key: "b[]", value: "1" },
        { key: "b[]", value: "2" },
        { key: "c", value: "", disabled: true }
      ]
    }).definition
    const sent = request(form, "send", { body: { a: 1, "b[]": ["x", "y"] } })
    assert.strictEqual(sent.body, "a=1&b%5B%5D=x&b%5B%5D=y")
    const parts = post({
      mode: "formdata",
      formdata: [
        { key: "note", value: "n", type: "text" },
        { key: "file", type: "file", src: "/etc/passwd" }
      ]
    }).definition
    assert.strictEqual(action(parts, "send").request.bodyType, "multipart")
    assert.notInclude(JSON.stringify(parts), "passwd")
    assert.deepStrictEqual(wrongArgs(parts, "send", { body: { note: "x", file: { base64: "eA==" } } }), [])
  })

  it.each(["file", "graphql", "other"])("of the mode %s are left out with a warning", (mode) => {
    const { definition, warnings } = post({ mode, [mode]: { src: "/etc/passwd", query: "{ me }" } })
    assert.match(at(warnings, "item[0].request.body").join(), new RegExp(`mode ${mode}.*left out`))
    assert.isNull(action(definition, "send").request.body)
  })

  it("in other types are texts; the header Content-Type says which", () => {
    const xml = post({ mode: "raw", raw: "<a/>", options: { raw: { language: "xml" } } }).definition
    assert.deepInclude(action(xml, "send").request, { bodyType: "text", contentType: "application/xml" })
    const own = post({ mode: "raw", raw: "{}" }, [
      { key: "content-type", value: "application/vnd.api+json" }
    ]).definition
    assert.strictEqual(action(own, "send").request.contentType, "application/vnd.api+json")
  })
})
