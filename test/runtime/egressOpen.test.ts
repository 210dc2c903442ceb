/** Streamed answers: at the pace of their reader, within a cap, and with a time limit. */
import { brotliCompressSync, deflateRawSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Either, Fiber } from "effect"
import { Egress, type OpenRequest, type OpenResponse } from "../../src/actors/ports/Egress.js"
import { eventually } from "../support/eventually.js"
import { egressLayer, httpServer, type TestServer } from "./egressServer.js"
import { organisation } from "../support/journal.js"
import { ownerOf } from "../support/shareOwners.js"

const MiB = 1024 * 1024

const open = (url: string, more: Partial<OpenRequest> = {}) =>
  Effect.flatMap(Egress, (egress) =>
    egress.open({
      owner: ownerOf(organisation),
      method: "GET",
      url,
      headers: [],
      body: null,
      timeout: Duration.seconds(5),
      stall: Duration.seconds(5),
      maxBytes: MiB,
      redirects: 3,
      ...more
    })
  )

/** The bytes of a body, and the reason if it broke off. */
const taken = async ({ body }: OpenResponse, pause: () => Promise<void> = async () => undefined) => {
  let bytes = 0
  const pieces: Array<Uint8Array> = []
  try {
    for await (const piece of body) {
      bytes += piece.length
      if (bytes <= MiB) pieces.push(piece)
      await pause()
    }
    return { bytes, text: Buffer.concat(pieces).toString(), broken: undefined }
  } catch (error) {
    return { bytes, text: "", broken: error }
  }
}

describe("a streamed answer", () => {
  it.scoped("is available with its head, before the body has ended", () =>
    Effect.gen(function* () {
      let finish = () => {}
      const server = yield* httpServer((_, response) => {
        response.writeHead(201, { "x-own": "1" }).write("first")
        finish = () => void response.end(" last")
      })
      const answer = yield* open(server.origin)
      assert.deepStrictEqual([answer.status, answer.headers.find(([name]) => name === "x-own")?.[1]], [201, "1"])
      const read = taken(answer)
      finish()
      assert.strictEqual((yield* Effect.promise(() => read)).text, "first last")
      yield* answer.ended
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("of fifty megabytes that is read slowly arrives whole", () =>
    Effect.gen(function* () {
      const piece = Buffer.alloc(128 * 1024, "x")
      const total = 400
      let sent = 0
      const server = yield* httpServer((_, response) => {
        const more = () => {
          while (sent < total) {
            sent += 1
            if (!response.write(piece)) return void response.once("drain", more)
          }
          response.end()
        }
        more()
      })
      const answer = yield* open(server.origin, { maxBytes: 64 * MiB })
      let nth = 0
      const result = yield* Effect.promise(() =>
        taken(answer, async () => {
          nth += 1
          if (nth % 20 !== 0) return
          await new Promise((resolve) => setTimeout(resolve, 5))
        })
      )
      assert.deepStrictEqual([result.broken, result.bytes], [undefined, total * piece.length])
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("that is not read is not received, and fails after the time limit", () =>
    Effect.gen(function* () {
      let sent = 0
      const server = yield* httpServer((_, response) => {
        const piece = Buffer.alloc(64 * 1024)
        const more = () => {
          while (sent < 50 * MiB) {
            sent += piece.length
            if (!response.write(piece)) return void response.once("drain", more)
          }
        }
        more()
      })
      const answer = yield* open(server.origin, { maxBytes: 64 * MiB, stall: Duration.millis(300) })
      yield* closed(server)
      // The buffers of the sockets hold the difference.
      assert.isBelow(sent, 20 * MiB)
      assert.isDefined((yield* Effect.promise(() => taken(answer))).broken)
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("breaks off when nothing more arrives, and when its sender breaks off", () =>
    Effect.gen(function* () {
      const server = yield* httpServer(({ url }, response) => {
        response.write("begun")
        if (url === "/broken") setTimeout(() => response.destroy(), 20)
      })
      for (const path of ["/stalled", "/broken"]) {
        const answer = yield* open(server.origin + path, { stall: Duration.millis(200) })
        const { broken, bytes } = yield* Effect.promise(() => taken(answer))
        assert.deepStrictEqual([bytes, broken instanceof Error], [5, true], path)
        yield* answer.ended
      }
      yield* closed(server)
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("is refused if its content-length is too large, and breaks off above the cap", () =>
    Effect.gen(function* () {
      const server = yield* httpServer(({ url }, response) => {
        if (url === "/announced") response.writeHead(200, { "content-length": String(2 * MiB) })
        if (url === "/bomb") response.writeHead(200, { "content-encoding": "gzip" })
        response.write(url === "/bomb" ? gzipSync(Buffer.alloc(2 * MiB)) : Buffer.alloc(2 * MiB))
        response.end()
      })
      const refused = yield* Effect.either(open(`${server.origin}/announced`))
      assert.strictEqual(Either.isLeft(refused) ? refused.left._tag : "", "EgressTooLarge")
      for (const path of ["/", "/bomb"]) {
        const answer = yield* open(server.origin + path)
        const { broken, bytes } = yield* Effect.promise(() => taken(answer))
        assert.isDefined(broken)
        assert.isAtMost(bytes, MiB)
      }
      yield* closed(server)
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("closes its connection when it is cancelled, and when its caller stops waiting for the head", () =>
    Effect.gen(function* () {
      const server = yield* httpServer(({ url }, response) => {
        if (url !== "/silent") response.write("begun")
      })
      const answer = yield* open(server.origin)
      answer.cancel()
      yield* answer.ended
      yield* closed(server)
      const waiting = yield* Effect.fork(open(`${server.origin}/silent`))
      yield* Effect.promise(() =>
        eventually(
          async () => server.open(),
          (count) => count === 1
        )
      )
      yield* Fiber.interrupt(waiting)
      yield* closed(server)
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("arrives decompressed, from every encoding, also after redirects", () =>
    Effect.gen(function* () {
      const text = "word ".repeat(50_000)
      const bodies: Readonly<Record<string, Buffer>> = {
        gzip: gzipSync(text),
        br: brotliCompressSync(text),
        deflate: deflateRawSync(text)
      }
      const server = yield* httpServer(({ url = "" }, response) => {
        const encoding = url.slice(1)
        if (encoding.startsWith("to-")) return void response.writeHead(302, { location: `/${url.slice(4)}` }).end("no")
        response.writeHead(200, { "content-encoding": encoding }).end(bodies[encoding])
      })
      for (const encoding of Object.keys(bodies)) {
        const answer = yield* open(`${server.origin}/to-${encoding}`)
        const result = yield* Effect.promise(() => taken(answer))
        assert.deepStrictEqual([result.broken, result.text === text], [undefined, true], encoding)
        assert.isUndefined(answer.headers.find(([name]) => name === "content-encoding"))
        yield* answer.ended
      }
    }).pipe(Effect.provide(egressLayer()))
  )
})

const closed = (server: TestServer) =>
  Effect.promise(() =>
    eventually(
      async () => server.open(),
      (count) => count === 0
    )
  )
