/** The client of the typed RPC and the service understand each other, method by method. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { ServerResponse } from "node:http"
import { connect, Failures, type RpcClient, type WatchItem } from "../../../src/http/rpc/client/Package.js"
import {
  connect as connectCustomer,
  publishConnector,
  scripts,
  startSharedCalls,
  stopCalls,
  svc,
  systems,
  workflow
} from "../../support/calls.js"
import { makeKey } from "../../support/keys.js"

let client: RpcClient
const opened = new Set<RpcClient>()
const open = async (key = svc.first.key, customer?: string) => {
  const { baseUrl } = await svc.listen()
  const one = await connect({ url: baseUrl, key, customer })
  opened.add(one)
  return one
}
beforeAll(async () => {
  await startSharedCalls()
  client = await open()
})
afterAll(async () => {
  await Promise.all([...opened].map(({ close }) => close()))
  await stopCalls()
})

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => assert.fail("it succeeded"),
    (failure: unknown) => failure
  )

/** Reads items until one is found. */
const until = async (items: AsyncIterator<WatchItem>, isFound: (item: WatchItem) => boolean): Promise<WatchItem> => {
  for (;;) {
    const { done, value } = await items.next()
    if (done === true) return assert.fail("the watch has ended")
    if (isFound(value)) return value
  }
}

describe("runs", () => {
  it("are started, awaited, read, listed and run in one", async () => {
    const workflowId = await workflow("return { hello: ctx.input.name }", "standard")
    const started = await client.executions.start({ workflowId, input: { name: "Ada" }, metadata: { n: 1 } })
    const ended = await client.executions.await({ id: started.executionId })
    assert.deepInclude(ended, { status: "completed", output: { hello: "Ada" } })
    const record = await client.executions.get({ id: started.executionId })
    assert.deepInclude(record, { status: "completed", output: { hello: "Ada" }, metadata: { n: 1 } })
    const { data, page } = await client.executions.list({ workflow_id: workflowId, page_size: 5 })
    assert.deepStrictEqual([data.map(({ id }) => id), page.hasMore], [[record.id], false])
    const run = await client.executions.run({ workflowId, input: { name: "Bo" }, idempotencyKey: "run-1" })
    assert.deepStrictEqual(run.output, { hello: "Bo" })
    const again = await client.executions.run({ workflowId, input: { name: "Bo" }, idempotencyKey: "run-1" })
    assert.strictEqual(again.executionId, run.executionId)
  })

  it("are cancelled, and a second time refused with a typed failure", async () => {
    const workflowId = await workflow("await new Promise((r) => setTimeout(r, 60_000))", "standard")
    const { executionId: id } = await client.executions.start({ workflowId })
    const waiting = client.executions.await({ id })
    assert.strictEqual((await client.executions.cancel({ id })).status, "cancelled")
    assert.strictEqual((await waiting).status, "cancelled")
    const failure = await failureOf(client.executions.cancel({ id }))
    assert.instanceOf(failure, Failures.InvalidState)
    assert.deepInclude(failure, { code: "INVALID_STATE", state: "cancelled", statusCode: 409 })
  })

  it("are watched from a cursor on", async () => {
    const workflowId = await workflow("return 1", "standard")
    const items = client.executions.watch()[Symbol.asyncIterator]()
    const { cursor } = await until(items, (item) => item.cursor !== null)
    const { executionId: id } = await client.executions.run({ workflowId })
    await until(items, (item) => item._tag === "Changed" && item.id === id && item.status === "completed")
    await items.return?.()
    assert.isString(cursor)
    const later = client.executions.watch({ cursor: cursor ?? "" })[Symbol.asyncIterator]()
    await until(later, (item) => item._tag === "Changed" && item.id === id)
    await later.return?.()
    const lost = client.executions.watch({ cursor: "nonsense" })[Symbol.asyncIterator]()
    assert.deepInclude((await lost.next()).value, { _tag: "Gap" })
    await lost.return?.()
  })
})

describe("events", () => {
  it("are published once, read, listed and watched", async () => {
    const items = client.events.watch()[Symbol.asyncIterator]()
    await until(items, (item) => item._tag === "Position")
    const body = { type: "rpc.client", payload: { n: 1 }, idempotencyKey: "event-1" }
    const made = await client.events.publish(body)
    assert.deepStrictEqual(await client.events.publish(body), made)
    await until(items, (item) => item._tag === "Changed" && item.id === made.eventId)
    await items.return?.()
    assert.deepInclude(await client.events.get({ id: made.eventId }), { type: "rpc.client", payload: { n: 1 } })
    assert.lengthOf((await client.events.list({ type: "rpc.client" })).data, 1)
    const failure = await failureOf(client.events.publish({ type: "not a type" }))
    assert.instanceOf(failure, Failures.ValidationFailed)
    assert.strictEqual(failure.details[0]?.path, "type")
  })
})

describe("connections", () => {
  it("are listed, tested and called through, without their credential", async () => {
    await publishConnector("rpc-acme")
    const connected = await connectCustomer("rpc-acme", "secret-of-acme")
    const { data } = await client.connections.list({ connector: "rpc-acme" })
    const [{ id, status } = assert.fail()] = data
    assert.strictEqual(status, "active", JSON.stringify(connected))
    assert.deepInclude(await client.connections.test({ id }), { accountLabel: null })
    scripts.set("/orders", ({ body, method }) => ({ status: method === "POST" ? 201 : 404, body: { got: body } }))
    const call = await client.connections.call({ connection: id, method: "POST", path: "orders?a=1", body: "text" })
    assert.deepStrictEqual([call.status, JSON.parse(call.body ?? "")], [201, { got: "text" }])
    const sent = systems.requests.find(({ url }) => url === "/orders?a=1")
    assert.strictEqual(sent?.headers["x-acme-key"], "secret-of-acme")
    const own = await open(svc.first.key, svc.first.customerId)
    const missing = await own.connections.call({ connector: "rpc-acme", method: "GET", path: "orders" })
    assert.strictEqual(missing.status, 404)
    const failure = await failureOf(own.connections.call({ connector: "rpc-none", method: "GET", path: "orders" }))
    assert.instanceOf(failure, Failures.ConnectionRequired)
    assert.strictEqual(failure.connector, "rpc-none")
  })

  it("are called once for an answer that does not end, and for one that breaks off", async () => {
    await publishConnector("rpc-endless")
    const connected = await connectCustomer("rpc-endless", "secret")
    const post = (path: string) =>
      client.connections.call({ connection: connected.id, method: "POST", path, body: "{}", timeoutMs: 400 })
    scripts.set("/drip", () => ({
      body: (response: ServerResponse) => {
        const timer = setInterval(() => response.write(" "), 50)
        response.once("close", () => clearInterval(timer))
      }
    }))
    const timedOut = await failureOf(post("drip"))
    assert.instanceOf(timedOut, Failures.ProviderTimedOut)
    assert.strictEqual(timedOut.statusCode, 504)
    scripts.set("/broken", () => ({
      body: (response: ServerResponse) => {
        response.write("[1,")
        setTimeout(() => response.destroy(), 50)
      }
    }))
    // The provider may have done what it was asked for: the client does not ask again by itself.
    const failed = await failureOf(post("broken"))
    assert.instanceOf(failed, Failures.ProviderFailed)
    assert.include(failed.message, "broke off")
    assert.deepStrictEqual(
      ["/drip", "/broken"].map((path) => systems.requests.filter(({ url }) => url === path).length),
      [1, 1]
    )
  })
})

describe("tenants", () => {
  it("are read and listed, and their use of limits", async () => {
    const { customerId: id } = svc.first
    assert.strictEqual((await client.tenants.get({ id })).id, id)
    assert.include(
      (await client.tenants.list({ page_size: 50 })).data.map((one) => one.id),
      id
    )
    const use = await client.tenants.usage()
    assert.isTrue(use.every(({ scope }) => scope === "organisation"))
    assert.isTrue((await client.tenants.usage({ customer: id })).some(({ scope }) => scope === "customer"))
    const failure = await failureOf(client.tenants.get({ id: "cus_01k0000000000000000000000a" }))
    assert.instanceOf(failure, Failures.NotFound)
    assert.match(failure.requestId, /^req_/)
  })
})

describe("a key", () => {
  it("that is unknown, or lacks a permission, is a typed failure", async () => {
    const { baseUrl } = await svc.listen()
    const unknown = await failureOf(connect({ url: baseUrl, key: `svk_live_${"x".repeat(43)}` }))
    assert.instanceOf(unknown, Failures.Unauthorized)
    assert.strictEqual(unknown.code, "UNAUTHORIZED")
    const { key } = await makeKey(svc, { preset: "custom", permissions: { executions: ["read"] } })
    const narrow = await open(key)
    assert.instanceOf(await failureOf(narrow.tenants.list()), Failures.Forbidden)
    assert.isArray((await narrow.executions.list()).data)
  })

  it("that is revoked ends what is open with it", async () => {
    const { id, key } = await makeKey(svc, { preset: "custom", permissions: { executions: ["read"] } })
    const own = await open(key)
    const items = own.executions.watch()[Symbol.asyncIterator]()
    await items.next()
    const pending = failureOf(until(items, () => false))
    await svc.ask("DELETE", `/api/v1/api-keys/${id}`, { key: svc.first.key })
    assert.instanceOf(await pending, Failures.Unauthorized)
    assert.instanceOf(await failureOf(own.executions.list()), Failures.Unauthorized)
  })
})
