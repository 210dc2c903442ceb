import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Schema } from "effect"
import { RefusalCounters } from "../../src/http/auth/RefusalCounters.js"
import { auditRead } from "../../src/http/operation/Contract.js"
import { operation } from "../../src/http/operation/Operation.js"
import { record } from "../../src/http/operation/Output.js"
import { handlersOf } from "../../src/http/pipeline/OperationHandlers.js"
import { make as makePipeline, defaultRules } from "../../src/http/pipeline/Pipeline.js"
import { makeSurfaceRequests } from "../../src/http/pipeline/SurfaceRequests.js"
import type { RawReply } from "../../src/http/Wire.js"
import { announce } from "../support/LogExpectations.js"
import { type Running, start } from "../support/InProcess.js"

const Small = Schema.Struct({ kind: Schema.String.pipe(Schema.maxLength(3)) })

/** An operation that answers with its argument; its schema allows short answers only. */
const echo = operation({
  name: "echo.now",
  summary: "Echo",
  description: "Answers with the argument.",
  answers: {},
  route: "GET /api/v1/echo/:kind",
  params: Schema.Struct({ kind: Schema.String.pipe(Schema.pattern(/^[a-z]+$/)) }),
  output: record(Small),
  permit: "anyCaller",
  audit: auditRead("echo"),
  sharing: "read",
  scoped: {},
  with: Effect.void,
  use: (_, { path }) => Effect.succeed({ kind: path.kind })
})

let svc: Running
beforeAll(async () => {
  svc = await start()
})
afterAll(() => svc.stop())

const ask = async (kind: string) => {
  const logged: Array<string> = []
  const listening = Logger.replace(
    Logger.defaultLogger,
    Logger.make(
      ({ cause, message }) => void logged.push(`${String(message)} ${JSON.stringify(cause)} ${String(cause)}`)
    )
  )
  const reply: RawReply = await svc.run(
    Effect.gen(function* () {
      const api = yield* makeSurfaceRequests(yield* makePipeline, defaultRules, [echo])
      const { reply } = api.find({
        method: "GET",
        target: `/api/v1/echo/${kind}`,
        remoteAddress: "127.0.0.1",
        body: new Uint8Array(),
        headers: { authorization: `Bearer ${svc.first.key}` }
      })
      return yield* reply
    }).pipe(Effect.provide(Layer.mergeAll(handlersOf([echo]), RefusalCounters.Default, listening)))
  )
  const text = Buffer.from(reply.body as Uint8Array | string).toString()
  return { status: reply.status, body: JSON.parse(text), logged }
}

describe("an operation", () => {
  it("an answer that does not fit its schema is a defect, not a client error", async () => {
    announce(/"request\.failed".*AnswerDefect: an answer does not fit its schema: data\.kind/, { required: true })
    const { body, logged, status } = await ask("toolong")
    assert.deepStrictEqual([status, body.code, body.retryable], [500, "INTERNAL_ERROR", false])
    assert.match(body.requestId, /^req_/)
    const [line = "", ...others] = logged
    assert.isEmpty(others)
    assert.include(line, "an answer does not fit its schema: data.kind")
    assert.notInclude(line, "toolong", "what a customer has is in no log")
  })

  it("a request that does not fit is a client error, and one that fits is answered", async () => {
    const wrong = await ask("UP")
    assert.deepStrictEqual([wrong.status, wrong.body.code], [400, "INVALID_REQUEST"])
    assert.deepStrictEqual([(await ask("abc")).status, wrong.logged], [200, []])
  })
})
