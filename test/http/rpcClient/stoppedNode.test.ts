/** Clients of the typed RPC go on elsewhere at once when their node is stopped. */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { connect, type EndedExecution } from "../../../src/http/rpc/client/Package.js"
import { type FakeRequest, startFakeRpc } from "../../support/fakeRpc.js"
import { assertWithin } from "../../support/pace.js"

const open = new Set<{ readonly close: () => Promise<unknown> }>()
afterEach(async () => {
  for (const one of open) await one.close()
  open.clear()
})

const ended: EndedExecution = { executionId: "exec_1", status: "completed", statusReason: null, output: 1, error: null }

describe("a node that stops", () => {
  /** Ends the first connection after it was open for a while, and tells how long a read took that was sent meanwhile. */
  const tookAfter = async (end: (request: FakeRequest) => void) => {
    const fake = await startFakeRpc((request) =>
      request.connection > 1 ? request.succeed(ended) : void setTimeout(() => end(request), 600)
    )
    open.add(fake)
    const connection = await connect({
      url: fake.url,
      key: "svk_test",
      pause: { first: 2_000, longest: 4_000 },
      patience: 20_000
    })
    open.add(connection)
    const began = performance.now()
    assert.deepStrictEqual(await connection.executions.await({ id: "exec_1" }), ended)
    return performance.now() - began - 600
  }

  it("has its clients connect again within half the shortest pause, one that breaks off later", async () => {
    const [stopped, broken] = await Promise.all([
      tookAfter(({ socket }) => socket.close(1012)),
      tookAfter(({ socket }) => socket.terminate())
    ])
    assertWithin(stopped, 1_300)
    assert.isAtLeast(broken, 1_900)
  })

  it("and closes each connection at once is not asked without a pause", async () => {
    const until = performance.now() + 1_000
    const fake = await startFakeRpc(({ socket, succeed }) =>
      performance.now() < until ? socket.close(1012) : succeed(ended)
    )
    open.add(fake)
    const connection = await connect({ url: fake.url, key: "svk_test", pause: { first: 100, longest: 200 } })
    open.add(connection)
    assert.deepStrictEqual(await connection.executions.await({ id: "exec_1" }), ended)
    assert.isAtMost(fake.sockets.length, 14)
  })
})
