/** The connections of clients are bounded: idle and half-sent ones give way to new ones, the oldest first. */
import { connect, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { failureReply } from "../../src/http/ErrorRows.js"
import { jsonReply } from "../../src/http/Wire.js"
import { type Handlers, serve } from "../../src/runtime/http/NodeServer.js"
import { ByteLedger } from "../../src/runtime/memory/ByteLedger.js"
import { planDescriptors } from "../../src/runtime/process/Descriptors.js"
import { eventually } from "../support/eventually.js"
import { ownerOf } from "../support/shareOwners.js"

const handlers: Handlers = {
  execute: () => Effect.dieMessage("no test asks for it"),
  handle: ({ target }) => (target === "/never" ? Effect.never : Effect.succeed(jsonReply(200, { target }))),
  webhook: () => Effect.dieMessage("no test asks for it"),
  proxy: () => Effect.dieMessage("no test asks for it"),
  recognise: () => Effect.succeed({ _tag: "Known", holder: ownerOf("a") }),
  addressOf: ({ remoteAddress }) => remoteAddress,
  refused: (failure) => Effect.succeed(failureReply(failure, "req_test", 0))
}
const most = 4
const ledger = new ByteLedger({ bytes: 2 ** 26, bodyBytes: 2 ** 24 })
const serving = serve(handlers, { host: "127.0.0.1", port: 0, ledger, connections: most })

const request = (target: string) => `GET ${target} HTTP/1.1\r\nhost: svc\r\n\r\n`
const idle = request("/idle")
const halfHead = "GET / HTTP/1.1\r\nhost:"
const halfBody = "POST /x HTTP/1.1\r\nhost: svc\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"

interface Client {
  readonly socket: Socket
  readonly text: () => string
  readonly isClosed: () => boolean
}

/** A connection on which this was sent, once the server has seen it. */
const opened = ({ connections, port }: Effect.Effect.Success<typeof serving>, bytes: string) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<Client> => {
      const before = connections.readings()
      const socket = connect(port, "127.0.0.1")
      let text = ""
      let closed = false
      socket.on("data", (piece) => (text += String(piece)))
      socket.on("error", () => undefined)
      socket.on("close", () => (closed = true))
      socket.write(bytes)
      const client = { socket, text: () => text, isClosed: () => closed }
      await eventually(
        () => Promise.resolve(connections.readings()),
        (now) => now.open > before.open || now.closed > before.closed || now.refused > before.refused
      )
      if (bytes.startsWith("GET /idle"))
        await eventually(
          () => Promise.resolve(text),
          (answer) => answer.includes("200 OK")
        )
      return client
    }),
    ({ socket }) => Effect.sync(() => socket.destroy())
  )

const closed = (client: Client) => Effect.promise(() => eventually(() => Promise.resolve(client.isClosed()), Boolean))

describe("when one more connection arrives than the node may have", () => {
  it.scopedLive("the oldest idle one or half a head is closed, then the oldest half of a body", () =>
    Effect.gen(function* () {
      const server = yield* serving
      /** Opens one, after which so many are idle or have sent half a head. */
      const openedWith = (bytes: string, idleCount: number) =>
        Effect.tap(opened(server, bytes), () =>
          Effect.promise(() =>
            eventually(
              () => Promise.resolve(server.connections.readings().idle),
              (count) => count === idleCount
            )
          )
        )
      const body = yield* openedWith(halfBody, 0)
      const kept = yield* openedWith(idle, 1)
      const head = yield* openedWith(halfHead, 2)
      const working = yield* openedWith(request("/never"), 2)
      for (const [next, left] of [
        [kept, 1],
        [head, 0]
      ] as const) {
        const another = yield* openedWith(request("/never"), left)
        yield* closed(next)
        assert.isFalse(another.isClosed() || body.isClosed())
      }
      yield* openedWith(request("/never"), 0)
      yield* closed(body)
      assert.isFalse(working.isClosed(), "what waits for its answer stays")
      const refused = yield* opened(server, halfHead)
      yield* closed(refused)
      assert.match(refused.text(), /^HTTP\/1\.1 503 [^]*retry-after: 1/)
      assert.strictEqual(server.connections.readings().open, most)
    })
  )

  it.scopedLive("half requests refuse no one: each whole one is answered", () =>
    Effect.gen(function* () {
      const server = yield* serving
      for (let at = 0; at < 10 * most; at += 1) yield* opened(server, at % 2 === 0 ? halfHead : halfBody)
      for (let at = 0; at < most; at += 1) assert.include((yield* opened(server, idle)).text(), "200 OK")
      assert.isAtMost(server.connections.readings().open, most)
    })
  )
})

describe("the descriptors of the process", () => {
  const use = { appConnections: 10, writerConnections: 10, runners: 2, node: Option.none() }

  it("leave room for connections in both directions beside what svc itself needs", () => {
    for (const limit of [256, 1024, 65_536, 1_048_576]) {
      const { incoming, outgoing } = planDescriptors(use, limit)
      assert.isAtLeast(Math.min(incoming, outgoing), 32)
      assert.isAtMost(incoming + outgoing, limit - 100)
    }
  })

  it("leave room for connections with other nodes", () => {
    const node = { ...use, node: Option.some({}) }
    assert.isAtMost(planDescriptors(node, 1024).incoming, planDescriptors(use, 1024).incoming - 90)
    assert.throws(() => planDescriptors(node, 256), /may open 256/)
  })

  it("refuse a start with the figure that it needs", () => {
    assert.throws(
      () => planDescriptors(use, 128),
      /svc needs 1\d\d file descriptors .* may open 128: raise the limit \(ulimit -n 1/
    )
  })
})
