/** The typed RPC permits what the REST surfaces permit: the same matrices, asked over its connections. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { surfaceB, surfaceC, surfaceAStart } from "../../src/http/operations/Surfaces.js"
import { makeMatcher } from "../../src/http/pipeline/Routes.js"
import { type RpcMethod, rpcMethods } from "../../src/http/rpc/RpcMethods.js"
import { pathOf } from "../../src/http/Wire.js"
import { startWorld, type World } from "../support/endpointWorld.js"
import type { Answer, Ask, Running } from "../support/InProcess.js"
import { customerMatrix } from "../support/matrices/CustomerMatrix.js"
import { lackingMatrix, presetMatrix } from "../support/matrices/PermissionMatrix.js"
import { scopeMatrix } from "../support/matrices/ScopeMatrix.js"
import { keyCallers } from "../support/matrices/TestCaller.js"
import { openRpc, type RawRpc, type RefusedRpc } from "../support/rpc.js"

const findRoute = makeMatcher([...surfaceAStart, ...surfaceB, ...surfaceC])
const isOffered = ({ kind }: RpcMethod) => kind === "operation" || kind === "start"
const offered = new Map(
  [...rpcMethods].filter(([, one]) => isOffered(one)).map(([name, one]) => [one.contract, { name, ...one }])
)
const asked = new Set<string>()
const connections = new Map<string, Promise<RawRpc | RefusedRpc>>()

type Offered = RpcMethod & { readonly name: string }

/** What of the request the RPC has a method for; `undefined`: it is to be asked over HTTP. */
const methodFor = (method: string, target: string, { from, headers = {}, key, later, raw }: Ask) => {
  const found = findRoute(method, pathOf(target))
  const rpc = found._tag === "Found" ? offered.get(found.route) : undefined
  const isPlain = key !== undefined && later === undefined && raw === undefined && from === undefined
  return found._tag === "Found" &&
    rpc !== undefined &&
    isPlain &&
    !("if-match" in headers || "idempotency-key" in headers)
    ? { rpc, params: found.params, sent: { authorization: `Bearer ${key}`, ...headers } }
    : undefined
}

const payloadOf = (rpc: Offered, target: string, params: { readonly [name: string]: string }, body: unknown) => {
  const at = target.indexOf("?")
  const query = Object.fromEntries(new URLSearchParams(at < 0 ? "" : target.slice(at)))
  const id = rpc.id === undefined ? {} : { [rpc.id.member]: decodeURIComponent(params[rpc.id.parameter] ?? "") }
  return { ...query, ...(typeof body === "object" ? body : {}), ...id }
}

/** A value in the form of REST. */
// oxlint-disable-next-line typescript/no-explicit-any -- The matrices assert its members.
const answerTo = ({ contract, kind }: Offered, value: any): Answer => {
  const answer = answerOf(contract.outputs[0]?.status ?? 200, "page" in value ? value : { data: value })
  return kind === "start" ? { ...answer, headers: { "x-svc-execution-id": value.executionId } } : answer
}

/** The service, whose operations are called by the RPC where it has them. */
const throughRpc = async (svc: Running): Promise<Running> => {
  const { baseUrl } = await svc.listen()
  const ask = async (method: string, target: string, more: Ask = {}): Promise<Answer> => {
    const asking = methodFor(method, target, more)
    if (asking === undefined) return svc.ask(method, target, more)
    const { params, rpc, sent } = asking
    const name = JSON.stringify(sent)
    const opening = connections.get(name) ?? openRpc(baseUrl, sent)
    connections.set(name, opening)
    const connection = await opened(name, opening)
    asked.add(rpc.name)
    if (!("call" in connection)) return answerOf(connection.status, connection.body)
    const { failure, value } = await connection.call(rpc.name, payloadOf(rpc, target, params, more.body))
    return failure === undefined ? answerTo(rpc, value) : answerOf(failure.statusCode, failure)
  }
  return { ...svc, ask }
}

/** A refused connection is not kept. */
const opened = async (name: string, opening: Promise<RawRpc | RefusedRpc>) => {
  const found = await opening
  if (!("call" in found) || found.socket.readyState !== found.socket.OPEN) connections.delete(name)
  return found
}
const answerOf = (status: number, body: unknown): Answer => ({ status, body, headers: {}, text: JSON.stringify(body) })

let started: Promise<World> | undefined
const world = (): Promise<World> =>
  (started ??= startWorld().then(async (made) => ({ ...made, svc: await throughRpc(made.svc) })))
let svc: Running
beforeAll(async () => {
  svc = (await world()).svc
})
afterAll(async () => {
  for (const one of connections.values()) {
    const connection = await one
    if ("call" in connection) await connection.close()
  }
  await (await started)?.stop()
})

presetMatrix(() => svc, keyCallers, ["viewer"])
lackingMatrix(() => svc, keyCallers, ["connections:read", "workflows:execute"])
scopeMatrix(world, keyCallers.noun, { once: true })
customerMatrix(world)

describe("the matrices", () => {
  it("ask every method that is an operation", () => {
    assert.deepStrictEqual([...asked].sort(), [...offered.values()].map(({ name }) => name).sort())
  })
})
