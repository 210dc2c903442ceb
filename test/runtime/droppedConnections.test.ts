/** Whatever clients pipeline, read and drop, all that was counted for their replies is given back, once. */
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, FastCheck } from "effect"
import { pipelinedRequests } from "../../src/domain/Limits.js"
import { failureReply } from "../../src/http/ErrorRows.js"
import { jsonReply, type RawReply, type StreamedBody } from "../../src/http/Wire.js"
import { type Handlers, type RunningServer, serve } from "../../src/runtime/http/NodeServer.js"
import { ByteLedger } from "../../src/runtime/memory/ByteLedger.js"
import { eventually } from "../support/eventually.js"
import { ownerOf } from "../support/shareOwners.js"

const KiB = 1024

// --- The server ---

/** Requests to handlers, and what they do now. */
class Work {
  begun = 0
  running = 0
  most = 0
  readonly order: Array<string> = []

  readonly count = <A>(target: string, work: Effect.Effect<A>): Effect.Effect<A> =>
    Effect.suspend(() => {
      this.begun++
      this.order.push(target)
      this.most = Math.max(this.most, ++this.running)
      return Effect.ensuring(
        work,
        Effect.sync(() => this.running--)
      )
    })
}

const document = Buffer.alloc(600 * KiB, "d")
const large = Buffer.alloc(32 * KiB * KiB, "l")
const page = Buffer.alloc(20 * KiB, "m")

const publicReply = (body: Buffer): RawReply => ({ status: 200, headers: {}, body, isPublic: true })

/** A body that begins, and ends with its client only. */
const endless = (): StreamedBody => {
  let end: () => void = () => undefined
  const ended = new Promise<void>((resolve) => (end = resolve))
  const pieces = async function* () {
    yield Buffer.from("begun")
    await ended
  }
  return { pieces: pieces(), cancel: () => end(), isEndless: true }
}

const answers: { readonly [target: string]: () => Effect.Effect<RawReply> } = {
  "/document": () => Effect.succeed(publicReply(document)),
  "/large": () => Effect.succeed({ status: 200, headers: {}, body: large }),
  "/metrics": () => Effect.delay(Effect.succeed(publicReply(page)), "1 millis"),
  "/watch": () => Effect.sync(() => ({ status: 200, headers: {}, body: endless() }))
}

const handlersOf = (work: Work, later: { readonly [target: string]: Effect.Effect<RawReply> } = {}): Handlers => {
  const serveOne = (target: string): Effect.Effect<RawReply> =>
    work.count(target, later[target] ?? (answers[target] ?? (() => Effect.succeed(jsonReply(200, { target }))))())
  return {
    execute: ({ target }) => serveOne(target),
    handle: ({ target }) => serveOne(target),
    webhook: (_, { webhook }) =>
      Effect.succeed({
        _tag: "Admitted",
        limit: 64 * KiB,
        holder: ownerOf("webhook"),
        handle: () => serveOne(`/webhook/${webhook}`),
        refused: (failure) => failureReply(failure, "req_test", 0)
      }),
    // As the egress does: it reads the body, then waits for a provider that never answers.
    proxy: ({ body, target }) =>
      work.count(
        target,
        Effect.zipRight(
          Effect.promise(async () => {
            if (body instanceof Uint8Array) return
            for (let next = await body.next(); next instanceof Uint8Array;) next = await body.next()
          }),
          target.endsWith("stream")
            ? Effect.sync(() => ({ status: 200, headers: {}, body: { ...endless(), isEndless: false } }))
            : Effect.never
        )
      ),
    prepared: ({ target }) => (target === "/healthz" ? jsonReply(200, { status: "ok" }) : undefined),
    recognise: () => Effect.delay(Effect.succeed({ _tag: "Known" as const, holder: ownerOf("holder") }), "1 millis"),
    addressOf: ({ headers, remoteAddress }) => headers["x-from"] ?? remoteAddress,
    refused: (failure) => Effect.succeed(failureReply(failure, "req_test", 0))
  }
}

const serving = (work: Work, later?: { readonly [target: string]: Effect.Effect<RawReply> }) => {
  const ledger = new ByteLedger({ bytes: 2 ** 26, bodyBytes: 2 ** 24 })
  return Effect.map(serve(handlersOf(work, later), { host: "127.0.0.1", port: 0, ledger }), (server) => ({
    ...server,
    bodyBytes: () => {
      const { arriving, bodies } = ledger.readings().held
      return arriving + bodies
    },
    counted: () => ({ ...counts(server), running: work.running, ...ledger.readings().held })
  }))
}

const counts = ({ connections, openReplies }: Pick<RunningServer, "connections" | "openReplies">) => ({
  ...openReplies(),
  connections: connections.readings().open
})

const nothing = {
  all: 0,
  endless: 0,
  unreadBytes: 0,
  connections: 0,
  running: 0,
  arriving: 0,
  bodies: 0,
  answers: 0,
  results: 0,
  journals: 0
}

// --- Clients ---

const get = (target: string) => `GET ${target} HTTP/1.1\r\nhost: svc\r\n\r\n`
const post = (target: string, body: Uint8Array | string, more = "") =>
  Buffer.concat([
    Buffer.from(`POST ${target} HTTP/1.1\r\nhost: svc\r\n${more}content-length: ${body.length}\r\n\r\n`),
    Buffer.from(body)
  ])
const chunked = (target: string, body: string) =>
  `POST ${target} HTTP/1.1\r\nhost: svc\r\ntransfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

const webhook = "/api/v1/clients/a/webhooks/b"
const execute = "/api/v1/workflows/wf_000000000000/execute"
const proxy = "/api/v1/proxy/x"

/** Requests of every kind, with a body of so many bytes where they have one. */
const kinds: { readonly [kind: string]: (bytes: number) => Uint8Array | string } = {
  document: () => get("/document"),
  metrics: () => get("/metrics"),
  health: () => get("/healthz"),
  missing: () => get("/nothing"),
  watch: () => get("/watch"),
  body: (bytes) => post("/body", "b".repeat(bytes)),
  chunked: (bytes) => chunked("/chunked", "c".repeat(bytes)),
  continued: (bytes) => post("/continued", "e".repeat(bytes), "expect: 100-continue\r\n"),
  execute: (bytes) => post(execute, "e".repeat(bytes)),
  tooLarge: () => `POST /large HTTP/1.1\r\nhost: svc\r\ncontent-length: ${2 ** 30}\r\n\r\n`,
  proxy: () => get(proxy),
  proxyStream: () => get(`${proxy}/stream`),
  proxyBody: (bytes) => post(proxy, "p".repeat(bytes % (8 * KiB))),
  webhook: (bytes) => post(webhook, "w".repeat(bytes % (8 * KiB))),
  compressed: (bytes) => post(webhook, gzipSync("z".repeat(bytes)), "content-encoding: gzip\r\n"),
  upgrade: () => "GET /x HTTP/1.1\r\nhost: svc\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n",
  closing: () => "GET /x HTTP/1.1\r\nhost: svc\r\nconnection: close\r\n\r\n",
  garbage: () => "no request\r\n\r\n"
}

/** Those that are answered soon, so that the next one has its turn. */
const answered = ["document", "metrics", "health", "missing", "body", "chunked", "execute", "webhook", "compressed"]

/** What a client sends on a connection, and how it drops it. */
interface DroppedConnection {
  readonly requests: ReadonlyArray<readonly [kind: string, bytes: number]>
  /** The part of the bytes that is sent, in thousandths; all from a thousand on. */
  readonly sent: number
  /** Bytes that are read before the drop, and how long it waits at least. */
  readonly read: number
  readonly millis: number
  readonly way: string
}

const { array, constantFrom, integer, record, tuple } = FastCheck
const dropped: FastCheck.Arbitrary<DroppedConnection> = record({
  requests: array(
    tuple(constantFrom(...Object.keys(kinds), ...answered, ...answered), integer({ min: 0, max: 100 * KiB })),
    {
      minLength: 1,
      maxLength: 24
    }
  ),
  sent: integer({ min: 0, max: 2_000 }),
  read: constantFrom(0, 1, 300, 100 * KiB, 10_000 * KiB),
  millis: integer({ min: 0, max: 30 }),
  way: constantFrom("destroy", "reset", "end")
})

/** Sends, reads some of the answers, and drops the connection. */
const drop = async (port: number, { millis, read, requests, sent, way }: DroppedConnection) => {
  const bytes = Buffer.concat(requests.map(([kind, size]) => Buffer.from(kinds[kind]?.(size) ?? "")))
  const socket = connect(port, "127.0.0.1").on("error", () => undefined)
  let left = read
  if (read === 0) socket.pause()
  else
    socket.on("data", (piece: Buffer) => {
      left -= piece.length
      if (left <= 0) socket.pause()
    })
  await new Promise((resolve) => socket.once("connect", resolve))
  socket.write(bytes.subarray(0, Math.ceil((sent * bytes.length) / 1_000)))
  await sleep(millis)
  if (way === "end") socket.end()
  if (way === "reset") socket.resetAndDestroy()
  else socket.destroy()
}

const opened = (port: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const socket = connect(port, "127.0.0.1").on("error", () => undefined)
      let text = ""
      let isClosed = false
      socket.on("data", (piece) => (text += String(piece))).on("close", () => (isClosed = true))
      await new Promise((resolve) => socket.once("connect", resolve))
      return { socket, text: () => text, isClosed: () => isClosed }
    }),
    ({ socket }) => Effect.sync(() => socket.destroy())
  )

const until = (isTrue: () => boolean) => Effect.promise(() => eventually(async () => isTrue(), Boolean))

// --- The promises ---

describe("connections that are dropped", () => {
  it.scopedLive("leave nothing counted, whatever was pipelined, read and sent", () =>
    Effect.gen(function* () {
      const work = new Work()
      const { counted, port } = yield* serving(work)
      yield* Effect.promise(() =>
        FastCheck.assert(
          FastCheck.asyncProperty(array(dropped, { minLength: 10, maxLength: 10 }), async (all) => {
            await Promise.all(all.map((one) => drop(port, one)))
            assert.deepStrictEqual(
              await eventually(
                async () => counted(),
                (found) => JSON.stringify(found) === JSON.stringify(nothing)
              ),
              nothing
            )
          }),
          { numRuns: 100, endOnFailure: true }
        )
      )
      assert.isAbove(work.begun, 100)
      const client = yield* opened(port)
      client.socket.write(get("/document"))
      yield* until(() => client.text().length > document.length)
    })
  )

  it.scopedLive("give back what replies behind an unread one hold", () =>
    Effect.gen(function* () {
      const { bodyBytes, counted, port } = yield* serving(new Work(), { "/never": Effect.never })
      const clients = yield* Effect.forEach([1, 2, 3, 4, 5], () => opened(port))
      for (const { socket } of clients) {
        socket.write(get("/never"))
        for (let n = 0; n < 8; n++) socket.write(post("/body", "b".repeat(100 * KiB)))
      }
      yield* until(() => bodyBytes() === 5 * 8 * 100 * KiB)
      for (const { socket } of clients) socket.destroy()
      // The requests in work hold no body.
      yield* until(() => bodyBytes() === 0 && counted().all === 0)
    })
  )

  it.scopedLive("leave the bytes of work that still runs counted until it ends", () =>
    Effect.gen(function* () {
      const finish = yield* Deferred.make<RawReply>()
      const work = new Work()
      const { bodyBytes, counted, port } = yield* serving(work, { "/slow": Deferred.await(finish) })
      const client = yield* opened(port)
      client.socket.write(post("/slow", "s".repeat(100 * KiB)))
      yield* until(() => work.running === 1)
      client.socket.destroy()
      yield* until(() => counted().all === 0)
      assert.strictEqual(bodyBytes(), 100 * KiB)
      yield* Deferred.succeed(finish, jsonReply(200, {}))
      yield* until(() => bodyBytes() === 0)
    })
  )
})

describe("requests that are pipelined", () => {
  it.scopedLive("are worked on one after the other, and answered in their order", () =>
    Effect.gen(function* () {
      const work = new Work()
      const { port } = yield* serving(work)
      const client = yield* opened(port)
      const targets = Array.from({ length: 16 }, (_, n) => (n % 4 === 0 ? "/metrics" : `/at/${n}`))
      client.socket.write(targets.map((target, n) => (n % 3 === 0 ? post(target, "x") : get(target))).join(""))
      yield* until(() => client.text().includes("/at/15"))
      assert.deepStrictEqual([work.most, work.order], [1, targets])
    })
  )

  it.scopedLive("do not begin behind one that is not answered, nor when their connection is dropped", () =>
    Effect.gen(function* () {
      const work = new Work()
      const { counted, port } = yield* serving(work)
      const client = yield* opened(port)
      client.socket.write(get("/watch") + get("/document") + get(proxy) + post(webhook, "{}") + get("/healthz"))
      yield* until(() => client.text().includes("begun"))
      client.socket.destroy()
      yield* until(() => counted().all === 0)
      assert.deepStrictEqual(work.order, ["/watch"])
    })
  )

  it.scopedLive("are served behind an answer, also if they ask for another protocol or are none", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(new Work())
      const client = yield* opened(port)
      const asked = kinds["upgrade"]?.(0) as string
      client.socket.write(get("/metrics") + asked + get("/after") + "no request\r\n\r\n")
      yield* until(() => client.isClosed() || client.text().includes("400 Bad Request"))
      const statuses = [...client.text().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
      assert.deepStrictEqual(statuses, ["200", "200", "200", "400"])
    })
  )

  /** A client that reads only when an answer that does not fit into the buffers of sockets waits for it, and this behind it. */
  const readingLate = (behind: string, later?: { readonly [target: string]: Effect.Effect<RawReply> }) =>
    Effect.gen(function* () {
      const work = new Work()
      const { counted, port } = yield* serving(work, later)
      const client = yield* opened(port)
      client.socket.pause().write(get("/large"))
      yield* until(() => work.begun === 1 && work.running === 0)
      client.socket.write(behind)
      yield* until(() => counted().all === 2)
      client.socket.resume()
      return { client, counted }
    })

  it.scopedLive("are dropped behind an answer that is read late, also if they ask for another protocol", () =>
    Effect.gen(function* () {
      const { client, counted } = yield* readingLate(get("/never") + kinds["upgrade"]?.(0), { "/never": Effect.never })
      yield* until(() => counted().all === 1 && counted().running === 1)
      client.socket.destroy()
      yield* until(() => counted().all === 0)
    })
  )

  it.scopedLive("are served behind an answer that is read late, also if they ask for another protocol", () =>
    Effect.gen(function* () {
      const { client } = yield* readingLate(get("/metrics") + kinds["upgrade"]?.(0))
      yield* until(() => client.text().includes('"/x"'))
      client.socket.write(get("/after"))
      yield* until(() => client.text().includes('"/after"'))
    })
  )

  it.scopedLive("close their connection beyond the limit, without reading further", () =>
    Effect.gen(function* () {
      const { counted, port } = yield* serving(new Work(), { "/never": Effect.never })
      const client = yield* opened(port)
      client.socket.write(get("/never").repeat(pipelinedRequests - 1))
      yield* until(() => counted().all === pipelinedRequests - 1)
      assert.isFalse(client.isClosed())
      client.socket.write(get("/never").repeat(1_000))
      yield* until(() => client.isClosed() && counted().all === 0)
    })
  )
})
