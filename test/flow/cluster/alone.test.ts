/** A node that is alone and frozen keeps its seat, since no other is there to take it, and goes on when it wakes. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type ClusterNode, makeCluster, type TestCluster } from "../../support/cluster.js"
import { announce } from "../../support/LogExpectations.js"

let cluster: TestCluster
let node: ClusterNode

beforeAll(async () => {
  cluster = await makeCluster()
  node = await cluster.start()
  await cluster.whole(1)
})
afterAll(() => cluster.end())

describe("a node that is alone and frozen", () => {
  it("goes on when it wakes, though its own row says that it was silent", async () => {
    // A statement may have been under way.
    announce(/"cluster\.seat_lost"|"background_task\.failed"/)
    const flow = await node.client.workflow("answers", "instant", "export default async () => 1")
    node.kill("SIGSTOP")
    await new Promise((done) => setTimeout(done, 7_000))
    node.kill("SIGCONT")
    // Until it has seen itself among the nodes.
    await new Promise((done) => setTimeout(done, 2_000))
    const asked = AbortSignal.timeout(10_000)
    assert.strictEqual((await fetch(`${node.url}/healthz`, { signal: asked })).status, 200)
    await cluster.whole(1)
    const answer = await node.client.run(flow)
    assert.deepStrictEqual([answer.status, answer.body], [200, 1])
  })
})
