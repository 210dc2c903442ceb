/** What connections hold is bounded: answers that their clients do not read. */
import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { publicLimits } from "../../src/domain/Limits.js"
import { failureReply } from "../../src/http/ErrorRows.js"
import { jsonReply } from "../../src/http/Wire.js"
import { type Handlers, serve } from "../../src/runtime/http/NodeServer.js"
import { ByteLedger } from "../../src/runtime/memory/ByteLedger.js"
import { eventually } from "../support/eventually.js"
import { ownerOf } from "../support/shareOwners.js"

/** More than the kernel takes of an answer that its client does not read. */
const large = Buffer.alloc(publicLimits.unreadBytes / 8, " ")

const handlers: Handlers = {
  execute: () => Effect.dieMessage("no test asks for it"),
  handle: ({ target }) =>
    Effect.succeed(
      target === "/large" ? { status: 200, headers: {}, body: large, isPublic: true } : jsonReply(200, { target })
    ),
  webhook: () => Effect.dieMessage("no test asks for it"),
  proxy: () => Effect.dieMessage("no test asks for it"),
  recognise: () => Effect.succeed({ _tag: "Known", holder: ownerOf("a") }),
  addressOf: ({ headers, remoteAddress }) => headers["x-from"] ?? remoteAddress,
  refused: (failure) => Effect.succeed(failureReply(failure, "req_test", 0))
}

const ledger = new ByteLedger({ bytes: 2 ** 26, bodyBytes: 2 ** 24 })
const serving = serve(handlers, { host: "127.0.0.1", port: 0, ledger })

const opened = (port: number) =>
  Effect.acquireRelease(
    Effect.sync(() => connect(port, "127.0.0.1")),
    (socket) => Effect.sync(() => socket.destroy())
  )

/** Asks on a connection of its own and reads the first bytes of the answer only. */
const ask = (port: number, target: string, from = "192.0.2.1") =>
  Effect.gen(function* () {
    const socket = yield* opened(port)
    socket.write(`GET ${target} HTTP/1.1\r\nhost: svc\r\nx-from: ${from}\r\n\r\n`)
    const line = yield* Effect.promise(
      () =>
        new Promise<string>((resolve) => socket.once("readable", () => resolve(String(socket.read(12) ?? "").slice(9))))
    )
    return { line, socket }
  })

describe("answers without a key that are not read", () => {
  it.scopedLive("are bounded by address, and released when their connections close", () =>
    Effect.gen(function* () {
      const { port } = yield* serving
      const [first, second] = [yield* ask(port, "/large"), yield* ask(port, "/large")]
      assert.deepStrictEqual([first.line, second.line], ["200", "200"])
      assert.strictEqual((yield* ask(port, "/large")).line, "503")
      assert.strictEqual((yield* ask(port, "/small")).line, "200")
      assert.strictEqual((yield* ask(port, "/large", "192.0.2.2")).line, "200")
      first.socket.destroy()
      yield* Effect.promise(() =>
        eventually(
          () => Effect.runPromise(Effect.scoped(ask(port, "/large"))),
          ({ line }) => line === "200"
        )
      )
    })
  )
})
