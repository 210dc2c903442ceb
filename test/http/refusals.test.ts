/** No client input is an error of the service, and refusals say what to send instead. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Running } from "../support/InProcess.js"
import { startShared } from "../support/SharedService.js"
import { surfaceB, surfaceC } from "../../src/http/operations/Surfaces.js"

let svc: Running
beforeAll(async () => {
  svc = await startShared()
})
afterAll(() => svc.stop())

describe("no body at all", () => {
  const changing = [...surfaceC, ...surfaceB].filter(({ method }) => method !== "GET")

  it("there are endpoints to look at", () => assert.isAbove(changing.length, 40))

  it.each(changing)(
    "$method $path says what is missing, and is not an error of the service",
    async ({ method, path }) => {
      for (const type of [undefined, "text/plain", "multipart/form-data; boundary=x", "application/vnd.api+json"]) {
        const answer = await svc.ask(method, path.replaceAll(/:\w+/g, "nothing"), {
          key: svc.first.key,
          headers: {
            "x-svc-api-key": svc.first.key,
            "x-svc-space-id": svc.first.spaceId,
            ...(type === undefined ? {} : { "content-type": type })
          }
        })
        assert.isBelow(answer.status, 500, `${type} ${answer.text}`)
      }
    }
  )

  it("is an object without members", async () => {
    const answer = await svc.ask("POST", "/api/v1/connections", { key: svc.first.key })
    assert.deepStrictEqual([answer.status, answer.body.code], [422, "VALIDATION_FAILED"])
    assert.deepStrictEqual(
      answer.body.details.map(({ code, path }: { code: string; path: string }) => `${path} ${code}`),
      ["connector REQUIRED", "customerId REQUIRED"]
    )
  })
})

describe("a refusal tells the client what to send", () => {
  const secret = "sk_live_canary_of_the_refused"
  const told: ReadonlyArray<readonly [string, string, unknown, string]> = [
    ["GET", "/api/v1/connectors?kind=banana", undefined, 'kind must be "ecommerce", "payments",'],
    ["GET", "/api/v1/connectors?page_size=1&page_size=2", undefined, "page_size must be sent only once"],
    ["GET", "/api/v1/connectors?page_size=ten", undefined, "page_size must be a number"],
    ["GET", "/api/v1/connectors/stripe?version=9.9.9", undefined, "there is no such published version"],
    ["POST", "/api/v1/connectors", { import: { format: "wsdl" } }, "import.format must be"],
    ["POST", "/api/v1/connectors", { svcConnector: 1, slug: secret.repeat(9) }, "slug must be lower-case letters"],
    ["POST", "/api/v1/connections", { connector: "stripe", customerId: 1, credential: secret }, "customerId must be"],
    ["POST", "/api/v1/connections", [secret], "the body must be an object"],
    ["GET", "/api/v1/config?environment=mars", undefined, "environment names no environment"],
    ["PUT", "/api/v1/config", { level: "saas", key: "1", value: 1 }, "key must begin with a letter"],
    ["PUT", "/api/v1/config", { level: "integration", scopeId: "A B", key: "a", value: 1 }, "scopeId is not the slug"]
  ]
  it.each(told)("%s %s %j", async (method, path, body, expected) => {
    const answer = await svc.ask(method, path, { key: svc.first.key, ...(body === undefined ? {} : { body }) })
    assert.include([400, 404, 422], answer.status)
    assert.include(answer.body.message, expected)
    assert.notInclude(answer.text, secret, "what was sent is not repeated: it may be a secret")
    assert.notInclude(answer.text, "undefined")
  })

  it("If-Match shows its form", async () => {
    const path = `/api/v1/customers/${svc.first.customerId}`
    const answer = await svc.ask("PUT", path, {
      key: svc.first.key,
      body: { name: "x" },
      headers: { "if-match": "banana" }
    })
    assert.deepStrictEqual([answer.status, answer.body.code], [400, "INVALID_HEADER"])
    assert.include(answer.body.message, 'as in "3"')
  })

  it("a connection that waits for its customer says how it is connected", async () => {
    const body = { connector: "stripe", customerId: svc.first.customerId }
    const { id } = (await svc.ask("POST", "/api/v1/connections", { key: svc.first.key, body })).body.data
    for (const order of ["refresh", "enable", "disable", "test", "reveal"]) {
      const answer = await svc.ask("POST", `/api/v1/connections/${id}/${order}`, { key: svc.first.key })
      assert.deepStrictEqual([answer.status, answer.body.code], [409, "INVALID_STATE"])
      assert.include(answer.body.message, "POST /connections/", order)
    }
  })
})
