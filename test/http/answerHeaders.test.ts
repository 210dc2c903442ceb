/**
 * Every answer of every surface, also those to what is no request at all, is the product's: no browser takes it for something
 * else than it is, and a document that is no page of the service runs nothing.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { connect } from "node:net"
import { operations } from "../support/operations.js"
import { malformedAnswer } from "../../src/runtime/http/IncomingHead.js"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"

let svc: Running
let port: number
let own: Awaited<ReturnType<Running["organisation"]>>
beforeAll(async () => {
  svc = await start()
  own = await svc.organisation("Headers", "enterprise")
  port = (await svc.listen()).port
})
afterAll(() => svc.stop())

/** The status and headers of an answer, of which nothing else is read. */
const headOf = async (method: string, path: string) => {
  const surfaceB = /^\/api\/v1\/(?:tenants|clients)\//.test(path)
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    redirect: "manual",
    headers: surfaceB
      ? { "x-svc-api-key": own.key, "x-svc-space-id": own.spaceId }
      : { authorization: `Bearer ${own.key}` }
  })
  await response.body?.cancel()
  return response
}

const unasked = "/api/v1/proxy/none"
const endpoints = operations.map(({ method, path }) => [method, path.replace(/:\w+|\*/g, "none")] as const)
const pages = [
  "/",
  "/docs",
  "/docs/none",
  "/console/",
  "/console/none.js",
  "/embed/start",
  "/embed/none.js",
  "/api/v1/embed/iframe",
  "/healthz",
  "/readyz",
  "/metrics",
  "/login",
  "/invite",
  "/approve/none",
  "/connect/none",
  "/oauth/callback",
  "/none",
  "/api/v1/openapi.json",
  unasked
].map((path) => ["GET", path] as const)

describe("every answer", () => {
  it.each([...endpoints, ...pages])("to %s %s is taken for what it is", async (method, path) => {
    const { headers, status } = await headOf(method, path)
    assert.strictEqual(headers.get("x-content-type-options"), "nosniff", `${status}`)
    const isDocument = /html|svg|xml/.test(headers.get("content-type") ?? "")
    if (isDocument) assert.include(headers.get("content-security-policy") ?? "", "default-src 'none'", `${status}`)
  })

  it("that is a picture runs no script", async () => {
    const key = own.key
    const run = await svc.ask("POST", `/api/v1/workflows/${own.workflowId}/execute`, { key, body: { input: {} } })
    const execution = run.headers["x-svc-execution-id"] ?? ""
    await eventually(
      () => headOf("GET", `/api/v1/executions/${execution}/diagram.svg`),
      ({ status }) => status === 200
    )
    for (const path of [`workflows/${own.workflowId}`, `executions/${execution}`]) {
      const { headers, status } = await headOf("GET", `/api/v1/${path}/diagram.svg`)
      assert.deepStrictEqual([status, headers.get("content-type")], [200, "image/svg+xml"], path)
      assert.strictEqual(
        headers.get("content-security-policy"),
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
      )
    }
  })
})

/** What the server answers to these bytes until it closes the connection. */
const answerTo = (bytes: string) =>
  new Promise<{ readonly status: number; readonly head: string; readonly body: string }>((resolve, reject) => {
    let got = ""
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes, "latin1"))
    socket
      .setEncoding("utf8")
      .on("data", (part) => (got += part))
      .on("close", () => {
        const end = got.indexOf("\r\n\r\n")
        const head = got.slice(0, end)
        resolve({ status: Number(/^HTTP\/1\.1 (\d+) /.exec(head)?.[1]), head, body: got.slice(end + 4) })
      })
      .on("error", reject)
  })

const lines = (...head: ReadonlyArray<string>) => `${head.join("\r\n")}\r\n\r\n`
const bearer = () => `authorization: Bearer ${own.key}`
const socketHead = (...more: ReadonlyArray<string>) =>
  lines("GET /api/v1/rpc HTTP/1.1", "host: x", "upgrade: websocket", "connection: upgrade", ...more)

describe("a request that node:http or a library would answer by itself", () => {
  it.each<readonly [string, () => string, number]>([
    ["no request", () => "HELLO\r\n\r\n", 400],
    ["a request line without a version of HTTP", () => "GET /\r\n\r\n", 400],
    ["the preface of HTTP/2", () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
    ["no Host", () => lines("GET /healthz HTTP/1.1", "connection: close"), 400],
    ["two Hosts", () => lines("GET /healthz HTTP/1.1", "host: x", "host: y"), 400],
    ["another expectation", () => lines("GET /api/v1/customers HTTP/1.1", "host: x", bearer(), "expect: x"), 400],
    [
      "another expectation of a body",
      () => lines("POST /api/v1/customers HTTP/1.1", "host: x", bearer(), "expect: x", "content-length: 2"),
      400
    ],
    [
      "another expectation of a flow",
      () => lines("POST /api/v1/some_flow HTTP/1.1", "host: x", "expect: 200-ok", "content-length: 2"),
      400
    ],
    ["headers that are too large", () => lines("GET / HTTP/1.1", "host: x", `x-long: ${"x".repeat(40_000)}`), 431],
    [
      "a body of two lengths",
      () => lines("POST /api/v1/customers HTTP/1.1", "host: x", "content-length: 1", "content-length: 2"),
      400
    ],
    ["a tunnel", () => lines("CONNECT example.com:443 HTTP/1.1", "host: example.com:443"), 400],
    ["a connection without a key", () => socketHead(), 401],
    ["a connection without its key of WebSocket", () => socketHead(bearer(), "sec-websocket-version: 13"), 400],
    [
      "a connection of another version of WebSocket",
      () => socketHead(bearer(), "sec-websocket-version: 7", "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA=="),
      400
    ],
    ["a connection with another expectation", () => socketHead(bearer(), "expect: x"), 400]
  ])("%s: is answered as any error", async (_, bytes, expected) => {
    const { body, head, status } = await answerTo(bytes())
    assert.strictEqual(status, expected, head)
    assert.match(head, /\r\nx-content-type-options: nosniff(?:\r\n|$)/i)
    assert.match(head, /\r\ncontent-type: application\/json; charset=utf-8(?:\r\n|$)/i)
    const error = JSON.parse(body)
    assert.includeMembers(Object.keys(error), ["code", "statusCode", "message", "requestId", "retryable", "details"])
    assert.deepStrictEqual([error.statusCode, typeof error.message], [expected, "string"])
  })

  it("a request that comes too slowly: is answered as any error", () => {
    const late = Object.assign(new Error("late"), { code: "ERR_HTTP_REQUEST_TIMEOUT" })
    const { body, status } = malformedAnswer(late)
    assert.deepInclude(JSON.parse(`${body}`), { statusCode: 408, code: "INVALID_REQUEST", details: [] })
    assert.strictEqual(status, 408)
  })
})
