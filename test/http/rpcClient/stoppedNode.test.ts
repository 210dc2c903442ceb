/** Clients of the typed RPC go on elsewhere at once when their node is stopped. */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { connect, type EndedExecution } from "../../../src/http/rpc/client/Package.js"
import { type FakeRequest, startFakeRpc } from "../../support/fakeRpc.js"

const open = new Set<{ readonly close: () => Promise<unknown> }>()
afterEach(async () => {
  for (const one of open) await one.close()
  open.clear()
})

const ended: EndedExecution = { executionId: "exec_1", status: "completed", statusReason: null, output: 1, error: null }

describe("a node that stops", () => {
  it.each([
    ["that says so", ({ socket }: FakeRequest) => socket.close(1012)],
    ["that breaks off", ({ socket }: FakeRequest) => socket.terminate()]
  ])("and has a connection %s is connected again", async (_, end) => {
    const fake = await startFakeRpc((request) => (request.connection > 1 ? request.succeed(ended) : end(request)))
    open.add(fake)
    const connection = await connect({ url: fake.url, key: "svk_test", pause: { first: 100, longest: 200 } })
    open.add(connection)
    assert.deepStrictEqual(await connection.executions.await({ id: "exec_1" }), ended)
  })

  it("and closes each connection at once is not asked without a pause", async () => {
    const until = Date.now() + 1_000
    const fake = await startFakeRpc(({ socket, succeed }) => (Date.now() < until ? socket.close(1012) : succeed(ended)))
    open.add(fake)
    const connection = await connect({ url: fake.url, key: "svk_test", pause: { first: 100, longest: 200 } })
    open.add(connection)
    assert.deepStrictEqual(await connection.executions.await({ id: "exec_1" }), ended)
    assert.isAtMost(fake.sockets.length, 14)
  })
})
