/** Watches of three nodes tell of what any of them commits within a second, and end soon. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { type ClusterNode, makeCluster, nodeOf, type TestCluster } from "../../../support/cluster.js"
import { assertWithin } from "../../../support/pace.js"
import { watchAt } from "../../../support/watch.js"

let cluster: TestCluster
let nodes: ReadonlyArray<ClusterNode> = []
beforeAll(async () => {
  cluster = await makeCluster()
  nodes = [await cluster.start(), await cluster.start({ env: { SVC_ROLE: "api" } }), await cluster.start()]
}, 120_000)
afterAll(() => cluster.end(), 60_000)

const watch = async ({ url }: ClusterNode, key = cluster.apiKey) => {
  const stream = await watchAt(url, "executions", { key })
  await stream.begun
  return stream
}

it("tells on each node of what any node commits", async () => {
  const flow = await nodeOf(nodes, 0).client.workflow("watched", "instant", "export default async () => 1")
  const streams = await Promise.all(nodes.map((node) => watch(node)))
  for (const { client } of nodes) {
    const answer = await client.call("POST", `/api/v1/workflows/${flow}/execute`, { input: {} })
    const ran = performance.now()
    const id = answer.headers.get("x-svc-execution-id") ?? ""
    await Promise.all(streams.map(({ told }) => told(id, "completed")))
    assertWithin(performance.now() - ran, 1_000)
    await new Promise((resolve) => setTimeout(resolve, 400))
  }
  await Promise.all(streams.map(({ close }) => close()))
}, 60_000)

it("ends on every node when its key is revoked on one", async () => {
  const { call } = nodeOf(nodes, 0).client
  const made = await call("POST", "/api/v1/api-keys", { name: "watcher", mode: "live", preset: "full_access" })
  const { id, key } = made.body.data
  const stream = await watch(nodeOf(nodes, 1), key)
  const began = performance.now()
  assert.strictEqual((await call("DELETE", `/api/v1/api-keys/${id}`)).status, 200)
  assertWithin((await stream.ended) - began, 1_000)
}, 30_000)

it("keeps no node from stopping", async () => {
  const node = nodeOf(nodes, 1)
  const stream = await watch(node)
  const began = performance.now()
  node.kill("SIGTERM")
  await stream.ended
  await node.ended
  assertWithin(performance.now() - began, 6_000)
}, 30_000)
