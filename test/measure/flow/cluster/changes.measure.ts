/** A change waits for a node that does not answer only a moment. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { type ClusterNode, makeCluster, type TestCluster } from "../../../support/cluster.js"
import { announce } from "../../../support/LogExpectations.js"
import { assertOnceWithin } from "../../../support/pace.js"

let cluster: TestCluster
let front: ClusterNode
let hung: ClusterNode
beforeAll(async () => {
  cluster = await makeCluster()
  front = await cluster.start()
  await cluster.start()
  hung = await cluster.start()
  await cluster.whole(3)
}, 120_000)
afterAll(() => cluster.end(), 60_000)

it("a change beside a node that hangs", async () => {
  announce(/"cluster\.seat_lost"|"background_task\.failed"|"audit\.seal_failed"/)
  const change = async () => {
    const began = performance.now()
    assert.strictEqual((await front.client.call("POST", "/api/v1/customers", { name: "A" })).status, 201)
    return performance.now() - began
  }
  await change()
  hung.kill("SIGSTOP")
  try {
    await assertOnceWithin(400, "", change)
  } finally {
    hung.kill("SIGCONT")
  }
  await cluster.whole(3)
}, 60_000)
