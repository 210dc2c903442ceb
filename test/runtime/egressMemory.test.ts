/** The bytes of an answer are counted in the ledger as they come; without room nothing more is read. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Either, Fiber } from "effect"
import { gzipSync } from "node:zlib"
import { Egress, type EgressRequest } from "../../src/actors/ports/Egress.js"
import { holdAnswers } from "../../src/actors/ports/HeldBytes.js"
import { ByteLedger } from "../../src/runtime/memory/ByteLedger.js"
import { eventually } from "../support/eventually.js"
import { organisation } from "../support/journal.js"
import { promised } from "../support/promises.js"
import { egressLayer, httpServer } from "./egressServer.js"
import { ownerOf } from "../support/shareOwners.js"

const MiB = 1024 * 1024
const body = Buffer.alloc(3 * MiB, "0123456789")

const request = (url: string): EgressRequest => ({
  owner: ownerOf(organisation),
  method: "GET",
  url,
  headers: [],
  body: null,
  timeout: Duration.seconds(20),
  maxBytes: 32 * MiB,
  redirects: 0
})

/** Sends, and holds the answer until `used`. */
const heldAnswer = (ledger: ByteLedger, url: string, used: Deferred.Deferred<void>) =>
  holdAnswers(
    ledger,
    ownerOf(organisation),
    Effect.flatMap(Egress, (egress) => Effect.tap(egress.send(request(url)), () => Deferred.await(used)))
  )

const waits = (ledger: ByteLedger) =>
  Effect.promise(() =>
    eventually(
      () => Promise.resolve(ledger.readings().waiting),
      (waiting) => waiting === 1
    )
  )

const assertGivenBack = (ledger: ByteLedger) =>
  promised("the memory of an answer is not given back", () => assert.strictEqual(ledger.readings().held.answers, 0))

describe("an answer", () => {
  it.scoped.each([
    ["as it is", body, {}],
    ["compressed", gzipSync(body), { "content-encoding": "gzip" }]
  ] as const)("%s waits for room, and arrives whole", ([, sent, headers]) =>
    Effect.gen(function* () {
      const ledger = new ByteLedger({ bytes: 8 * MiB })
      const server = yield* httpServer((_, response) => response.writeHead(200, headers).end(sent))
      const used = yield* Deferred.make<void>()
      const others = ledger.open(ownerOf("others"), "answers")
      assert.isTrue(others.tryTake(6 * MiB))
      const answer = yield* Effect.fork(heldAnswer(ledger, server.origin, used))
      yield* waits(ledger)
      others.release()
      yield* Deferred.succeed(used, undefined)
      const { body: received } = yield* Fiber.join(answer)
      assert.isTrue(body.equals(received))
      assertGivenBack(ledger)
      assert.strictEqual(ledger.readings().refused, 0)
    }).pipe(Effect.provide(egressLayer()))
  )

  it.scoped("that finds no room in time is a typed failure, and its sender is stopped", () =>
    Effect.gen(function* () {
      const ledger = new ByteLedger({ bytes: 8 * MiB, patienceMillis: 300 })
      let written = 0
      const server = yield* httpServer((_, response) => {
        response.writeHead(200)
        const piece = Buffer.alloc(64 * 1024)
        const write = (): void => {
          while (written < 30 * MiB) {
            written += piece.length
            if (!response.write(piece)) return void response.once("drain", write)
          }
          response.end()
        }
        write()
      })
      const used = yield* Deferred.make<void>()
      const result = yield* Effect.either(heldAnswer(ledger, server.origin, used))
      if (Either.isRight(result)) return assert.fail("it had room")
      assert.strictEqual(result.left._tag, "EgressNoMemory")
      assert.isBelow(written, 24 * MiB)
      assertGivenBack(ledger)
      assert.strictEqual(ledger.readings().refused, 1)
    }).pipe(Effect.provide(egressLayer()))
  )
})
