import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc } from "effect"
import type { ActionDefinition } from "../../../src/domain/connector/Action.js"
import { resolveBaseUrl, configuredUrl, connectionOrigins } from "../../../src/domain/connector/request/BaseUrl.js"
import { type CallInput, buildRequest } from "../../../src/domain/connector/request/UnsignedRequest.js"
import { type ConnectorDefinition, type ConnectorManifest } from "../../../src/domain/connector/Definition.js"
import type { Json } from "../../../src/domain/Json.js"
import { type ActionManifest, connector as connectorOf } from "../../support/actionAnswers.js"

const connector = (action: Partial<ActionManifest>, rest: Partial<ConnectorManifest> = {}) =>
  connectorOf(action, { baseUrl: "https://api.acme.example/v3/", ...rest })

const call = (made: { definition: ConnectorDefinition; action: ActionDefinition }, input: Partial<CallInput> = {}) =>
  buildRequest(made.definition, made.action, { args: {}, config: {}, idempotencyKey: "key-1", ...input })

const request = (action: Partial<ActionManifest>, args: Json = {}, rest: Partial<ConnectorManifest> = {}) =>
  Either.getOrThrowWith(call(connector(action, rest), { args }), (wrong) => new Error(`${wrong.path} ${wrong.message}`))

const refused = (action: Partial<ActionManifest>, args: Json, rest: Partial<ConnectorManifest> = {}) =>
  Either.match(call(connector(action, rest), { args }), {
    onLeft: ({ path }) => path,
    onRight: ({ url }) => assert.fail(`made ${url}`)
  })

const get = (path: string, more: object = {}) => ({ request: { method: "GET" as const, path, ...more } })

/** Typical attempts to escape from a place. */
const hostile = fc.oneof(
  fc.fullUnicodeString({ maxLength: 30 }),
  fc
    .array(
      fc.constantFrom(
        "..",
        ".",
        "/",
        "\\",
        "%2f",
        "%2F",
        "%2e",
        "%5c",
        "?",
        "#",
        "@",
        ":",
        "//",
        "\r\n",
        "\n",
        "\0",
        "%00",
        "%0d%0a",
        "a",
        "&",
        "=",
        ";",
        " ",
        "é",
        "😀",
        "\ud800",
        "{{args.other}}",
        "evil.example",
        "http://",
        "[",
        "]",
        ",",
        "|"
      ),
      { minLength: 1, maxLength: 8 }
    )
    .map((parts) => parts.join(""))
)

describe("values in a path", () => {
  const made = connector(get("/contacts/{{args.id}}/notes"))

  it.prop("never leave their segment", [hostile], ([id]) => {
    const asked = call(made, { args: { id } })
    if (Either.isLeft(asked)) return
    const url = new URL(asked.right.url)
    assert.strictEqual(url.origin, "https://api.acme.example")
    assert.strictEqual(asked.right.origin, url.origin)
    assert.strictEqual(url.href, asked.right.url)
    assert.strictEqual(url.search + url.hash + url.username, "")
    const [, v3, contacts, segment, notes, ...more] = url.pathname.split("/")
    assert.deepStrictEqual([v3, contacts, notes, more], ["v3", "contacts", "notes", []])
    assert.strictEqual(decodeURIComponent(segment ?? ""), id)
    assert.notMatch(asked.right.url, /[\r\n\0\\ ]/)
  })

  it.prop("stay below their prefix where they may span segments", [hostile], ([path]) => {
    const asked = call(connector(get("/files/{{args.path}}", { pathValues: "segments" })), { args: { path } })
    if (Either.isLeft(asked)) return
    const url = new URL(asked.right.url)
    assert.strictEqual(url.href, asked.right.url)
    assert.isTrue(url.pathname.startsWith("/v3/files/"))
    assert.strictEqual(url.search + url.hash, "")
    assert.isFalse(url.pathname.includes("//"))
  })

  it.each(["..", ".", "../admin", "a/../b", "..\\x", "", "a\0b", "a\r\nb", "\ud800", { a: 1 }, null])(
    "%j is refused with its name",
    (id) => assert.strictEqual(refused(get("/contacts/{{args.id}}"), { id }), "args.id")
  )

  it("an absent value is refused: the path without it would be another resource", () => {
    assert.strictEqual(refused({ request: { method: "DELETE", path: "/contacts/{{args.id}}" } }, {}), "args.id")
  })

  it.each([
    ["a/b", "/v3/x/a%2Fb"],
    ["%2f", "/v3/x/%252f"],
    ["ü?#@&", "/v3/x/%C3%BC%3F%23%40%26"],
    [[1, "b"], "/v3/x/1,b"],
    [["a,b", "c/d"], "/v3/x/a%2Cb,c%2Fd"],
    [7, "/v3/x/7"],
    ["..a", "/v3/x/..a"]
  ])("%j is %s", (id, path) =>
    assert.strictEqual(request(get("/x/{{args.id}}"), { id }).url, `https://api.acme.example${path}`)
  )

  it("a path of the definition cannot climb either", () => {
    assert.strictEqual(refused(get("/a/../b"), {}), "request.path")
    assert.strictEqual(refused(get("/a/.{{args.dot}}/b"), { dot: "." }), "args.dot")
  })
})

describe("values in a query", () => {
  it.prop("are one value under their own name", [hostile, hostile], ([q, name]) => {
    fc.pre(name !== "")
    const asked = call(connector(get("/s?fixed=1", { query: "{{args.query}}" })), { args: { query: { [name]: q } } })
    if (Either.isLeft(asked)) return assert.isFalse(q.isWellFormed() && name.isWellFormed())
    const url = new URL(asked.right.url)
    assert.strictEqual(url.pathname, "/v3/s")
    assert.strictEqual(url.hash, "")
    const pairs = [...url.searchParams]
    assert.deepStrictEqual(pairs, [
      ["fixed", "1"],
      [name, q]
    ])
    assert.notMatch(asked.right.url, /[\r\n\0 ]/)
  })

  it("that are absent or null are left out, zero and false are not", () => {
    const { url } = request(
      get("/c", {
        query: { limit: "{{args.size ?? 100}}", after: "{{args.cursor}}", n: "{{args.n}}", b: "{{args.b}}" }
      }),
      { n: 0, b: false }
    )
    assert.strictEqual(url, "https://api.acme.example/v3/c?limit=100&n=0&b=false")
  })

  it.each([
    ["repeat", "l=1&l=b%26&o%5Bx%5D=y"],
    ["comma", "l=1,b%26&o%5Bx%5D=y"],
    ["space", "l=1%20b%26&o%5Bx%5D=y"],
    ["pipe", "l=1%7Cb%26&o%5Bx%5D=y"],
    ["brackets", "l%5B%5D=1&l%5B%5D=b%26&o%5Bx%5D=y"],
    ["indexed", "l%5B0%5D=1&l%5B1%5D=b%26&o%5Bx%5D=y"],
    ["tab", "l=1%09b%26&o%5Bx%5D=y"],
    ["members", "l=1&l=b%26&x=y"],
    ["json", "l=%5B1,%22b%26%22%5D&o=%7B%22x%22:%22y%22%7D"]
  ] as const)("lists are written as %s", (queryStyle, expected) => {
    const { url } = request(get("/c", { queryStyle, query: { l: "{{args.l}}", o: "{{args.o}}" } }), {
      l: [1, "b&"],
      o: { x: "y" }
    })
    assert.strictEqual(url, `https://api.acme.example/v3/c?${expected}`)
  })
})

describe("texts of a query language in a parameter", () => {
  const query = {
    request: {
      method: "GET" as const,
      path: "/query",
      query: { q: "SELECT Id FROM Stage WHERE Name = '{{args.name}}'", all: "{{args.all}}", raw: "{{args.name}}" },
      queryTexts: ["q", "all"]
    }
  }

  it("end where the definition ends them, whatever they hold", () =>
    fc.assert(
      fc.property(fc.oneof(hostile, fc.constant("' OR Name != '"), fc.constant("\\' OR 1=1")), (name) => {
        fc.pre(name.isWellFormed())
        const asked = new URL(request(query, { name }).url).searchParams
        const [, text] = /^SELECT Id FROM Stage WHERE Name = '((?:[^'\\]|\\[^])*)'$/.exec(asked.get("q") ?? "") ?? []
        assert.strictEqual(text?.replace(/\\([^])/g, "$1"), name)
        assert.strictEqual(asked.get("raw"), name)
        assert.isFalse(asked.has("all"))
      })
    ))
})

describe("values in headers", () => {
  it.prop("have no line break and no other control character, under any name", [hostile, hostile], ([value, name]) => {
    const asked = call(connector(get("/h", { headers: "{{args.headers}}" })), { args: { headers: { [name]: value } } })
    if (Either.isLeft(asked)) return
    const headers = asked.right.headers.filter(([key]) => key !== "accept")
    assert.isAtMost(headers.length, 1)
    for (const [key, text] of headers) {
      assert.match(key, /^[!#$%&'*+.^_`|~0-9a-z-]+$/)
      assert.match(text, /^[\t\x20-\x7e\x80-\xff]*$/)
      assert.strictEqual(text, value.trim())
    }
  })

  it.each(["a\r\nX-Evil: 1", "a\nb", "a\0b", "snow ☃"])("%j is refused", (value) =>
    assert.strictEqual(refused(get("/h", { headers: { "X-A": "{{args.v}}" } }), { v: value }), "headers.X-A")
  )

  it.each(["Host", "Content-Length", "Transfer-Encoding", "Connection"])("%s is the sender's", (name) =>
    assert.strictEqual(refused(get("/h", { headers: "{{args.h}}" }), { h: { [name]: "x" } }), `headers.${name}`)
  )
})

describe("a base URL with config in it", () => {
  const config = { properties: { sub: { type: "string" } } }
  const base = (baseUrl: string, sub: Json) =>
    Either.map(resolveBaseUrl({ baseUrl, transport: "http" }, { sub }), ({ origin, path }) => `${origin}${path}`)

  it.prop("keeps its host whatever the config says", [hostile], ([sub]) => {
    const { definition, action } = connector(get("/x"), {
      baseUrl: "https://{{connection.config.sub}}.acme.example/v3",
      connectionConfig: config
    })
    const asked = buildRequest(definition, action, { args: {}, config: { sub }, idempotencyKey: "k" })
    if (Either.isLeft(asked)) return
    const url = new URL(asked.right.url)
    assert.isTrue(url.hostname.endsWith(".acme.example"), url.href)
    assert.deepStrictEqual([url.protocol, url.pathname, url.search, url.username], ["https:", "/v3/x", "", ""])
  })

  it.each(["evil.example/", "evil.example#", "evil.example?", "a@evil.example", "x\\", "", "a:1", "a..b", "-", null])(
    "%j is no part of a host",
    (sub) => assert.isTrue(Either.isLeft(base("https://{{connection.config.sub}}.acme.example", sub)))
  )

  it.each([
    ["https://shop.example/api/", "https://shop.example/api"],
    ["http://10.0.0.1:8080", "http://10.0.0.1:8080"]
  ])("that is all of it may be %s", (sub, expected) =>
    assert.deepStrictEqual(base("{{connection.config.sub}}", sub), Either.right(expected))
  )

  it.each([
    "ftp://x",
    "file:///etc/passwd",
    "https://u:p@x",
    "https://x/?q",
    "https://x/#f",
    "javascript:1",
    "x",
    5,
    "https://x/a/../b"
  ])("that is all of it cannot be %j", (sub) => assert.isTrue(Either.isLeft(base("{{connection.config.sub}}", sub))))

  it("further origins are those that actions name in plain text", () => {
    const { definition } = connector(get("https://uploads.acme.example/f/{{args.id}}"))
    assert.deepStrictEqual(
      connectionOrigins(definition, {}),
      Either.right(["https://api.acme.example", "https://uploads.acme.example"])
    )
    assert.strictEqual(
      request(get("https://uploads.acme.example/f/{{args.id}}"), { id: "../a".slice(3) }).url,
      "https://uploads.acme.example/f/a"
    )
    assert.isTrue(
      Either.isRight(
        configuredUrl("https://{{connection.config.sub}}/oauth?x={{connection.config.y}}", { sub: "a.b", y: "&" })
      )
    )
  })
})

describe("a body", () => {
  const post = (more: object) => ({ request: { method: "POST" as const, path: "/p", ...more } })

  it("is JSON; members without a value are left out, those that arguments hold stay", () => {
    const { body, headers } = request(
      post({ body: { a: "{{args.a}}", b: "{{args.gone}}", c: { d: "{{args.d}}" }, n: null, l: ["{{args.a}}", 2] } }),
      { a: 1, d: { keep: null } }
    )
    assert.strictEqual(body, '{"a":1,"c":{"d":{"keep":null}},"n":null,"l":[1,2]}')
    assert.deepInclude(headers, ["content-type", "application/json"])
    const kept = request(post({ body: { b: "{{args.gone}}" }, keepNulls: true }))
    assert.strictEqual(kept.body, '{"b":null}')
    assert.isNull(request(post({ body: "{{args.body}}" })).body)
  })

  it.prop("cannot be left by a value", [fc.jsonValue()], ([value]) => {
    const json: Json = JSON.parse(JSON.stringify(value))
    const { body } = request(post({ body: { x: "{{args.x}}", y: 1 } }), { x: json })
    assert.deepStrictEqual(JSON.parse(String(body)), json === null ? { y: 1 } : { x: json, y: 1 })
  })

  it.prop("of a form holds each value under its own name", [hostile], ([value]) => {
    const asked = call(connector(post({ body: { a: "{{args.v}}", z: "1" }, bodyType: "form" })), { args: { v: value } })
    if (Either.isLeft(asked)) return assert.isFalse(value.isWellFormed())
    assert.deepStrictEqual(
      [...new URLSearchParams(String(asked.right.body))],
      [
        ["a", value],
        ["z", "1"]
      ]
    )
  })

  it("has the items of several arguments in one list, where the action says so", () => {
    const body = { links: ["{{args.contacts}}", "{{args.companies}}", "{{args.one}}"], kept: "{{args.kept}}" }
    const lists = (args: Json, joinLists: boolean) =>
      JSON.parse(String(request({ request: { method: "POST", path: "/x", body, joinLists } }, args).body))
    const args = { contacts: [{ id: 1 }, { id: 2 }], one: { id: 3 }, kept: [[1], 2, null] }
    assert.deepStrictEqual(lists(args, true), { links: [{ id: 1 }, { id: 2 }, { id: 3 }], kept: [1, 2] })
    assert.deepStrictEqual(lists({}, true), { links: [] })
    assert.deepStrictEqual(lists(args, false), { links: [args.contacts, null, args.one], kept: args.kept })
  })

  it("has the next version of the one that is given, where the action says so", () => {
    const body = { version: { number: "{{args.version}}", note: "{{args.note}}" } }
    const sent = (args: Json) =>
      JSON.parse(
        String(request({ request: { method: "PUT", path: "/x", body, increments: ["version.number"] } }, args).body)
      )
    assert.deepStrictEqual(sent({ version: 7, note: "Hi" }), { version: { number: 8, note: "Hi" } })
    assert.deepStrictEqual(sent({ version: "7" }), { version: { number: "7" } })
    assert.deepStrictEqual(sent({}), { version: {} })
  })

  it("of a form nests as the provider reads it", () => {
    const { body } = request(post({ body: "{{args.b}}", bodyType: "form", formStyle: "indexed" }), {
      b: { items: [{ price: "p", quantity: 1 }], metadata: { k: "v" } }
    })
    assert.deepStrictEqual(
      [...new URLSearchParams(String(body))],
      [
        ["items[0][price]", "p"],
        ["items[0][quantity]", "1"],
        ["metadata[k]", "v"]
      ]
    )
  })

  it("of several parts cannot be left by a value, a name or a file's name", async () => {
    const evil = '"\r\n--svc-key1\r\nContent-Disposition: form-data; name="x"\r\n\r\nno'
    const { body, headers } = request(
      post({
        body: { text: "{{args.t}}", file: { base64: "aGk=", filename: "{{args.t}}", contentType: "text/plain" } },
        bodyType: "multipart"
      }),
      { t: evil }
    )
    assert.instanceOf(body, Uint8Array)
    const form = await new Response(new Uint8Array(body instanceof Uint8Array ? body : []), {
      headers: headers.map(([k, v]): [string, string] => [k, v])
    }).formData()
    assert.deepStrictEqual([...form.keys()], ["text", "file"])
    assert.strictEqual(form.get("text"), evil)
    const file = form.get("file")
    assert.strictEqual(file instanceof Blob ? await file.text() : "", "hi")
  })

  it("of bytes is what the base64 says", () => {
    assert.deepStrictEqual(
      request(post({ body: "{{args.b}}", bodyType: "base64" }), { b: "AP8=" }).body,
      new Uint8Array([0, 255])
    )
    assert.strictEqual(refused(post({ body: "{{args.b}}", bodyType: "base64" }), { b: "%%" }), "request.body")
  })
})

describe("the idempotency key", () => {
  it("goes where the action has a place for it, cut to what the provider takes", () => {
    const inHeader = request({ ...get("/x"), idempotency: { header: "Idempotency-Key", maxLength: 3 } })
    assert.deepInclude(inHeader.headers, ["idempotency-key", "key"])
    assert.strictEqual(
      request({ ...get("/x"), idempotency: { query: "requestid" } }).url,
      "https://api.acme.example/v3/x?requestid=key-1"
    )
    assert.strictEqual(
      request(get("/x", { query: { r: "{{idempotencyKey}}" } })).url,
      "https://api.acme.example/v3/x?r=key-1"
    )
  })
})
