/** Asks every method of the typed RPC, with and without failures, and keeps what the service sends. */
import { assert } from "@effect/vitest"
import { rpcMethods } from "../../src/http/rpc/RpcMethods.js"
import type { Api } from "./api.js"
import { connectRpc, itemOf, openRpc, type RawRpc } from "./rpc.js"

interface Named {
  readonly id: string
  readonly name: string
}

/** `ways`: paths at the provider of all connections of the organisation. */
export interface FrameOptions {
  readonly client: Api
  readonly providerUrl: string
  readonly ways: ReadonlyArray<string>
  /** Workflows of this name call the provider through connections, and fail if their input says so. */
  readonly workflows: RegExp
}

type Call = RawRpc["call"]

const callProviders = async (call: Call, { ways }: FrameOptions): Promise<ReadonlyArray<string>> => {
  const found = await call("connections.list", { page_size: 200 })
  const connections: ReadonlyArray<Named> = found.value.data
  assert.isNotEmpty(connections)
  for (const { id } of connections) {
    await call("connections.test", { id })
    for (const path of ways)
      await call("connections.call", { connection: id, method: "POST", path, body: "{}", timeoutMs: 5_000 })
  }
  return connections.map(({ id }) => id)
}

const runAll = async (call: Call, ids: ReadonlyArray<string>, options: FrameOptions): Promise<void> => {
  const listed = await options.client.call("GET", "/api/v1/workflows?page_size=100")
  const workflows: ReadonlyArray<Named> = listed.body.data
  const runs: Array<string> = []
  for (const { id: workflowId } of workflows.filter(({ name }) => options.workflows.test(name)))
    for (const fails of [false, true])
      for (const method of ["executions.run", "executions.start"]) {
        const input = { ids, ways: options.ways, base: options.providerUrl, fails }
        const { failure, value } = await call(method, { workflowId, input })
        assert.isUndefined(failure, JSON.stringify(failure))
        runs.push(value.executionId)
        if (method === "executions.run") assert.strictEqual(value.status, fails ? "failed" : "completed")
      }
  assert.isNotEmpty(runs)
  for (const id of runs)
    for (const method of ["executions.await", "executions.get", "executions.cancel"]) await call(method, { id })
}

/** All frames and refusals that the service sent, one a line. */
export const framesOfEveryMethod = async (options: FrameOptions): Promise<string> => {
  const { baseUrl, apiKey, customerId: customer } = options.client.dev
  const rpc = await connectRpc(baseUrl, apiKey)
  const called = new Set<string>()
  const call: Call = (method, payload = {}) => {
    called.add(method)
    return rpc.call(method, { customer, ...(payload as object) })
  }
  for (const method of ["executions.watch", "events.watch"]) {
    await itemOf(rpc.stream(method), ({ cursor }) => cursor !== null)
    called.add(method)
  }
  const connections = await callProviders(call, options)
  await runAll(call, connections.slice(-2), options)
  const { failure: refusal, value: event } = await call("events.publish", {
    type: "shop.paid",
    customerId: customer,
    payload: {}
  })
  assert.isUndefined(refusal, JSON.stringify(refusal))
  await call("events.get", { id: event.id ?? event.eventId })
  for (const method of ["executions.list", "events.list", "tenants.list", "tenants.usage"]) await call(method)
  await call("tenants.get", { id: customer })
  assert.sameMembers([...called], [...rpcMethods.keys()])
  for (const method of called) {
    await call(method, { id: "none", workflowId: "none", type: 5, cursor: 5, page_size: "many" })
    const { failure } = await call(method, { customer: 5 })
    assert.strictEqual(failure?._tag, "InvalidRequest", method)
  }
  const refusals = await Promise.all(
    ["svk_live_none", `svk_live_${"x".repeat(43)}`].map((key) => openRpc(baseUrl, { authorization: `Bearer ${key}` }))
  )
  await rpc.close()
  return [...rpc.messages, ...refusals].map((one) => JSON.stringify(one)).join("\n")
}
