/** A streamed answer that is read slowly needs little memory. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { Egress } from "../../../src/actors/ports/Egress.js"
import { egressLayer, httpServer } from "../../runtime/egressServer.js"
import { assertBytes } from "../../support/figures.js"
import { liveBytes } from "../../support/heap.js"
import { organisation } from "../../support/journal.js"
import { ownerOf } from "../../support/shareOwners.js"

const MiB = 1024 * 1024

const taken = async (body: AsyncIterable<Uint8Array>, pause: () => Promise<void>): Promise<number> => {
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    await pause()
  }
  return bytes
}

describe("a streamed answer", () => {
  it.scoped("of fifty megabytes that is read slowly needs the memory of a few, and slows its sender down", () =>
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
      const answer = yield* Effect.flatMap(Egress, (egress) =>
        egress.open({
          owner: ownerOf(organisation),
          method: "GET",
          url: server.origin,
          headers: [],
          body: null,
          timeout: Duration.seconds(60),
          stall: Duration.seconds(60),
          maxBytes: 64 * MiB,
          redirects: 0
        })
      )
      let most = 0
      let nth = 0
      const before = liveBytes()
      const result = yield* Effect.promise(() =>
        taken(answer.body, async () => {
          nth += 1
          if (nth % 20 !== 0) return
          await new Promise((resolve) => setTimeout(resolve, 5))
          most = Math.max(most, liveBytes() - before)
        })
      )
      assert.strictEqual(result, total * piece.length)
      assertBytes(most, 6 * MiB)
    }).pipe(Effect.provide(egressLayer()))
  )
})
