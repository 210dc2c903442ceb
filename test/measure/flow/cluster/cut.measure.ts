/** The shards of a node that is cut off from Postgres have another owner soon, and it takes part again soon after. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { type ClusterNode, makeCluster, type TestCluster } from "../../../support/cluster.js"
import { promptConnectEnv } from "../../../support/connectTimeout.js"
import { announce } from "../../../support/LogExpectations.js"
import { assertWithin } from "../../../support/pace.js"
import { type PathProxy, startPathProxy, throughProxy } from "../../../support/pathProxy.js"

let cluster: TestCluster
let proxy: PathProxy
let cutNode: ClusterNode
beforeAll(async () => {
  cluster = await makeCluster(promptConnectEnv)
  proxy = await startPathProxy(Number(new URL(cluster.env["SVC_DATABASE_URL_OWNER"] ?? "").port))
  await cluster.start()
  await cluster.start()
  cutNode = await cluster.start({ env: throughProxy(cluster.env, proxy.port) })
  await cluster.whole(3)
}, 120_000)
afterAll(async () => {
  await cluster.end()
  proxy.close()
}, 60_000)

it("a node that is cut off from Postgres, and comes back", async () => {
  announce(/"cluster\.seat_lost"|"background_task\.failed"/)
  const cutAt = performance.now()
  proxy.cut()
  await cluster.whole(2)
  assertWithin(performance.now() - cutAt, 12_000, "until its shards were taken")
  const asked = performance.now()
  assert.strictEqual((await fetch(`${cutNode.url}/healthz`)).status, 200)
  assertWithin(performance.now() - asked, 1_000, "an answer of /healthz meanwhile")
  const healedAt = performance.now()
  proxy.heal("resumed")
  await cluster.whole(3)
  assertWithin(performance.now() - healedAt, 15_000, "until it took part again")
}, 120_000)
