/**
 * Another front over the table of operations, defined by this file alone: JSON-RPC, where a call names an operation and
 * gives its arguments. It passes the matrices of permissions, scopes and customers as the surfaces do.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { RefusalCounters } from "../../src/http/auth/RefusalCounters.js"
import type { Contract } from "../../src/http/operation/Contract.js"
import { surfaceB, surfaceC } from "../../src/http/operations/Surfaces.js"
import { OperationHandlers } from "../../src/http/pipeline/OperationHandlers.js"
import { defaultRules, make as makePipeline } from "../../src/http/pipeline/Pipeline.js"
import { makeMatcher } from "../../src/http/pipeline/Routes.js"
import { tenantRules } from "../../src/http/tenant/Rules.js"
import { pathOf, type RequestHead } from "../../src/http/Wire.js"
import { startWorld, type World } from "../support/endpointWorld.js"
import type { Answer, Ask, Running } from "../support/InProcess.js"
import { customerMatrix } from "../support/matrices/CustomerMatrix.js"
import { lackingMatrix, presetMatrix } from "../support/matrices/PermissionMatrix.js"
import { scopeMatrix } from "../support/matrices/ScopeMatrix.js"
import { keyCallers } from "../support/matrices/TestCaller.js"

// --- The front ---

interface RpcRequest {
  readonly id: number
  /** The operation's name, as in `customers.create`. */
  readonly method: string
  readonly params: {
    readonly path?: { readonly [name: string]: string }
    readonly query?: string
    readonly body?: unknown
  }
}

interface RpcAnswer {
  readonly id: number
  readonly headers: Answer["headers"]
  readonly result?: { readonly status: number; readonly value: unknown }
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

const nameOf = ({ group, name }: Contract) => `${group}.${name}`
const isOffered = ({ isJson }: Contract) => isJson

const makeFront = Effect.gen(function* () {
  const { serve } = yield* makePipeline
  const handlers = yield* OperationHandlers
  const methods = new Map([...handlers].filter(([one]) => isOffered(one)).map((entry) => [nameOf(entry[0]), entry]))
  return (
    head: Pick<RequestHead, "headers" | "remoteAddress">,
    { id, method, params }: RpcRequest
  ): Effect.Effect<RpcAnswer> => {
    const found = methods.get(method)
    if (found === undefined)
      return Effect.succeed({ id, error: { code: -32601, message: `there is no method ${method}` }, headers: {} })
    const [operation, handler] = found
    const { body, path = {}, query } = params
    const address = operation.path.replace(/:(\w+)/g, (_, name: string) => path[name] ?? "")
    return Effect.map(
      serve(
        {
          rules: surfaceB.some((one) => one === operation) ? tenantRules : defaultRules,
          route: operation,
          params: path,
          request: {
            ...head,
            method: operation.method,
            target: query === undefined ? address : `${address}?${query}`,
            body: Buffer.from(body === undefined ? "" : JSON.stringify(body))
          }
        },
        handler
      ),
      ({ body: bytes, headers, status }) => {
        const text = Buffer.from(bytes as string | Uint8Array).toString()
        const value: unknown = text === "" ? null : JSON.parse(text)
        return status < 400
          ? { id, result: { status, value }, headers }
          : { id, error: { code: status, message: "refused", data: value }, headers }
      }
    )
  }
}).pipe(Effect.provide(RefusalCounters.Default))

// --- The matrices, asked through the front ---

const findRoute = makeMatcher([...surfaceB, ...surfaceC])
let calls = 0

/** The service, whose operations are asked by name where the front offers them. */
const throughFront = async (svc: Running): Promise<Running> => {
  const call = await svc.run(makeFront)
  const ask = async (method: string, target: string, more: Ask = {}): Promise<Answer> => {
    const found = findRoute(method, pathOf(target))
    const isPlain = more.raw === undefined && more.later === undefined && more.from === undefined
    if (found._tag !== "Found" || !isOffered(found.route) || !isPlain) return svc.ask(method, target, more)
    calls++
    const headers = {
      "content-type": "application/json",
      ...(more.key === undefined ? {} : { authorization: `Bearer ${more.key}` }),
      ...more.headers
    }
    const at = target.indexOf("?")
    const params = {
      path: found.params,
      ...(at < 0 ? {} : { query: target.slice(at + 1) }),
      ...(more.body === undefined ? {} : { body: more.body })
    }
    const request = { id: calls, method: nameOf(found.route), params }
    const answer = await svc.run(call({ headers, remoteAddress: "127.0.0.1" }, request))
    const body: any = answer.error?.data ?? answer.result?.value // oxlint-disable-line typescript/no-explicit-any
    const status = answer.error?.code ?? answer.result?.status ?? 500
    return { status, headers: answer.headers, body, text: JSON.stringify(body) }
  }
  return { ...svc, ask }
}

let started: Promise<World> | undefined
const world = (): Promise<World> =>
  (started ??= startWorld().then(async (made) => ({ ...made, svc: await throughFront(made.svc) })))
let svc: Running
beforeAll(async () => {
  svc = (await world()).svc
})
afterAll(async () => (await started)?.stop())

presetMatrix(() => svc, keyCallers, ["viewer"])
lackingMatrix(() => svc, keyCallers, ["connections:read"])
scopeMatrix(world, keyCallers.noun, { once: true })
customerMatrix(world)

describe("the front", () => {
  it("offers every operation whose contract is JSON, and names the others", () => {
    const others = [...surfaceB, ...surfaceC].filter((one) => !isOffered(one)).map(nameOf)
    assert.deepStrictEqual(others, ["workflows.diagram", "workflows.export", "executions.diagram", "watch.open"])
    assert.isAbove(calls, 500)
  })

  it("knows no other method", async () => {
    const call = await svc.run(makeFront)
    const answer = await svc.run(
      call({ headers: {}, remoteAddress: "127.0.0.1" }, { id: 1, method: "none.such", params: {} })
    )
    assert.deepInclude(answer, { id: 1, error: { code: -32601, message: "there is no method none.such" } })
  })
})
