/** Requests to a node whose owners of shards cannot be reached are answered in time, and all work again soon after the path is back. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { setTimeout as pause } from "node:timers/promises"
import { type ClusterNode, makeCluster, nodeOf, type TestCluster } from "../../../support/cluster.js"
import { promptConnectEnv } from "../../../support/connectTimeout.js"
import { freePort } from "../../../support/freePort.js"
import { announce } from "../../../support/LogExpectations.js"
import { assertWithin } from "../../../support/pace.js"
import { type PathProxy, startPathProxy } from "../../../support/pathProxy.js"

/** Until a request is answered, whatever it is: its sender waits no longer. */
const answerMillis = 30_000
/** Until all requests work again. */
const wholeMillis = 15_000
/** The address at which other nodes reach one: the proxy listens there, and the node at the same port of 127.0.0.1. */
const outside = "127.0.0.2"

let cluster: TestCluster
let nodes: ReadonlyArray<ClusterNode> = []
let path: PathProxy
beforeAll(async () => {
  cluster = await makeCluster(promptConnectEnv)
  const port = await freePort()
  path = await startPathProxy(port, { listen: { host: outside, port } })
  const env = { SVC_NODE_ADDRESS: `${outside}:${port}`, SVC_NODE_LISTEN: "127.0.0.1" }
  nodes = [await cluster.start(), await cluster.start({ env })]
  await cluster.whole(2)
}, 120_000)
afterAll(async () => {
  await cluster.end()
  path.close()
}, 60_000)

it("Instant starts and queued ones while the path between two nodes is cut, and after", async () => {
  announce(/"(?:cluster\.|background_task\.failed|run\.)/)
  const { client } = nodeOf(nodes, 0)
  const flows = [
    await client.workflow("instant", "instant", "export default async () => 1"),
    await client.workflow("queued", "standard", "export default async () => 1")
  ]
  path.cut()
  const asked = Array.from({ length: 12 }, async (_, n) => {
    const began = performance.now()
    const { status } = await nodeOf(nodes, n % 2).client.run(flows[n % 2 === 0 ? 0 : 1] ?? "")
    assertWithin(performance.now() - began, answerMillis, "an answer")
    return status
  })
  await Promise.race([Promise.all(asked), pause(5_000)])
  path.heal("dead")
  const healedAt = performance.now()
  await Promise.all(asked)
  for (const node of nodes)
    for (const flow of flows) while ((await node.client.run(flow)).status >= 300) await pause(200)
  assertWithin(performance.now() - healedAt, wholeMillis, "until all works again")
  assert.lengthOf(nodes, 2)
}, 180_000)
