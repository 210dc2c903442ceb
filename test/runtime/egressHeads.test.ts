/** Answers that end with their headers, and interim ones: a success is never taken for a failure. */
import type { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { Egress, type EgressRequest } from "../../src/actors/ports/Egress.js"
import { eventually } from "../support/eventually.js"
import { organisation } from "../support/journal.js"
import { egressLayer, rawServer, send, textOf } from "./egressServer.js"
import { ownerOf } from "../support/shareOwners.js"

/** The ways out: with the whole body, and streamed. */
const ways = {
  send: (url: string, request: Partial<EgressRequest> = {}) =>
    Effect.map(send(url, request), (answer) => ({ status: answer.status, text: textOf(answer) })),
  open: (url: string, request: Partial<EgressRequest> = {}) =>
    Effect.gen(function* () {
      const egress = yield* Egress
      const stall = Duration.seconds(5)
      const answer = yield* egress.open({
        owner: ownerOf(organisation),
        method: "GET",
        url,
        headers: [],
        body: null,
        timeout: stall,
        stall,
        maxBytes: 1024,
        redirects: 0,
        ...request
      })
      const pieces: Array<Uint8Array> = []
      yield* Effect.promise(async () => {
        for await (const piece of answer.body) pieces.push(piece)
      })
      yield* answer.ended
      return { status: answer.status, text: Buffer.concat(pieces).toString() }
    })
}

/** A server that answers each request with these bytes, each text in a packet of its own. */
const answering = (...packets: ReadonlyArray<string>) =>
  rawServer((socket: Socket) => {
    socket.setNoDelay(true)
    socket.on("data", (bytes: Buffer) => {
      if (!bytes.toString().includes("HTTP/1.1")) return
      const write = (at: number) => {
        const packet = packets[at]
        if (packet !== undefined) socket.write(packet, () => setImmediate(write, at + 1))
      }
      write(0)
    })
  })

for (const [way, ask] of Object.entries(ways)) {
  describe(`${way}: an answer that ends with its headers`, () => {
    for (const head of ["204 No Content", "304 Not Modified", "200 OK"])
      for (const announced of ["Content-Length: 2\r\n", "Transfer-Encoding: chunked\r\n", "Content-Encoding: gzip\r\n"])
        it.scoped(`succeeds: ${head} with ${announced.trim()}`, () =>
          Effect.gen(function* () {
            const server = yield* answering(`HTTP/1.1 ${head}\r\n${announced}\r\n`)
            const methods = head.startsWith("200") ? ["HEAD"] : ["GET", "DELETE", "POST", "HEAD"]
            for (const method of methods)
              assert.deepStrictEqual(
                yield* ask(server.origin, { method, ...(method === "POST" ? { body: "{}" } : {}) }),
                { status: Number(head.slice(0, 3)), text: "" },
                method
              )
          }).pipe(Effect.provide(egressLayer()))
        )

    it.scoped("keeps its connection, unless it is a 204 or 304 that announces a length", () =>
      Effect.gen(function* () {
        const plain = yield* answering("HTTP/1.1 204 No Content\r\n\r\n")
        const lying = yield* answering("HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n")
        for (const server of [plain, lying]) for (let i = 0; i < 5; i++) yield* ask(server.origin)
        assert.isBelow(plain.connections(), 5)
        assert.strictEqual(lying.connections(), 5)
        yield* Effect.promise(() =>
          eventually(
            async () => lying.open(),
            (open) => open === 0
          )
        )
      }).pipe(Effect.provide(egressLayer()))
    )

    it.scoped("takes nothing of what a server sends after it for the next answer", () =>
      Effect.gen(function* () {
        const forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
        const server = yield* answering(`HTTP/1.1 204 No Content\r\nContent-Length: ${forged.length}\r\n\r\n${forged}`)
        for (let i = 0; i < 3; i++) assert.deepStrictEqual(yield* ask(server.origin), { status: 204, text: "" })
      }).pipe(Effect.provide(egressLayer()))
    )
  })

  describe(`${way}: an interim answer`, () => {
    const last = "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nmade"
    const interim = (status: number) => `HTTP/1.1 ${status} Interim\r\nx-a: b\r\n\r\n`
    const first = Array.from({ length: 100 }, (_, at) => 100 + at).filter((status) => status !== 101)

    it.scoped("of each status but 101 is skipped, and its connection stays", () =>
      Effect.gen(function* () {
        for (const packets of [[first.map(interim).join("") + last], [...first.map(interim), last]]) {
          const server = yield* answering(...packets)
          for (let i = 0; i < 5; i++)
            assert.deepStrictEqual(yield* ask(server.origin, { method: "POST", body: "{}" }), {
              status: 201,
              text: "made"
            })
          assert.isBelow(server.connections(), 5)
        }
      }).pipe(Effect.provide(egressLayer()))
    )

    it.scoped("does not make an answer of its own", () =>
      Effect.gen(function* () {
        const server = yield* rawServer((socket) => void socket.once("data", () => socket.end(interim(100))))
        assert.strictEqual((yield* Effect.flip(ask(server.origin)))._tag, "EgressUnreachable")
        const switching = yield* answering(
          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"
        )
        assert.strictEqual((yield* Effect.flip(ask(switching.origin)))._tag, "EgressUnreachable")
      }).pipe(Effect.provide(egressLayer()))
    )
  })
}

describe("a redirect whose body is not read", () => {
  it.scoped("is followed, whatever length it announces", () =>
    Effect.gen(function* () {
      const end = yield* answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthere")
      const broken = yield* rawServer(
        (socket) =>
          void socket.once("data", () =>
            socket.end(`HTTP/1.1 302 Found\r\nLocation: ${end.origin}\r\nContent-Length: 100\r\n\r\nshort`)
          )
      )
      assert.strictEqual(textOf(yield* send(broken.origin, { redirects: 1 })), "there")
    }).pipe(Effect.provide(egressLayer()))
  )
})
