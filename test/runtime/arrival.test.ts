/** The body of an incoming request: the service reads only what it asks for, and never waits without a limit. */
import { request as ask, type ClientRequest } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { IncomingBody } from "../../src/runtime/http/IncomingBody.js"
import { eventually } from "../support/eventually.js"
import { httpServer } from "./egressServer.js"

const MiB = 1024 * 1024

/** One request: the test controls its sender and reads its body. */
const arriving = (length: number | null, limit = 64 * MiB, stall = Duration.seconds(5)) =>
  Effect.gen(function* () {
    let arrived: (arrival: IncomingBody) => void = () => undefined
    const arrival = new Promise<IncomingBody>((resolve) => {
      arrived = resolve
    })
    let finish = () => {}
    const server = yield* httpServer((request, response) => {
      finish = () => void response.end()
      arrived(new IncomingBody(request, { limit, stall }))
    })
    const headers = length === null ? {} : { "content-length": String(length) }
    const sender = ask(server.origin, { method: "POST", headers, agent: false }).on("error", () => undefined)
    sender.flushHeaders()
    return { sender, arrival: yield* Effect.promise(() => arrival), finish: () => finish() }
  })

const failureOf = async (arrival: IncomingBody) => {
  for (;;) {
    const piece = await arrival.next()
    if (piece === undefined) return undefined
    if (!(piece instanceof Uint8Array)) return piece.failure
  }
}

/** Sends chunks as fast as the socket accepts them. Returns the number of bytes. */
const pumped = (sender: ClientRequest, bytes: number) => {
  let sent = 0
  const more = () => {
    while (sent < bytes) {
      sent += MiB
      if (!sender.write(Buffer.alloc(MiB))) return void sender.once("drain", more)
    }
    sender.end()
  }
  more()
  return () => sent
}

describe("the body of an incoming request", () => {
  it.scoped("is not read before it is asked for", () =>
    Effect.gen(function* () {
      const { arrival, sender } = yield* arriving(50 * MiB)
      const sent = pumped(sender, 50 * MiB)
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 300)))
      // The buffers of the sockets hold the difference.
      assert.isBelow(sent(), 20 * MiB)
      assert.isUndefined(yield* Effect.promise(() => failureOf(arrival)))
      assert.strictEqual(sent(), 50 * MiB)
    })
  )

  it.scoped("fails when nothing arrives in time, when its sender disconnects, and above its limit", () =>
    Effect.gen(function* () {
      const stalled = yield* arriving(1_000, MiB, Duration.millis(100))
      stalled.sender.write("some")
      const late = yield* Effect.promise(() => failureOf(stalled.arrival))
      assert.deepInclude(late, { _tag: "InvalidRequest", message: "nothing of the body came within 100ms" })

      const left = yield* arriving(1_000)
      left.sender.write("some")
      assert.instanceOf(yield* Effect.promise(() => left.arrival.next()), Uint8Array)
      left.sender.destroy()
      const gone = yield* Effect.promise(() => failureOf(left.arrival))
      assert.deepInclude(gone, { _tag: "InvalidRequest", message: "the caller went away" })

      const large = yield* arriving(null, MiB)
      pumped(large.sender, 3 * MiB)
      const tooLarge = yield* Effect.promise(() => failureOf(large.arrival))
      assert.deepInclude(tooLarge, { _tag: "PayloadTooLarge", limitBytes: MiB })
    })
  )

  it.scoped("that is no longer needed is read to its end and discarded", () =>
    Effect.gen(function* () {
      const { arrival, finish, sender } = yield* arriving(50 * MiB)
      const waiting = arrival.next()
      arrival.forget()
      assert.notInstanceOf(yield* Effect.promise(() => waiting), Uint8Array)
      const sent = pumped(sender, 50 * MiB)
      yield* Effect.promise(() =>
        eventually(
          async () => sent(),
          (bytes) => bytes === 50 * MiB
        )
      )
      finish()
      assert.strictEqual((yield* Effect.promise(() => failureOf(arrival)))?._tag, "InvalidRequest")
    })
  )
})
