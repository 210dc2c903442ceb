/** Request bodies: a sender without a valid key gets only a small buffer, and all bodies together are bounded. */
import { connect, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Unauthorized } from "../../src/domain/Failure.js"
import { incomingBody } from "../../src/domain/Limits.js"
import { failureReply } from "../../src/http/ErrorRows.js"
import { jsonReply, type RequestHead } from "../../src/http/Wire.js"
import { type Handlers, serve } from "../../src/runtime/http/NodeServer.js"
import { ByteLedger } from "../../src/runtime/memory/ByteLedger.js"
import { eventually } from "../support/eventually.js"
import { counted } from "../support/promises.js"
import { ownerOf } from "../support/shareOwners.js"

const KiB = 1024
const MiB = 1024 * KiB

const nobody = new Unauthorized({ code: "UNAUTHORIZED", message: "no API key" })

/** The header `x-who` is the key; the answer has the length of the body. */
const handlers: Handlers = {
  execute: (request) => Effect.succeed(jsonReply(200, { bytes: request.body.byteLength })),
  handle: (request) => Effect.succeed(jsonReply(200, { bytes: request.body.byteLength })),
  webhook: () => Effect.dieMessage("no test asks for it"),
  proxy: () => Effect.succeed(jsonReply(200, {})),
  recognise: ({ headers }: RequestHead) =>
    Effect.succeed(
      headers["x-who"] === undefined
        ? { _tag: "Failed", failure: nobody }
        : { _tag: "Known", holder: ownerOf(headers["x-who"]) }
    ),
  addressOf: ({ headers, remoteAddress }) => headers["x-from"] ?? remoteAddress,
  refused: (failure) => Effect.succeed(failureReply(failure, "req_test", 0))
}

/** A server whose bodies may use `budget` bytes of memory together, and connections to it. */
const serving = (budget: number) =>
  Effect.gen(function* () {
    const ledger = new ByteLedger({ bytes: 4 * budget, bodyBytes: budget })
    const bodiesHeld = () => {
      const { arriving, bodies } = ledger.readings().held
      return arriving + bodies
    }
    const listening = yield* serve(handlers, { host: "127.0.0.1", port: 0, ledger })
    const server = { ...listening, bodiesHeld }
    const open = () =>
      Effect.acquireRelease(
        Effect.sync(() => new Client(connect(server.port, "127.0.0.1"))),
        (client) => Effect.sync(() => client.socket.destroy())
      )
    return { server, open }
  })

class Client {
  got = ""
  closed = false
  constructor(readonly socket: Socket) {
    socket.setEncoding("latin1").on("data", (text: string) => (this.got += text))
    socket.on("error", () => undefined).on("close", () => (this.closed = true))
  }
  send(lines: ReadonlyArray<string>, body: Uint8Array | string = "") {
    this.socket.write([...lines, "", ""].join("\r\n"))
    this.socket.write(body)
  }
  readonly answer = (status: number, millis?: number) =>
    Effect.promise(() =>
      eventually(
        async () => this.got,
        (text) => text.includes(`HTTP/1.1 ${status} `),
        millis
      )
    )
  readonly end = () =>
    Effect.promise(() =>
      eventually(
        async () => this.closed,
        (closed) => closed
      )
    )
}

const post = (length: number | "chunked", more: ReadonlyArray<string> = []) => [
  "POST /api/v1/workflows/wf_000000000000/execute HTTP/1.1",
  "host: svc",
  length === "chunked" ? "transfer-encoding: chunked" : `content-length: ${length}`,
  ...more
]

const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n`

describe("a body", () => {
  it.scopedLive("whose content-length is too large is refused by its head, and its connection is closed", () =>
    Effect.gen(function* () {
      const { open, server } = yield* serving(64 * MiB)
      for (const more of [["x-who: a"], ["expect: 100-continue"], []]) {
        const client = yield* open()
        client.send(post(100 * MiB, more))
        const got = yield* client.answer(413)
        assert.include(got.toLowerCase(), "connection: close")
        assert.notInclude(got, "100 Continue")
        yield* client.end()
      }
      const flooding = yield* open()
      flooding.send(post(100 * MiB, ["x-who: a"]))
      let taken = 0
      const pump = () => {
        while (!flooding.closed && taken < 100 * MiB && flooding.socket.write(Buffer.alloc(64 * KiB))) taken += 64 * KiB
      }
      flooding.socket.on("drain", pump)
      pump()
      yield* flooding.end()
      assert.isBelow(taken, 20 * MiB)
      assert.strictEqual(server.bodiesHeld(), 0)
    })
  )

  it.scopedLive("of an unknown sender is not read beyond a small part, with and without a content-length", () =>
    Effect.gen(function* () {
      const { open, server } = yield* serving(64 * MiB)
      const told = yield* open()
      told.send(post(MiB))
      yield* told.answer(401)
      const chunked = yield* open()
      chunked.send(post("chunked"), chunk(incomingBody.unrecognisedBytes / 2))
      chunked.socket.write(chunk(incomingBody.unrecognisedBytes))
      yield* chunked.answer(401)
      for (const client of [told, chunked]) yield* client.end()
      assert.strictEqual(server.bodiesHeld(), 0)
    })
  )

  it.scopedLive(
    "of a known sender is read completely: in one chunk, in many, in very small ones, and after 100-continue",
    () =>
      Effect.gen(function* () {
        const { open, server } = yield* serving(64 * MiB)
        const ways: ReadonlyArray<readonly [Parameters<typeof post>, string, number]> = [
          [[MiB, ["x-who: a"]], "x".repeat(MiB), MiB],
          [["chunked", ["x-who: a"]], `${chunk(MiB)}0\r\n\r\n`, MiB],
          [["chunked", ["x-who: a"]], `${chunk(1).repeat(100_000)}0\r\n\r\n`, 100_000],
          [[MiB, ["x-who: a", "expect: 100-continue"]], "x".repeat(MiB), MiB],
          [
            [incomingBody.unrecognisedBytes],
            "x".repeat(incomingBody.unrecognisedBytes),
            incomingBody.unrecognisedBytes
          ],
          [["chunked"], "0\r\n\r\n", 0]
        ]
        const clients: Array<Client> = []
        for (const [head, body, bytes] of ways) {
          const client = yield* open()
          clients.push(client)
          client.send(post(...head), body)
          assert.include(yield* client.answer(200), `"bytes":${bytes}`)
          client.socket.destroy()
        }
        yield* Effect.promise(() =>
          counted({
            what: "the memory of a body is not given back",
            ask: async () => server.bodiesHeld(),
            found: (held) => held === 0,
            underWay: async () => clients.filter(({ closed }) => !closed).length
          })
        )
      })
  )

  it.scopedLive("of one sender too many is a 503 with Retry-After, and another sender's is read", () =>
    Effect.gen(function* () {
      const { open, server } = yield* serving(4 * MiB)
      // A quarter of the budget is one sender's: the second does not fit.
      const first = yield* open()
      first.send(post(MiB, ["x-who: greedy"]), "x")
      yield* Effect.promise(() =>
        eventually(
          async () => server.bodiesHeld(),
          (held) => held >= MiB
        )
      )
      const second = yield* open()
      second.send(post(MiB, ["x-who: greedy"]), "x")
      const got = yield* second.answer(503)
      assert.match(got.toLowerCase(), /retry-after: \d/)
      const other = yield* open()
      other.send(post(MiB, ["x-who: modest"]), "x".repeat(MiB))
      yield* other.answer(200)
    })
  )

  it.scopedLive("of five hundred unknown senders costs no more than its small part of the budget", () =>
    Effect.gen(function* () {
      const budget = 8 * MiB
      const { open, server } = yield* serving(budget)
      const clients = yield* Effect.replicateEffect(open(), 500)
      for (const client of clients) client.send(post("chunked"), chunk(48 * KiB))
      yield* Effect.promise(() =>
        eventually(
          async () => clients.filter(({ got }) => got.includes(" 503 ")).length,
          (refused) => refused > 400
        )
      )
      assert.isAtMost(server.bodiesHeld(), budget / 4 / 4)
      const elsewhere = yield* open()
      elsewhere.send(post(10, ["x-from: 192.0.2.1"]), "0123456789")
      yield* elsewhere.answer(200)
    })
  )

  it.scopedLive("and a head that do not arrive in time end their connection", () =>
    Effect.gen(function* () {
      const { open, server } = yield* serving(8 * MiB)
      const began = Date.now()
      const head = yield* open()
      head.socket.write("POST / HTTP/1.1\r\nhost: svc\r\n")
      const body = yield* open()
      body.send(post(100), "x")
      yield* head.answer(408)
      assert.isAbove(Date.now() - began, 9_000)
      yield* body.answer(400, 90_000)
      assert.include(body.got, "did not come within 30 s")
      yield* body.end()
      assert.strictEqual(server.bodiesHeld(), 0)
    })
  )
})

describe("a request", () => {
  it.scopedLive.each([
    ["two Host headers", "GET /healthz HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n"],
    ["HTTP/0.9", "GET /healthz\r\n\r\n"],
    ["no Host", "GET /healthz HTTP/1.1\r\n\r\n"]
  ])("with %s is a 400", ([, text]) =>
    Effect.gen(function* () {
      const { open } = yield* serving(8 * MiB)
      const client = yield* open()
      client.socket.write(text ?? "")
      yield* client.answer(400)
      yield* client.end()
    })
  )
})
