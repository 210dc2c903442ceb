/** A node is replaced within 15 seconds: its successor takes part, then it stops. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { type ClusterNode, makeCluster, type TestCluster } from "../../../support/cluster.js"
import { announce } from "../../../support/LogExpectations.js"
import { assertWithin } from "../../../support/pace.js"

let cluster: TestCluster
const nodes: Array<ClusterNode> = []
beforeAll(async () => {
  cluster = await makeCluster()
  for (const role of ["runner", "runner", "api", "api"]) nodes.push(await cluster.start({ env: { SVC_ROLE: role } }))
  await cluster.whole(2)
}, 120_000)
afterAll(() => cluster.end(), 60_000)

it("each node of a cluster", async () => {
  announce(/"cluster\.node_gone"/)
  for (const node of nodes) {
    const began = performance.now()
    await cluster.start({ env: { SVC_ROLE: node.role } })
    node.kill("SIGTERM")
    assert.strictEqual(await node.ended, 0, node.output().slice(-2_000))
    assertWithin(performance.now() - began, 15_000)
  }
}, 120_000)
