import type { Socket } from "node:net"
import { withEndlessMemory } from "../support/holdings.js"
import { brotliCompressSync, createGzip, deflateRawSync, deflateSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Either } from "effect"
import { Egress } from "../../src/actors/ports/Egress.js"
import { egressLayer, httpServer, rawServer, send, textOf } from "./egressServer.js"
import { organisation } from "../support/journal.js"
import { ownerOf } from "../support/shareOwners.js"

const tagOf = (result: Either.Either<unknown, { readonly _tag: string }>) =>
  Either.match(result, { onLeft: (failure) => failure._tag, onRight: () => "answered" })

const failing = (url: string, request: Parameters<typeof send>[1] = {}) =>
  Effect.map(Effect.either(send(url, request)), tagOf)

const onRequest = (reply: (socket: Socket) => void) =>
  rawServer((socket) => void socket.once("data", () => reply(socket)))

describe("a provider that misbehaves", () => {
  it.scoped("resets, closes or refuses: it is unreachable, and other requests succeed", () =>
    Effect.gen(function* () {
      const resets = yield* onRequest((socket) => socket.resetAndDestroy())
      const closes = yield* onRequest((socket) => socket.end())
      const halfway = yield* onRequest((socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"))
      const chunked = yield* onRequest((socket) =>
        socket.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")
      )
      const good = yield* httpServer((_, response) => response.end("fine"))
      const refused = yield* Effect.scoped(
        Effect.map(
          httpServer(() => undefined),
          (server) => server.origin
        )
      )
      for (const url of [resets.origin, closes.origin, halfway.origin, chunked.origin, refused]) {
        assert.strictEqual(yield* failing(url), "EgressUnreachable", url)
        assert.strictEqual(textOf(yield* send(good.origin)), "fine")
      }
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("a name that does not resolve, or not in time, is unreachable", () =>
    Effect.gen(function* () {
      const missing = () => Promise.reject(Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" }))
      const failure = yield* Effect.flip(send("http://gone.example/")).pipe(Effect.provide(egressLayer("", missing)))
      assert.deepInclude(failure, { _tag: "EgressUnreachable", reason: "the name does not exist" })
      const silent = () => new Promise<ReadonlyArray<string>>(() => undefined)
      const timed = failing("http://slow.example/", { timeout: Duration.millis(100) }).pipe(
        Effect.provide(egressLayer("", silent))
      )
      assert.strictEqual(yield* timed, "EgressTimedOut")
    })
  )

  it.scoped("never answers, or sends single bytes: the time limit holds for the whole exchange", () =>
    Effect.gen(function* () {
      const silent = yield* onRequest(() => undefined)
      const dripping = yield* httpServer((_, response) => {
        const timer = setInterval(() => response.write("x"), 20)
        response.on("close", () => clearInterval(timer))
      })
      const headers = yield* onRequest((socket) => {
        socket.write("HTTP/1.1 200 OK\r\nx-a: ")
        const timer = setInterval(() => socket.write("x"), 20)
        socket.on("close", () => clearInterval(timer))
      })
      for (const url of [silent.origin, dripping.origin, headers.origin]) {
        assert.strictEqual(yield* failing(url, { timeout: Duration.millis(200) }), "EgressTimedOut", url)
      }
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("the time limit covers redirects and their bodies together", () =>
    Effect.gen(function* () {
      const server = yield* httpServer((_, response) => {
        response.writeHead(302, { location: "/again" })
        const timer = setInterval(() => response.write("x"), 20)
        response.on("close", () => clearInterval(timer))
      })
      assert.strictEqual(
        yield* failing(server.origin, { redirects: 3, timeout: Duration.millis(200) }),
        "EgressTimedOut"
      )
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("an endless body fails as too large, and its connection is closed", () =>
    Effect.gen(function* () {
      const block = Buffer.alloc(64 * 1024, 97)
      const closed = { done: () => {} }
      const gone = new Promise<void>((resolve) => {
        closed.done = resolve
      })
      const server = yield* httpServer((_, response) => {
        const more = () => {
          while (response.write(block)) {
            /* until the socket is full */
          }
        }
        response.on("drain", more).on("close", closed.done)
        more()
      })
      const failure = yield* Effect.flip(send(server.origin))
      assert.deepInclude(failure, { _tag: "EgressTooLarge", limitBytes: 1024 * 1024 })
      yield* Effect.promise(() => gone).pipe(Effect.timeout(Duration.seconds(2)))
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("a body of exactly the cap is accepted, one byte more is not, with and without content-length", () =>
    Effect.gen(function* () {
      const server = yield* httpServer((request, response) => {
        const body = Buffer.alloc(1000)
        if (request.url === "/announced") response.setHeader("content-length", 1000)
        else response.flushHeaders()
        response.end(body)
      })
      for (const path of ["/announced", "/chunked"]) {
        assert.strictEqual((yield* send(server.origin + path, { maxBytes: 1000 })).body.length, 1000)
        assert.strictEqual(yield* failing(server.origin + path, { maxBytes: 999 }), "EgressTooLarge")
        assert.strictEqual((yield* send(server.origin + path, { method: "HEAD", maxBytes: 10 })).body.length, 0)
      }
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("a redirect with an endless body is followed", () =>
    Effect.gen(function* () {
      const server = yield* httpServer((request, response) => {
        if (request.url === "/end") return response.end("there")
        response.writeHead(302, { location: "/end" })
        const more = () => {
          while (response.write(Buffer.alloc(16 * 1024))) {
            /* until the socket is full */
          }
        }
        response.on("drain", more)
        more()
        return response
      })
      assert.strictEqual(textOf(yield* send(server.origin, { redirects: 1, maxBytes: 100 })), "there")
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("10,000 headers, or one of a megabyte, are refused", () =>
    Effect.gen(function* () {
      const many = yield* onRequest((socket) => socket.end(`HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(10_000)}\r\n`))
      const long = yield* onRequest((socket) => socket.end(`HTTP/1.1 200 OK\r\na: ${"b".repeat(1024 * 1024)}\r\n\r\n`))
      for (const [server, reason] of [
        [many, "the answer has more than 500 headers"],
        [long, "the answer's headers are larger than 32 KiB"]
      ] as const) {
        const result = yield* Effect.either(send(server.origin))
        assert.strictEqual(Either.isLeft(result) && "reason" in result.left ? result.left.reason : "answered", reason)
      }
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("what is not HTTP is unreachable", () =>
    Effect.gen(function* () {
      const answers = [
        "hello\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n",
        "\u0000\u0001\u0002",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n"
      ]
      for (const answer of answers) {
        const server = yield* onRequest((socket) => socket.end(answer))
        assert.strictEqual(yield* failing(server.origin), "EgressUnreachable", answer)
      }
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("bytes beyond the content-length do not leak into the next answer", () =>
    Effect.gen(function* () {
      const server = yield* onRequest((socket) =>
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")
      )
      for (let i = 0; i < 3; i++) assert.strictEqual(textOf(yield* send(server.origin)), "ok")
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("a request that waits for a connection and is cancelled is never sent", () =>
    Effect.gen(function* () {
      let served = 0
      const server = yield* httpServer(() => served++)
      const times = (count: number, millis: number) =>
        Array.from({ length: count }, () => failing(server.origin, { timeout: Duration.millis(millis) }))
      // 128 requests use all connections; the twelve that wait for one are refused first.
      const tags = yield* Effect.all([...times(128, 800), ...times(12, 200)], { concurrency: "unbounded" })
      assert.deepStrictEqual(tags, [
        ...Array.from({ length: 128 }, () => "EgressTimedOut"),
        ...Array.from({ length: 12 }, () => "EgressBusy")
      ])
      assert.strictEqual(served, 128)
      assert.strictEqual(yield* failing(server.origin, { timeout: Duration.millis(300) }), "EgressTimedOut")
      assert.strictEqual(served, 129)
    }).pipe(Effect.provide(egressLayer()))
  )
})

describe("compressed bodies", () => {
  const text = "the quick brown fox ".repeat(5_000)
  const forms: Readonly<Record<string, readonly [encoding: string, body: Buffer]>> = {
    gzip: ["gzip", gzipSync(text)],
    "x-gzip": ["X-GZIP", gzipSync(text)],
    deflate: ["deflate", deflateSync(text)],
    raw: ["deflate", deflateRawSync(text)],
    br: ["br", brotliCompressSync(text)],
    twice: ["gzip, br", brotliCompressSync(gzipSync(text))],
    identity: ["identity", Buffer.from(text)],
    unknown: ["zstd", Buffer.from("left alone")],
    inherited: ["constructor", Buffer.from("left alone")]
  }

  it.scoped("arrive decompressed, without the headers of the compressed form", () =>
    Effect.gen(function* () {
      const server = yield* httpServer((request, response) => {
        const [encoding, body] = forms[(request.url ?? "/").slice(1)] ?? ["", Buffer.alloc(0)]
        response.writeHead(200, { "content-encoding": encoding, "content-length": body.length })
        response.end(request.method === "HEAD" ? undefined : body)
      })
      for (const name of Object.keys(forms)) {
        const response = yield* send(`${server.origin}/${name}`)
        const untouched = ["identity", "unknown", "inherited"].includes(name)
        assert.strictEqual(textOf(response), untouched && name !== "identity" ? "left alone" : text, name)
        assert.strictEqual(
          response.headers.some(([header]) => header === "content-encoding"),
          untouched,
          name
        )
        assert.strictEqual((yield* send(`${server.origin}/${name}`, { method: "HEAD" })).body.length, 0)
      }
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("a bomb fails as too large, also one that never ends", () =>
    Effect.gen(function* () {
      const zeros = Buffer.alloc(1024 * 1024)
      const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024))
      const server = yield* httpServer((request, response) => {
        response.setHeader("content-encoding", request.url === "/twice" ? "gzip, gzip" : "gzip")
        if (request.url === "/finite") return response.end(bomb)
        if (request.url === "/twice") return response.end(gzipSync(bomb))
        const gzip = createGzip()
        const more = () => {
          while (!response.destroyed && gzip.write(zeros)) {
            /* until it is full */
          }
        }
        gzip
          .on("drain", more)
          .pipe(response)
          .on("close", () => gzip.destroy())
        more()
        return response
      })
      for (const path of ["/finite", "/twice", "/endless"]) {
        assert.strictEqual(yield* failing(server.origin + path), "EgressTooLarge", path)
      }
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("that are corrupt or truncated fail as unreachable, never as half a body", () =>
    Effect.gen(function* () {
      const whole = gzipSync(text)
      const server = yield* httpServer((request, response) => {
        response.setHeader("content-encoding", "gzip")
        response.end(request.url === "/cut" ? whole.subarray(0, whole.length - 20) : Buffer.from("not gzip at all"))
      })
      for (const path of ["/cut", "/other"])
        assert.strictEqual(yield* failing(server.origin + path), "EgressUnreachable", path)
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("that are empty are empty", () =>
    Effect.gen(function* () {
      const egress = yield* Egress
      const server = yield* httpServer((_, response) => {
        response.writeHead(200, { "content-encoding": "gzip", "content-length": 0 })
        response.end()
      })
      const response = yield* egress.send({
        owner: ownerOf(organisation),
        method: "GET",
        url: server.origin,
        headers: [],
        body: null,
        timeout: Duration.seconds(2),
        maxBytes: 10,
        redirects: 0
      })
      assert.strictEqual(response.body.length, 0)
    }).pipe(withEndlessMemory, Effect.provide(egressLayer()))
  )
})
