import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { http as builtIn } from "../../../src/domain/connectors/Http.js"
import type { JsonObject } from "../../../src/domain/Json.js"
import { type Account, makeCaller, type Caller, callEveryAction, objectOf } from "../../support/ConnectorCaller.js"
import { startFake, type Fake } from "../../support/fakes/Fake.js"

const http = builtIn.definition()

let api: Fake
let open: Caller

const as = (account: Omit<Account, "config">, more: JsonObject = {}): Caller =>
  makeCaller(http, api.origin, { ...account, config: { baseUrl: `${api.origin}/base`, ...more } })

beforeAll(async () => {
  // An echo server: it answers with the request.
  api = await startFake({
    guard: (asked) => ({
      status: asked.path.endsWith("/missing") ? 404 : 200,
      json: { method: asked.method, path: asked.path, query: [...asked.query], body: asked.body }
    }),
    routes: {}
  })
  open = as({ method: "none", credential: {} })
})
afterAll(() => api.close())

/** Asserts that the echoed request has these members. */
const arrived = (members: JsonObject) => (result: unknown) => {
  const body = objectOf(objectOf(result as JsonObject)["body"])
  assert.deepInclude(body, members)
}

describe("the generic HTTP connector", () => {
  it("answers every action with status, headers and body", () =>
    callEveryAction(http, open, {
      get: [
        { path: "orders/7", query: { q: "a b&c", tag: ["x", "y"], none: null } },
        arrived({
          method: "GET",
          path: "/base/orders/7",
          query: [
            ["q", "a b&c"],
            ["tag", "x"],
            ["tag", "y"]
          ]
        })
      ],
      post: [{ path: "orders", body: { total: 5, note: null } }, arrived({ body: '{"total":5,"note":null}' })],
      put: [{ path: "orders/7", body: [1, 2] }, arrived({ method: "PUT", body: "[1,2]" })],
      patch: [{ path: "orders/7", body: { a: 1 } }, arrived({ method: "PATCH", body: '{"a":1}' })],
      delete: [{ path: "orders/7" }, arrived({ method: "DELETE", path: "/base/orders/7" })],
      postForm: [{ path: "token", form: { a: "1 2", b: ["x", "y"] } }, arrived({ body: "a=1%202&b=x&b=y" })],
      postText: [{ path: "text", text: "Grüße" }, arrived({ body: "Grüße" })]
    }))

  it("calls the base URL itself without a path", async () => {
    await open.result("get")
    assert.match(api.asked.at(-1)?.path ?? "", /^\/base\/?$/)
  })

  it("sends the caller's headers, except those of HTTP framing", async () => {
    await open.result("get", { path: "x", headers: { "X-Trace": "t1" } })
    assert.strictEqual(api.asked.at(-1)?.headers["x-trace"], "t1")
    const refused = async (headers: JsonObject) =>
      open.call("get", { path: "x", headers }).then(
        () => "sent",
        (error: unknown) => String(error)
      )
    assert.include(await refused({ Host: "evil.example" }), "set by the service and cannot be sent")
    assert.include(await refused({ "X-A": "1\r\nX-B: 2" }), "cannot hold")
  })

  it("keeps a path below the base URL", async () => {
    for (const path of ["../admin", "a/../../admin", "a\\..\\b", "%2e%2e/admin"]) {
      const sent = await open.call("get", { path }).then(
        () => "sent",
        () => "refused"
      )
      assert.strictEqual(sent, "refused", path)
    }
    arrived({ path: "/base/evil.example/x%3Fy%23z" })(await open.result("get", { path: "//evil.example/x?y#z" }))
  })

  it("sends the credential as its method says, replacing the caller's values", async () => {
    const headers = { Authorization: "forged", "X-API-Key": "forged" }
    const last = () => api.asked.at(-1)
    await as({ method: "bearer", credential: { token: "t" } }).result("get", { headers })
    assert.strictEqual(last()?.headers.authorization, "Bearer t")
    await as({ method: "basic", credential: { username: "u", password: "p" } }).result("get")
    assert.strictEqual(last()?.headers.authorization, `Basic ${Buffer.from("u:p").toString("base64")}`)
    await as({ method: "header_key", credential: { apiKey: "k" } }).result("get", { headers })
    assert.strictEqual(last()?.headers["x-api-key"], "k")
    await as({ method: "header_key", credential: { apiKey: "k" } }, { keyName: "X-Token" }).result("get")
    assert.strictEqual(last()?.headers["x-token"], "k")
    await as({ method: "query_key", credential: { apiKey: "k&1" } }).result("get", { query: { a: 1 } })
    assert.deepStrictEqual(
      [...(last()?.query ?? [])],
      [
        ["a", "1"],
        ["api_key", "k&1"]
      ]
    )
    await as({ method: "query_key", credential: { apiKey: "k" } }, { keyName: "token" }).result("get", {
      query: { token: "forged" }
    })
    assert.deepStrictEqual([...(last()?.query ?? [])], [["token", "k"]])
    await as({ method: "client_credentials", credential: { accessToken: "a" } }).result("get")
    assert.strictEqual(last()?.headers.authorization, "Bearer a")
  })

  it("reports an error status as a failure, with the answer", async () => {
    const failure = await open.failure("get", { path: "missing" })
    assert.deepInclude(failure, { category: "provider", status: 404 })
    assert.deepInclude(objectOf(failure.body), { path: "/base/missing" })
  })
})
