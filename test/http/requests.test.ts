import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { request } from "node:http"
import { connect } from "node:net"
import { type Answer, type Ask, type Running, start } from "../support/InProcess.js"

let svc: Running
let key: string
let execute: string
beforeAll(async () => {
  svc = await start()
  key = svc.first.key
  execute = `/api/v1/workflows/${svc.first.workflowId}/execute`
})
afterAll(() => svc.stop())

const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`

/** Routes with a body: a typed endpoint and the thin route. */
const places = ["POST /api/v1/customers", "PUT /api/v1/customers/:cid", "POST execute"] as const
type Place = (typeof places)[number]

const post = (place: Place, ask: Ask): Promise<Answer> => {
  const [method = "", path = ""] = place.split(" ")
  return svc.ask(method, path === "execute" ? execute : path.replace(":cid", svc.first.customerId), { key, ...ask })
}

const json = { "content-type": "application/json" }

/** The form of every error. */
const assertError = ({ body, headers, status }: Answer, expected: number, code: string) => {
  assert.deepStrictEqual([status, body.code, body.statusCode], [expected, code, expected])
  assert.match(body.requestId, /^req_[0-9a-z]{26}$/)
  assert.strictEqual(headers["x-request-id"], body.requestId)
  assert.isArray(body.details)
  assert.isAbove(body.message.length, 5)
  assert.isBoolean(body.retryable)
  for (const name of ["limit", "remaining", "reset"]) assert.match(headers[`x-ratelimit-${name}`] ?? "", /^\d+$/)
}

describe.each(places)("%s", (place) => {
  const malformed = [
    "{",
    "}",
    "[1,",
    '{"name":}',
    "{'name':1}",
    "nul",
    '"abc',
    '{"a":1,}',
    "\u{feff}{}x",
    "NaN",
    "{} {}",
    "\u0000",
    "0x10"
  ]
  it.each(malformed)("malformed JSON %j is a 400", async (raw) => {
    assertError(await post(place, { raw, headers: json }), 400, "INVALID_REQUEST")
  })

  it.each([
    [0xff, 0xfe],
    [0x22, 0xc3, 0x28, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22]
  ])("bytes that are no UTF-8 are a 400: %s %s", async (...bytes) => {
    assertError(await post(place, { raw: Uint8Array.from(bytes), headers: json }), 400, "INVALID_REQUEST")
  })

  it.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    ""
  ])("the content type %j is a 415", async (type) =>
    assertError(await post(place, { raw: "{}", headers: { "content-type": type } }), 415, "UNSUPPORTED_MEDIA_TYPE")
  )

  it.each(["[]", "1", '"text"', "true", "null"])("%s instead of an object is a 422", async (raw) => {
    assertError(await post(place, { raw, headers: json }), 422, "VALIDATION_FAILED")
  })

  it("an unknown member is a 422 that names it", async () => {
    const answer = await post(place, { body: { nmae: "x", name: "y" } })
    assertError(answer, 422, "UNKNOWN_FIELD")
    assert.deepInclude(answer.body.details[0], {
      path: place === "POST execute" ? "nmae" : "nmae",
      code: "UNKNOWN_FIELD"
    })
  })

  it.each(['"a\\u0000b"', '"\\ud800"', '"\\udc00x"', '{"\\u0000":1}', '{"\\udfff":1}', "1e999"])(
    "%s cannot be stored: a 422 that says where",
    async (value) => {
      const inside =
        place === "POST execute" ? `{"input":{"x":[${value}]}}` : `{"name":"n","metadata":{"x":[${value}]}}`
      const answer = await post(place, { raw: inside, headers: json })
      assertError(answer, 422, "VALIDATION_FAILED")
      assert.strictEqual(answer.body.details[0].code, "NOT_STORABLE")
      assert.match(answer.body.details[0].path, /^(input|metadata)\.x\[0\]/)
    }
  )

  it.each([65, 1_000, 100_000])("nesting of %d levels is a 422", async (levels) => {
    const inside = place === "POST execute" ? `{"input":${deep(levels)}}` : `{"name":"n","metadata":${deep(levels)}}`
    assertError(await post(place, { raw: inside, headers: json }), 422, "VALIDATION_FAILED")
  })

  it("a member called __proto__ pollutes nothing", async () => {
    const answer = await post(place, {
      raw: '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
      headers: json
    })
    assert.strictEqual(answer.status, 422)
    assert.notProperty({}, "polluted")
  })

  it("a body over the limit is a 413", async () => {
    const answer = await post(place, { raw: JSON.stringify({ name: "x".repeat(2 * 1024 * 1024 + 1) }), headers: json })
    assertError(answer, 413, "PAYLOAD_TOO_LARGE")
  })
})

describe("values of the wrong type", () => {
  const wrong: ReadonlyArray<readonly [string, unknown, string]> = [
    ["name", 1, "name"],
    ["name", null, "name"],
    ["name", {}, "name"],
    ["slug", "Not A Slug", "slug"],
    ["metadata", [], "metadata"],
    ["status", "asleep", "status"],
    ["limits", { flows_per_tenant: "many" }, "limits.flows_per_tenant"],
    ["externalRef", "x".repeat(500), "externalRef"]
  ]
  it.each(wrong)("%s: %j is a 422 at %s", async (member, value, path) => {
    const answer = await post("POST /api/v1/customers", { body: { name: "n", [member]: value } })
    assertError(answer, 422, "VALIDATION_FAILED")
    assert.isTrue(
      answer.body.details.some((one: { path: string }) => one.path.startsWith(path)),
      answer.text
    )
  })

  it.each([
    ["input", []],
    ["input", "x"],
    ["metadata", 1],
    ["environment", 1],
    ["draft", "yes"],
    ["callback", {}],
    ["callback", { url: 1 }]
  ])("execute with %s: %j is a 422", async (member, value) =>
    assertError(await post("POST execute", { body: { [member]: value } }), 422, "VALIDATION_FAILED")
  )

  it.each(["page_size=x", "page_size=0", "page_size=-1", "page_size=1.5", "status=asleep", "created_after=yesterday"])(
    "GET ?%s is a 400",
    async (query) => {
      assertError(await svc.ask("GET", `/api/v1/customers?${query}`, { key }), 400, "INVALID_REQUEST")
    }
  )

  it("an unknown query parameter is ignored, a page is at most 200", async () => {
    const { body, status } = await svc.ask("GET", "/api/v1/customers?surprise=1&page_size=5000", { key })
    assert.deepStrictEqual([status, body.page.size], [200, 200])
  })

  it.each(["%", "%zz", "%00", "..%2f..", "a".repeat(300), "cus_%F0%9F%92%A9", "'; DROP TABLE customers; --"])(
    "the id %j is nobody's",
    async (id) => {
      const { status } = await svc.ask("GET", `/api/v1/customers/${id}`, { key })
      assert.include([400, 404], status)
    }
  )
})

describe("paths and methods", () => {
  it.each([
    "/",
    "/api",
    "/api/v1",
    "/api/v1/nothing",
    "/api/v2/customers",
    "/api/v1/customers/a/b/c",
    "//api/v1/customers",
    "/API/V1/CUSTOMERS"
  ])("%s is a 404", async (path) => assertError(await svc.ask("GET", path, { key }), 404, "NOT_FOUND"))

  it.each([
    ["DELETE", "/api/v1/customers", "GET, POST"],
    ["PATCH", "/api/v1/api-keys/x", "GET, PUT, DELETE"],
    ["POST", "/api/v1/audit", "GET"],
    ["DELETE", "/api/v1/audit", "GET"]
  ])("%s %s is a 405 that tells what is allowed", async (method, path, allow) => {
    const answer = await svc.ask(method, path, { key })
    assertError(answer, 405, "METHOD_NOT_ALLOWED")
    assert.strictEqual(answer.headers["allow"], allow)
  })

  it.each(["execute", "run"])("GET …/%s is a 405", async (what) => {
    const answer = await svc.ask("GET", `/api/v1/workflows/${svc.first.workflowId}/${what}`, { key })
    assertError(answer, 405, "METHOD_NOT_ALLOWED")
    assert.strictEqual(answer.headers["allow"], "POST")
  })
})

describe("on a real connection", () => {
  let port: number
  beforeAll(async () => {
    port = (await svc.listen()).port
  })

  /** Sends a body of this size; resolves with the answer and the number of bytes sent before it. */
  const upload = (path: string, megabytes: number, announced: boolean) =>
    new Promise<{ readonly status: number; readonly body: string; readonly sent: number }>((resolve, reject) => {
      const chunk = Buffer.alloc(1024 * 1024, 0x20)
      let sent = 0
      const out = request(
        {
          port,
          host: "127.0.0.1",
          method: "POST",
          path,
          headers: {
            "content-type": "application/json",
            authorization: `Bearer ${key}`,
            ...(announced ? { "content-length": megabytes * chunk.length } : {})
          }
        },
        (answer) => {
          let body = ""
          answer
            .setEncoding("utf8")
            .on("data", (part) => (body += part))
            .on("end", () => resolve({ status: answer.statusCode ?? 0, body, sent }))
        }
      )
      out.on("error", reject)
      const next = () => {
        if (sent >= megabytes || out.destroyed) return out.end()
        sent++
        out.write(chunk, (error) => (error === undefined || error === null ? next() : undefined))
      }
      next()
    })

  it.each([
    ["/api/v1/customers", true],
    ["/api/v1/customers", false],
    ["execute", true],
    ["execute", false]
  ])("100 MB to %s (announced: %s) are refused with 413", async (path, announced) => {
    const { body, status } = await upload(path === "execute" ? execute : path, 100, announced)
    assert.deepStrictEqual([status, JSON.parse(body).code], [413, "PAYLOAD_TOO_LARGE"])
    assert.match(JSON.parse(body).requestId, /^req_[0-9a-z]{26}$/)
  })

  const raw = (text: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(port, "127.0.0.1", () => socket.write(text))
      let got = ""
      socket
        .setEncoding("utf8")
        .on("data", (part) => (got += part))
        .on("close", () => resolve(got))
        .on("error", reject)
    })

  it("headers over 32 KiB are a 431, invalid HTTP is a 400", async () => {
    assert.match(
      await raw(`GET /api/v1/customers HTTP/1.1\r\nhost: x\r\nx-long: ${"x".repeat(40_000)}\r\n\r\n`),
      /^HTTP\/1\.1 431 /
    )
    assert.match(await raw("HELLO\r\n\r\n"), /^HTTP\/1\.1 400 /)
  })

  it.each(["\u0001", "\u007f", "\t tab", "caf\u00e9", "\ud83d\udca9"])(
    "a header of odd characters %j is no error of ours",
    async (odd) => {
      const answer = await raw(
        `GET /api/v1/customers HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${key}\r\nx-odd: ${odd}\r\n\r\n`
      )
      assert.match(answer, /^HTTP\/1\.1 (200|400) /)
    }
  )

  it.each([
    "OPTIONS *",
    "TRACE /api/v1/customers",
    "GET http://x/api/v1/customers",
    "PURGE /",
    "GET /api/v1/customers?%",
    "GET /api/v1/customers#x"
  ])("%s is no error of ours", async (line) => {
    const answer = await raw(`${line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${key}\r\n\r\n`)
    assert.match(answer, /^HTTP\/1\.1 [24]\d\d /)
  })

  it("a client that disconnects in the middle of its body leaves nothing behind", async () => {
    await new Promise<void>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => {
        socket.write(
          `POST /api/v1/customers HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"na`,
          () => socket.destroy()
        )
      })
      socket.on("close", () => resolve())
    })
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/customers`, {
      headers: { authorization: `Bearer ${key}` }
    })
    assert.strictEqual(answer.status, 200)
  })

  it("HEAD of a page has its headers and no body; a trailing slash is the same path", async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/openapi/c.json`, { method: "HEAD" })
    assert.deepStrictEqual([answer.status, await answer.text()], [200, ""])
    assert.strictEqual(
      (await fetch(`http://127.0.0.1:${port}/api/v1/customers/`, { headers: { "x-svc-api-key": key } })).status,
      200
    )
  })
})
