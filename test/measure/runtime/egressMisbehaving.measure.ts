/** A bomb is given up long before it is decompressed. */
import { createGzip, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { egressLayer, httpServer, send } from "../../runtime/egressServer.js"
import { assertWithin } from "../../support/pace.js"

describe("a compressed answer", () => {
  it.scoped("a bomb fails as too large, long before it is decompressed", () =>
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
        const [took, failure] = yield* Effect.timed(Effect.flip(send(server.origin + path)))
        assert.strictEqual(failure._tag, "EgressTooLarge", path)
        assertWithin(Duration.toMillis(took), 1_000, path)
      }
    }).pipe(Effect.provide(egressLayer()))
  )
})
