/** Requests of a node whose connections went silent while it had no seat are answered once it has one, not after a quarter of an hour. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { type ClusterNode, makeCluster, type TestCluster, withholdSeats } from "../../support/cluster.js"
import { eventually } from "../../support/eventually.js"
import { announce } from "../../support/LogExpectations.js"
import { type PathProxy, startPathProxy } from "../../support/pathProxy.js"
import { promptConnectEnv } from "../../support/connectTimeout.js"

let cluster: TestCluster
let proxy: PathProxy
let node: ClusterNode

beforeAll(async () => {
  cluster = await makeCluster(promptConnectEnv)
  proxy = await startPathProxy(Number(new URL(cluster.env["SVC_DATABASE_URL_OWNER"] ?? "").port))
  await cluster.start({ env: { SVC_ROLE: "runner" } })
  const through = Object.entries(cluster.env).flatMap(([name, value]) => {
    if (!name.includes("DATABASE_URL")) return []
    const url = new URL(value)
    url.hostname = "127.0.0.1"
    url.port = String(proxy.port)
    return [[name, url.href]]
  })
  node = await cluster.start({ env: { ...Object.fromEntries(through), SVC_ROLE: "api" } })
})
afterAll(async () => {
  await cluster.end()
  proxy.close()
})

it("a node whose connections go silent between two seats answers the requests that wait on them", async () => {
  announce(/"(?:cluster\.|background_task\.failed|events\.|audit\.)/)
  const seats = await withholdSeats(cluster, "api")
  try {
    const ask = async () => (await node.client.call("GET", "/api/v1/workflows")).status
    await eventually(ask, (status) => status === 200)
    proxy.delay(200)
    const waiting = Array.from({ length: 4 }, ask)
    await new Promise((resolve) => setTimeout(resolve, 300))
    proxy.cut()
    proxy.heal("dead")
    proxy.delay(0)
    await seats.release()
    const statuses = await Promise.all(waiting)
    assert.deepStrictEqual([...new Set(statuses)], [503])
    assert.strictEqual(await ask(), 200)
  } finally {
    await seats.release()
  }
})
