/** Clients of the typed RPC connect again sooner when their node was stopped than when their connection broke off. */
import { assert, it } from "@effect/vitest"
import { connect, type EndedExecution } from "../../../../src/http/rpc/client/Package.js"
import { type FakeRequest, startFakeRpc } from "../../../support/fakeRpc.js"
import { assertWithin } from "../../../support/pace.js"

const ended: EndedExecution = { executionId: "exec_1", status: "completed", statusReason: null, output: 1, error: null }

/** Ends the first connection after it was open for a while, and tells how long a read took that was sent meanwhile. */
const tookAfter = async (end: (request: FakeRequest) => void) => {
  const fake = await startFakeRpc((request) =>
    request.connection > 1 ? request.succeed(ended) : void setTimeout(() => end(request), 600)
  )
  const pause = { first: 2_000, longest: 4_000 }
  const connection = await connect({ url: fake.url, key: "svk_test", pause, patience: 20_000 })
  const began = performance.now()
  assert.deepStrictEqual(await connection.executions.await({ id: "exec_1" }), ended)
  const took = performance.now() - began - 600
  await connection.close()
  await fake.close()
  return took
}

it("clients connect again within half the shortest pause, after a connection that broke off later", async () => {
  const [stopped, broken] = await Promise.all([
    tookAfter(({ socket }) => socket.close(1012)),
    tookAfter(({ socket }) => socket.terminate())
  ])
  assertWithin(stopped, 1_300)
  assert.isAtLeast(broken, 1_900)
})
