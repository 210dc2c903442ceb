/** The typed RPC answers as the REST surfaces do, for the caller who opened its connection, and whatever comes. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { connect as connectTo } from "node:net"
import { eventually } from "../support/eventually.js"
import { type Running, start } from "../support/InProcess.js"
import { makeKey } from "../support/keys.js"
import { connectRpc, itemOf, openRpc, type RawRpc, type RpcStream } from "../support/rpc.js"

let svc: Running
let baseUrl: string
let rpc: RawRpc
const opened = new Set<RawRpc>()
const connect = async (key = svc.first.key, headers: { readonly [name: string]: string } = {}) => {
  const one = await connectRpc(baseUrl, key, headers)
  opened.add(one)
  return one
}
beforeAll(async () => {
  svc = await start()
  baseUrl = (await svc.listen()).baseUrl
  rpc = await connect()
})
afterAll(async () => {
  await Promise.all([...opened].map(({ close }) => close()))
  await svc.stop()
})

/** Sends lines over a connection of its own, and resolves with the head of the answer. */
const plainRequest = (port: number, lines: ReadonlyArray<string>) =>
  new Promise<string>((resolve, reject) => {
    const socket = connectTo(port, "127.0.0.1", () => socket.write(lines.join("\r\n")))
    socket.once("data", (data) => {
      resolve(data.toString())
      socket.destroy()
    })
    socket.once("error", reject)
  })

/** Whether a stream begins, or is refused. */
const itemOrEnd = (stream: RpcStream) =>
  Promise.race([itemOf(stream, () => true).then(() => "told"), stream.ended.then(() => "ended")])

let made = 0
const workflow = async (code: string, tier: "instant" | "standard") => {
  const saved = await svc.ask("POST", "/api/v1/workflows", {
    key: svc.first.key,
    body: { name: `flow_${(made += 1)}`, form: "code", code, tier }
  })
  assert.strictEqual(saved.status, 201, saved.text)
  await svc.ask("POST", `/api/v1/workflows/${saved.body.data.id}/publish`, { key: svc.first.key, body: {} })
  return String(saved.body.data.id)
}

describe("runs", () => {
  it("are started and awaited in one", async () => {
    const { value } = await rpc.call("executions.run", { workflowId: svc.first.workflowId, input: { name: "Ada" } })
    const record = (await svc.ask("GET", `/api/v1/executions/${value.executionId}`, { key: svc.first.key })).body.data
    assert.deepStrictEqual(value, {
      executionId: record.id,
      status: "completed",
      statusReason: null,
      output: record.output,
      error: null
    })
  })

  it("that fail are an outcome, and no failure of the call", async () => {
    const id = await workflow(`export default async () => { throw new TypeError("no") }`, "instant")
    const { value } = await rpc.call("executions.run", { workflowId: id })
    assert.deepInclude(value, { status: "failed", output: null })
    assert.deepInclude(value.error, { name: "TypeError", message: "no" })
    assert.deepStrictEqual((await rpc.call("executions.await", { id: value.executionId })).value, value)
  })

  it("that take long are started, watched and awaited", async () => {
    const id = await workflow(
      `export default async (ctx) => { await new Promise((r) => setTimeout(r, 300)); return ctx.input }`,
      "standard"
    )
    const watch = rpc.stream("executions.watch")
    await itemOf(watch, ({ cursor }) => cursor !== null)
    const started = (await rpc.call("executions.start", { workflowId: id, input: { a: 1 } })).value
    assert.deepInclude(started, { status: "pending", tier: "standard" })
    const awaited = (await rpc.call("executions.await", { id: started.executionId })).value
    assert.deepStrictEqual([awaited.status, awaited.output], ["completed", { a: 1 }])
    assert.deepStrictEqual((await rpc.call("executions.run", { workflowId: id, input: { a: 2 } })).value.output, {
      a: 2
    })
    await itemOf(watch, (item) => item.id === started.executionId && item.status === "completed")
    rpc.send({ _tag: "Interrupt", requestId: watch.id })
    await watch.ended
  })

  it("go on when their client does not want the answer any more", async () => {
    const id = await workflow(
      `export default async (ctx) => { await new Promise((r) => setTimeout(r, 300)); return ctx.input }`,
      "standard"
    )
    const connection = await connect()
    const interrupted = connection.call("executions.run", { workflowId: id, input: { a: 3 } })
    connection.send({ _tag: "Interrupt", requestId: "1" })
    assert.deepInclude((await interrupted).failure, { _tag: "Interrupt" })
    const left = connection.call("executions.run", { workflowId: id, input: { a: 4 } })
    connection.socket.terminate()
    await left
    const found = await eventually(
      async () => (await rpc.call("executions.list", { workflow_id: id, status: "completed" })).value.data,
      (data) => data.length === 2
    )
    const outputs = await Promise.all(
      found.map(
        async ({ id: run }: { readonly id: string }) => (await rpc.call("executions.await", { id: run })).value.output
      )
    )
    assert.sameDeepMembers(outputs, [{ a: 3 }, { a: 4 }])
  })

  it("start once for an idempotency key", async () => {
    const ask = { workflowId: svc.first.workflowId, input: { name: "Bo" }, idempotencyKey: "once" }
    const first = (await rpc.call("executions.run", ask)).value
    assert.deepStrictEqual((await rpc.call("executions.run", ask)).value, first)
    const other = (await rpc.call("executions.run", { ...ask, input: { name: "Cy" } })).failure
    assert.deepInclude(other, { _tag: "ValidationFailed", code: "IDEMPOTENCY_KEY_REUSED" })
  })
})

describe("records", () => {
  it("are those of REST, without their envelope", async () => {
    const made = (await svc.ask("POST", "/api/v1/customers", { key: svc.first.key, body: { name: "Globex" } })).body
      .data
    assert.deepStrictEqual((await rpc.call("tenants.get", { id: made.id })).value, made)
    const list = await svc.ask("GET", "/api/v1/customers?page_size=1", { key: svc.first.key })
    assert.deepStrictEqual((await rpc.call("tenants.list", { page_size: 1 })).value.data, list.body.data)
    assert.isArray((await rpc.call("tenants.usage", { customer: made.id })).value)
    const event = (await rpc.call("events.publish", { type: "a.b", payload: { n: 1 }, idempotencyKey: "e1" })).value
    assert.deepStrictEqual(
      (await rpc.call("events.publish", { type: "a.b", payload: { n: 1 }, idempotencyKey: "e1" })).value,
      event
    )
    assert.strictEqual((await rpc.call("events.list", { type: "a.b" })).value.data.length, 1)
  })

  it("are told of while they change, from a cursor on", async () => {
    const watch = rpc.stream("events.watch")
    const { cursor } = await itemOf(watch, (item) => item.cursor !== null)
    const { value } = await rpc.call("events.publish", { type: "a.c", payload: {} })
    const id = value.id ?? value.eventId
    await itemOf(watch, (item) => item.id === id)
    rpc.send({ _tag: "Interrupt", requestId: watch.id })
    await watch.ended
    const again = (await connect()).stream("events.watch", { cursor })
    await itemOf(again, (item) => item.id === id)
    const lost = rpc.stream("events.watch", { cursor: "nonsense" })
    assert.strictEqual((await itemOf(lost, () => true))._tag, "Gap")
  })
})

describe("a caller", () => {
  it("without a key, from a page, or with a wrong key is refused before the connection opens", async () => {
    const refused = async (headers: { readonly [name: string]: string }) => {
      const answer = await openRpc(baseUrl, headers)
      return "call" in answer ? assert.fail("is connected") : [answer.status, answer.body.code]
    }
    assert.deepStrictEqual(await refused({}), [401, "UNAUTHORIZED"])
    assert.deepStrictEqual(await refused({ cookie: "svc_session=x" }), [401, "UNAUTHORIZED"])
    assert.deepStrictEqual(await refused({ authorization: `Bearer svk_live_${"x".repeat(43)}` }), [401, "UNAUTHORIZED"])
    const key = { authorization: `Bearer ${svc.first.key}` }
    assert.deepStrictEqual(await refused({ ...key, origin: "https://evil.example" }), [403, "FORBIDDEN"])
  })

  it("is who opened the connection, whatever headers a message has", async () => {
    const other = await svc.organisation("Other")
    const own = (await rpc.call("executions.list", {})).value.data.length
    assert.isAbove(own, 0)
    const id = "99"
    const answered = rpc.messages.length
    rpc.send({
      _tag: "Request",
      id,
      tag: "executions.list",
      payload: {},
      headers: [
        ["authorization", `Bearer ${other.key}`],
        ["x-svc-api-key", other.key]
      ]
    })
    await eventually(
      async () => rpc.messages.slice(answered).find(({ requestId }) => requestId === id),
      (found) => found !== undefined
    )
    const found = rpc.messages.slice(answered).find(({ requestId }) => requestId === id)
    assert.strictEqual(found?.exit.value.data.length, own)
  })

  it("whose key is revoked loses its connection", async () => {
    const { id, key } = await makeKey(svc, { preset: "custom", permissions: { executions: ["read"] } })
    const connection = await connect(key)
    assert.isDefined((await connection.call("executions.list")).value)
    await svc.ask("DELETE", `/api/v1/api-keys/${id}`, { key: svc.first.key })
    assert.strictEqual(await connection.closed, 4401)
  })

  it("lacks what its key lacks, call by call", async () => {
    const { key } = await makeKey(svc, { preset: "custom", permissions: { executions: ["read"] } })
    const connection = await connect(key)
    const { failure } = await connection.call("tenants.list")
    assert.deepInclude(failure, { _tag: "Forbidden", statusCode: 403, code: "FORBIDDEN", retryable: false })
    assert.match(failure.requestId, /^req_/)
    assert.isDefined((await connection.call("executions.list")).value)
  })
})

describe("what cannot be read", () => {
  it("of a payload is a failure of that call, and the connection goes on", async () => {
    const failureOf = async (tag: string, payload?: unknown) => (await rpc.call(tag, payload)).failure
    assert.deepInclude(await failureOf("executions.gett"), {
      _tag: "NotFound",
      message: "there is no such method. Did you mean executions.get?"
    })
    assert.deepInclude(await failureOf("executions.get", []), { _tag: "InvalidRequest", code: "INVALID_REQUEST" })
    assert.deepInclude(await failureOf("executions.get", { id: 5 }), { _tag: "InvalidRequest" })
    assert.deepInclude(await failureOf("executions.get", { id: "../../customers" }), { _tag: "NotFound" })
    assert.deepInclude(await failureOf("executions.list", { cursor: "x" }), {
      _tag: "InvalidRequest",
      code: "INVALID_CURSOR"
    })
    assert.deepInclude(await failureOf("executions.cancel", { id: "exec_x", more: 1 }), { _tag: "InvalidRequest" })
    assert.deepInclude(await failureOf("executions.watch", { cursor: 5 }), { _tag: "InvalidRequest" })
    assert.deepInclude(await failureOf("events.publish", { type: 5 }), { _tag: "ValidationFailed" })
    assert.deepInclude(await failureOf("tenants.get", { id: "cus_01k0000000000000000000000a" }), {
      _tag: "NotFound",
      statusCode: 404
    })
    assert.deepInclude(await failureOf("connections.call", { method: "GET", path: "/x" }), { _tag: "InvalidRequest" })
    assert.deepInclude(
      await failureOf("connections.call", {
        connector: "none",
        method: "GET",
        path: "x",
        headers: { "X-Svc-Space-Id": "y" }
      }),
      { _tag: "InvalidRequest" }
    )
    // By the names that the payload has, not by those of the headers that they become.
    for (const timeoutMs of [0, 60_001, 1.5, "5", true]) {
      const failure = await failureOf("connections.call", { connector: "none", method: "GET", path: "x", timeoutMs })
      assert.deepInclude(failure, {
        _tag: "InvalidRequest",
        message: "timeoutMs must be a whole number of milliseconds from 1 to 60000"
      })
    }
    assert.deepInclude(await failureOf("connections.call", { method: "GET", path: "x", customer: "no" }), {
      message: "there is no such customer"
    })
    assert.deepInclude(await failureOf("connections.call", { method: "GET", path: "x" }), {
      message: "connection must name the connection, or connector its connector and customer the customer"
    })
    assert.deepInclude(await failureOf("connections.call", { method: "GET", path: "x", "x-user-id": "u" }), {
      message: "x-user-id is no member of this method's payload"
    })
    const longKey = { workflowId: "wf_000000000000", idempotencyKey: "k".repeat(256) }
    assert.deepInclude(await failureOf("executions.start", longKey), {
      message: "idempotencyKey must have at most 255 characters"
    })
    rpc.sendText(
      `{"_tag":"Request","id":"77","tag":"events.publish","payload":{"type":"a.b","payload":${"[".repeat(50_000)}${"]".repeat(50_000)}},"headers":[]}`
    )
    await eventually(
      async () => rpc.messages.find(({ requestId }) => requestId === "77"),
      (found) => found !== undefined
    )
    assert.strictEqual(
      rpc.messages.find(({ requestId }) => requestId === "77")?.exit.cause.error.statusCode < 500,
      true
    )
    assert.isDefined((await rpc.call("executions.list")).value)
  })

  it.each([
    ["no JSON", "{", 1007],
    ["no message", "5", 1008],
    ["another tag", `{"_tag":"Hello"}`, 1008],
    ["a request without an id", `{"_tag":"Request","tag":"executions.list"}`, 1008],
    ["an id that is no number", `{"_tag":"Request","id":"__proto__","tag":"executions.list"}`, 1008],
    ["bytes", Buffer.from("{}"), 1003],
    ["the client's end", `{"_tag":"Eof"}`, 1000],
    ["more than a frame may have", `"${"x".repeat(7_000_000)}"`, 1009]
  ])("in a frame (%s) closes its connection alone", async (_, text, code) => {
    const connection = await connect()
    connection.sendText(text)
    assert.strictEqual(await connection.closed, code)
    assert.isDefined((await rpc.call("executions.list")).value)
  })

  it("because it is too large is a failure", async () => {
    const connection = await connect()
    const { failure } = await connection.call("events.publish", { type: "a.b", payload: "x".repeat(3_000_000) })
    assert.deepInclude(failure, { _tag: "PayloadTooLarge", statusCode: 413 })
    assert.isDefined((await connection.call("executions.list")).value)
  })
})

describe("a connection", () => {
  it("has so many calls and streams open, and no more", async () => {
    const connection = await connect((await makeKey(svc, {})).key)
    const calls = Array.from({ length: 150 }, () => connection.call("executions.list"))
    const answers = await Promise.all(calls)
    const refused = answers.filter(({ failure }) => failure?._tag === "TooManyCalls")
    assert.isAbove(refused.length, 0)
    assert.isAtMost(refused.length, 50)
    const streams = Array.from({ length: 1_001 }, () => connection.stream("executions.watch"))
    const last = await streams.at(-1)?.ended
    assert.deepInclude(last?.failure, { _tag: "TooManyCalls", code: "RATE_LIMITED", statusCode: 429 })
    assert.isDefined((await connection.call("executions.list")).value)
  })

  it("whose client goes leaves no stream behind", async () => {
    const { key } = await makeKey(svc, {})
    const connection = await connect(key)
    const streams = Array.from({ length: 1_000 }, () => connection.stream("executions.watch"))
    await itemOf(streams[999] ?? assert.fail(), () => true)
    const other = await connect(key)
    assert.deepInclude((await other.stream("executions.watch").ended).failure, { _tag: "TooManyWatches" })
    connection.socket.terminate()
    await eventually(
      async () => itemOrEnd(other.stream("executions.watch")),
      (end) => end === "told"
    )
  })
})

describe("a request that asks for another protocol", () => {
  it.each(["h2c", "websocket"])("is served as usual elsewhere, with its body (%s)", async (protocol) => {
    const { port } = new URL(baseUrl)
    const body = JSON.stringify({ type: "up.graded", payload: {} })
    const answer = await plainRequest(Number(port), [
      "POST /api/v1/events HTTP/1.1",
      "host: svc.test",
      "connection: Upgrade, HTTP2-Settings",
      `upgrade: ${protocol}`,
      "http2-settings: AAMAAABkAAQAAP__",
      `authorization: Bearer ${svc.first.key}`,
      "content-type: application/json",
      `content-length: ${body.length}`,
      "",
      body
    ])
    assert.match(answer, /^HTTP\/1.1 202 /)
  })
})
