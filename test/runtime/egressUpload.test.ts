/**
 * Bodies that are forwarded while they arrive: at the pace of the receiver, whose time limit excludes waiting for them.
 */
import type { IncomingMessage } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Either } from "effect"
import { Egress, type OpenRequest, type Upload } from "../../src/actors/ports/Egress.js"
import { egressLayer, httpServer } from "./egressServer.js"
import { organisation } from "../support/journal.js"
import { ownerOf } from "../support/shareOwners.js"

const MiB = 1024 * 1024
const wait = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis))

const sent = (url: string, upload: Upload, more: Partial<OpenRequest> = {}) =>
  Effect.flatMap(Egress, (egress) =>
    egress.open({
      owner: ownerOf(organisation),
      method: "POST",
      url,
      headers: [],
      body: null,
      upload,
      timeout: Duration.seconds(5),
      stall: Duration.seconds(5),
      maxBytes: MiB,
      redirects: 3,
      ...more
    })
  )
const bytesOf = async (request: IncomingMessage) => {
  let bytes = 0
  for await (const piece of request) bytes += piece.length
  return bytes
}
const textOf = async (body: AsyncIterable<Uint8Array>) => {
  let text = ""
  for await (const piece of body) text += Buffer.from(piece).toString()
  return text
}

describe("a body that is forwarded while it arrives", () => {
  it.scoped("is read as fast as its receiver reads", () =>
    Effect.gen(function* () {
      let release = () => {}
      const server = yield* httpServer(async (request, response) => {
        await new Promise<void>((resolve) => {
          release = resolve
        })
        response.end(String(await bytesOf(request)))
      })
      let asked = 0
      const upload: Upload = {
        length: 50 * MiB,
        pieces: async function* () {
          for (; asked < 50; asked++) yield Buffer.alloc(MiB)
        }
      }
      const result = yield* Effect.fork(sent(server.origin, upload, { timeout: Duration.seconds(20) }))
      yield* Effect.promise(() => wait(500))
      // The buffers of the sockets hold the difference.
      assert.isBelow(asked, 20)
      release()
      const { body } = yield* result
      assert.strictEqual(yield* Effect.promise(() => textOf(body)), String(50 * MiB))
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("does not use its receiver's time limit while the sender pauses", () =>
    Effect.gen(function* () {
      const server = yield* httpServer(async (request, response) => {
        const bytes = await bytesOf(request)
        if (request.url === "/slow") await wait(2_000)
        response.end(String(bytes))
      })
      const upload: Upload = {
        length: 30,
        pieces: async function* () {
          for (let n = 0; n < 3; n++) {
            await wait(300)
            yield Buffer.alloc(10)
          }
        }
      }
      const timeout = Duration.millis(600)
      const { body } = yield* sent(server.origin, upload, { timeout })
      assert.strictEqual(yield* Effect.promise(() => textOf(body)), "30")
      const late = yield* Effect.either(sent(`${server.origin}/slow`, upload, { timeout }))
      assert.strictEqual(Either.isLeft(late) ? late.left._tag : "answered", "EgressTimedOut")
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("never looks complete if it breaks off, ends too early, or is too long", () =>
    Effect.gen(function* () {
      let whole = 0
      const server = yield* httpServer((request, response) => {
        request.on("error", () => undefined)
        request.resume().once("end", () => {
          whole += 1
          response.end()
        })
      })
      const breaking = (pieces: number, error?: Error): Upload => ({
        length: 1_000,
        pieces: async function* () {
          for (let n = 0; n < pieces; n++) yield Buffer.alloc(100)
          if (error !== undefined) throw error
        }
      })
      for (const upload of [breaking(5, new Error("broke off")), breaking(5), breaking(15)]) {
        const result = yield* Effect.either(sent(server.origin, upload))
        assert.strictEqual(Either.isLeft(result) ? result.left._tag : "answered", "EgressUnreachable")
      }
      assert.strictEqual(whole, 0)
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("is sent again from its beginning after a redirect that keeps the method, and after no other", () =>
    Effect.gen(function* () {
      const server = yield* httpServer(async (request, response) => {
        if (request.url === "/kept") return void response.writeHead(307, { location: "/there" }).end()
        if (request.url === "/changed") return void response.writeHead(303, { location: "/there" }).end()
        response.end(`${request.method} ${await bytesOf(request)}`)
      })
      const upload: Upload = {
        length: 2 * MiB,
        pieces: async function* () {
          for (let n = 0; n < 2; n++) yield Buffer.alloc(MiB)
        }
      }
      for (const [path, expected] of [
        ["/kept", `POST ${2 * MiB}`],
        ["/changed", "GET 0"]
      ] as const) {
        const { body } = yield* sent(server.origin + path, upload)
        assert.strictEqual(yield* Effect.promise(() => textOf(body)), expected)
      }
    }).pipe(Effect.provide(egressLayer()))
  )
})
