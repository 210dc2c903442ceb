/** The check that tests apply to every answer of the HTTP API. */
import { assert, describe, it } from "@effect/vitest"
import { makeDocumentCheck } from "../support/documentCheck.js"

const violationOf = makeDocumentCheck()
const json = { "content-type": "application/json; charset=utf-8" }
const secret = {
  id: "sec_1",
  name: "TOKEN",
  type: "text",
  scope: { customerId: null, environment: null },
  createdAt: "2026-11-21T07:10:41.123Z",
  updatedAt: "2026-11-21T07:10:41.123Z",
  version: 1
}
const page = { size: 50, nextCursor: null, hasMore: false }
const ask = (body: unknown, status = 200, headers = json) =>
  violationOf("GET", "/api/v1/secrets?page_size=50", { status, headers, text: JSON.stringify(body) })

describe("an answer", () => {
  it("that the documents describe is not a violation", () => {
    assert.isUndefined(ask({ data: [secret], page }))
    assert.isUndefined(violationOf("DELETE", "/api/v1/secrets/sec_1", { status: 204, headers: {}, text: "" }))
    assert.isUndefined(violationOf("GET", "/api/v1/proxy/a/b", { status: 418, headers: {}, text: "tea" }))
    assert.isUndefined(violationOf("GET", "/api/v1/nowhere", { status: 404, headers: json, text: "{}" }))
  })

  it("with another status, type or form is a violation", () => {
    assert.match(ask({ data: [], page }, 201) ?? "", /201 is not told of/)
    assert.match(ask({ data: [], page }, 200, { "content-type": "text/html" }) ?? "", /is text\/html/)
    assert.match(ask({ data: [{ ...secret, version: "1" }], page }) ?? "", /version/)
    assert.match(ask({ data: [secret] }) ?? "", /page/)
    assert.match(ask({ data: [{ ...secret, value: "s3cr3t" }], page }) ?? "", /value/)
    assert.match(ask({ code: "NOT_FOUND" }, 404) ?? "", /statusCode/)
    assert.match(
      violationOf("DELETE", "/api/v1/secrets/sec_1", { status: 204, headers: json, text: "{}" }) ?? "",
      /told to have none/
    )
  })
})
