/** What is answered without a key is bounded by address, exists once, and does not wait for its readers. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { embedFramePath } from "../../src/domain/access/EmbedFrame.js"
import { commonCallbackPath } from "../../src/domain/connection/Callback.js"
import { publicLimits } from "../../src/domain/Limits.js"
import { failureReply } from "../../src/http/ErrorRows.js"
import { jsonReply } from "../../src/http/Wire.js"
import { makePublicAnswers, shareInFlight } from "../../src/runtime/http/PublicAnswers.js"
import { type Running, start } from "../support/InProcess.js"

let svc: Running
beforeAll(async () => {
  svc = await start()
})
afterAll(() => svc.stop())

const documents = [
  "/docs",
  "/docs/workflows",
  "/api/v1/openapi.json",
  "/api/v1/connector.schema.json",
  "/api/v1/flow.schema.json"
]
const link = `/connect/${"a".repeat(43)}`

describe("requests without a key", () => {
  it.effect.each(["probe", "document", "page"] as const)("of one address are limited in a minute: %s", (kind) =>
    Effect.gen(function* () {
      const { exceeded, serve } = makePublicAnswers(({ remoteAddress }) => remoteAddress)
      const ask = (from: string) =>
        Effect.map(
          serve(requestOf("/x", from), {
            kind,
            reply: Effect.succeed(jsonReply(200, {})),
            refused: (failure, now) => failureReply(failure, "req_test", now)
          }),
          ({ headers, isPublic, status }) => [status, isPublic, headers["retry-after"]]
        )
      const limit = publicLimits.perMinute[kind]
      yield* Effect.replicateEffect(ask("192.0.2.1"), limit - 1)
      assert.isUndefined(yield* exceeded(requestOf("/x", "192.0.2.1"), kind))
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* ask("192.0.2.1"), [429, true, "40"])
      assert.strictEqual((yield* exceeded(requestOf("/x", "192.0.2.1"), kind))?.limit, limit)
      assert.deepStrictEqual(yield* ask("192.0.2.2"), [200, true, undefined])
      yield* TestClock.adjust("40 seconds")
      assert.deepStrictEqual(yield* ask("192.0.2.1"), [200, true, undefined])
    })
  )

  it("all pass the limit: their replies are marked", async () => {
    for (const path of [
      "/healthz",
      "/readyz",
      "/metrics",
      "/docs/nothing",
      "/embed/nothing",
      embedFramePath,
      link,
      "/connect/x",
      commonCallbackPath,
      ...documents
    ])
      assert.isTrue((await svc.send(requestOf(path, "192.0.2.201"))).isPublic, path)
  })

  it("get the same bytes, which exist once", async () => {
    for (const path of documents) {
      const [one, two] = await Promise.all([svc.send(requestOf(path, "::1")), svc.send(requestOf(path, "::2"))])
      assert.instanceOf(one.body, Uint8Array)
      assert.strictEqual(one.body, two.body)
    }
  })

  it("share a check that runs", async () => {
    let runs = 0
    const work = shareInFlight(
      Effect.delay(
        Effect.sync(() => ++runs),
        "20 millis"
      )
    )
    const asked = Effect.forEach([1, 2, 3], () => work, { concurrency: "unbounded" })
    assert.deepStrictEqual(await Effect.runPromise(Effect.all([asked, asked])), [
      [1, 1, 1],
      [2, 2, 2]
    ])
  })
})

const requestOf = (target: string, remoteAddress: string) => ({
  method: "GET",
  target,
  headers: {},
  remoteAddress,
  body: Buffer.alloc(0)
})
