import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Schema } from "effect"
import { Authenticated } from "../../src/http/auth/CurrentExchange.js"
import { Audited, Permit, auditRead } from "../../src/http/Endpoint.js"
import * as Refusals from "../../src/http/auth/RefusalCounters.js"
import { groupLayer, layer } from "../../src/http/pipeline/HandlerTable.js"
import { make as makePipeline, defaultRules } from "../../src/http/pipeline/Pipeline.js"
import { routesOf } from "../../src/http/pipeline/Routes.js"
import { make as makeTypedApi } from "../../src/http/pipeline/TypedApi.js"
import type { RawReply } from "../../src/http/Wire.js"
import { announce } from "../support/LogExpectations.js"
import { type Running, start } from "../support/InProcess.js"

const Small = Schema.Struct({ data: Schema.Struct({ kind: Schema.String.pipe(Schema.maxLength(3)) }) })

/** An endpoint that answers with its argument; its schema allows short answers only. */
const EchoApi = HttpApi.make("echoes").add(
  HttpApiGroup.make("echo")
    .add(
      HttpApiEndpoint.get("now", "/api/v1/echo/:kind")
        .setPath(Schema.Struct({ kind: Schema.String.pipe(Schema.pattern(/^[a-z]+$/)) }))
        .addSuccess(Small)
        .annotate(Permit, "anyKey")
        .annotate(Audited, auditRead("echo"))
    )
    .middleware(Authenticated)
)

const echoed = ({ path }: { readonly path: { readonly kind: string } }) => Effect.succeed({ data: { kind: path.kind } })

const plain = groupLayer(EchoApi, "echo", (handlers) => handlers.handle("now", echoed))
const effectful = groupLayer(EchoApi, "echo", (handlers) => Effect.succeed(handlers.handle("now", echoed)))

let svc: Running
beforeAll(async () => {
  svc = await start()
})
afterAll(() => svc.stop())

const ask = async (handlers: typeof plain, kind: string) => {
  const logged: Array<string> = []
  const listening = Logger.replace(
    Logger.defaultLogger,
    Logger.make(
      ({ cause, message }) => void logged.push(`${String(message)} ${JSON.stringify(cause)} ${String(cause)}`)
    )
  )
  const endpoints = handlers.pipe(Layer.provideMerge(layer), Layer.provideMerge(Refusals.layer))
  const reply: RawReply = await svc.run(
    Effect.gen(function* () {
      const api = yield* makeTypedApi(yield* makePipeline, defaultRules, routesOf(EchoApi))
      return yield* api.handle({
        method: "GET",
        target: `/api/v1/echo/${kind}`,
        remoteAddress: "127.0.0.1",
        body: new Uint8Array(),
        headers: { authorization: `Bearer ${svc.first.key}` }
      })
    }).pipe(Effect.provide(Layer.merge(endpoints, listening)))
  )
  const text = Buffer.from(reply.body as Uint8Array | string).toString()
  return { status: reply.status, body: JSON.parse(text), logged }
}

describe.each([
  ["handlers", plain],
  ["an effect of handlers", effectful]
] as const)("a group given as %s", (_, handlers) => {
  it("an answer that does not fit its schema is a defect, not a client error", async () => {
    announce(/"request\.failed".*AnswerDefect: an answer does not fit its schema: data\.kind/, { required: true })
    const { body, logged, status } = await ask(handlers, "toolong")
    assert.deepStrictEqual([status, body.code, body.retryable], [500, "INTERNAL_ERROR", false])
    assert.match(body.requestId, /^req_/)
    const [line = "", ...others] = logged
    assert.isEmpty(others)
    assert.include(line, "an answer does not fit its schema: data.kind")
    assert.notInclude(line, "toolong", "what a customer has is in no log")
  })

  it("a request that does not fit is a client error, and one that fits is answered", async () => {
    const wrong = await ask(handlers, "UP")
    assert.deepStrictEqual([wrong.status, wrong.body.code], [400, "INVALID_REQUEST"])
    assert.deepStrictEqual([(await ask(handlers, "abc")).status, wrong.logged], [200, []])
  })
})
