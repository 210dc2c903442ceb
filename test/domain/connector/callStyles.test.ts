/** Values that are written as lists, cookies and members of forms stay apart. */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { buildRequest } from "../../../src/domain/connector/request/UnsignedRequest.js"
import type { Json } from "../../../src/domain/Json.js"
import { type ActionManifest, connector } from "../../support/actionAnswers.js"

const call = (action: Partial<ActionManifest>, args: Json) => {
  const made = connector(action, { baseUrl: "https://api.acme.example/v3/" })
  return buildRequest(made.definition, made.action, { args, config: {}, idempotencyKey: "key-1" })
}

const request = (action: Partial<ActionManifest>, args: Json) =>
  Either.getOrThrowWith(call(action, args), (wrong) => new Error(`${wrong.path} ${wrong.message}`))

const refused = (action: Partial<ActionManifest>, args: Json) =>
  Either.match(call(action, args), { onLeft: ({ path }) => path, onRight: ({ url }) => assert.fail(`made ${url}`) })

const get = (path: string, more: object = {}) => ({ request: { method: "GET" as const, path, ...more } })

describe("a list joined in one text", () => {
  it.each<[Json, string]>([
    [["Doe, Jane", "Smith"], "Doe%2C%20Jane,Smith"],
    [["only, one"], "only%2C%20one"],
    ["as,it,is", "as,it,is"],
    [[{ a: 1, b: 2 }, "x"], "%7B%22a%22:1%2C%22b%22:2%7D,x"],
    [["10:30", "b"], "10:30,b"]
  ])("has the commas of its items encoded, so that %j stays what it is", (list, expected) => {
    const query = request(get("/c", { queryStyle: "comma", query: { l: "{{args.l}}" } }), { l: list })
    assert.strictEqual(query.url, `https://api.acme.example/v3/c?l=${expected}`)
    const form = request(
      { request: { method: "POST", path: "/c", bodyType: "form", formStyle: "comma", body: { l: "{{args.l}}" } } },
      { l: list }
    )
    assert.strictEqual(form.body, `l=${expected}`)
  })

  it("in the text of a path's query has them encoded, too", () =>
    assert.strictEqual(
      request(get("/c?l={{args.l}}"), { l: ["a,b", "c"] }).url,
      "https://api.acme.example/v3/c?l=a%2Cb,c"
    ))

  it.each([
    ["space", "a b"],
    ["pipe", "a|b"],
    ["tab", "a\tb"]
  ])("by %s is refused with an item that has it, which would become two", (queryStyle, item) => {
    const action = get("/c", { queryStyle, query: { l: "{{args.l}}" } })
    assert.strictEqual(refused(action, { l: [item, "c"] }), "query.l")
    assert.isString(request(action, { l: item }).url)
  })
})

describe("cookies", () => {
  const action = get("/x", { cookies: { a: "{{args.a}}", b: "{{args.b}}", fixed: "1" } })
  const cookieOf = (args: Json) => request(action, args).headers.find(([name]) => name === "cookie")?.[1]

  it.each<[Json, string]>([
    [{ a: "x" }, "a=x; fixed=1"],
    [{ a: "x; admin=1", b: "é" }, "a=x%3B%20admin%3D1; b=%C3%A9; fixed=1"],
    [{ b: ["1,5", "2"] }, "b=1%2C5,2; fixed=1"]
  ])("of %j cannot be left by a value, and are absent without one", (args, expected) =>
    assert.strictEqual(cookieOf(args), expected)
  )
})

describe("a form", () => {
  it("has members with styles of their own", () => {
    const { body } = request(
      {
        request: {
          method: "POST",
          path: "/x",
          body: "{{args.b}}",
          bodyType: "form",
          formStyle: "repeat",
          formStyles: { ids: "comma", meta: "json", address: "members" }
        }
      },
      { b: { tags: ["x", "y"], ids: [1, 2], meta: { k: 1 }, address: { city: "Bonn", lines: ["a", "b"] } } }
    )
    assert.strictEqual(decodeURIComponent(String(body)), 'tags=x&tags=y&ids=1,2&meta={"k":1}&city=Bonn&lines=a&lines=b')
  })
})
