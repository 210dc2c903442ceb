/** Watches of three nodes: what one commits, all tell, over reconnects and the death of the node that served the stream. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type ClusterNode, makeCluster, nodeOf, type TestCluster } from "../../support/cluster.js"
import { eventually } from "../../support/eventually.js"
import { announce } from "../../support/LogExpectations.js"
import { type Followed, watchAt } from "../../support/watch.js"

let cluster: TestCluster
let nodes: ReadonlyArray<ClusterNode> = []
let flow = ""

beforeAll(async () => {
  cluster = await makeCluster()
  nodes = [await cluster.start(), await cluster.start({ env: { SVC_ROLE: "api" } }), await cluster.start()]
  flow = await nodeOf(nodes, 0).client.workflow("watched", "instant", "export default async () => 1")
})
afterAll(() => cluster.end())

const runAt = async (node: ClusterNode): Promise<string> => {
  const answer = await node.client.call("POST", `/api/v1/workflows/${flow}/execute`, { input: {} })
  assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
  return answer.headers.get("x-svc-execution-id") ?? ""
}

/** Changes that a stream told of: one by one, and as numbers. */
const countOf = (streams: ReadonlyArray<Followed>) =>
  streams
    .flatMap(({ messages }) => messages)
    .reduce((all, { many = 1, topic }) => (topic === "reset" ? NaN : all + many), 0)

describe("a watch of a cluster", () => {
  it("tells on each node of what any node commits", async () => {
    const streams = await Promise.all(nodes.map(({ url }) => watchAt(url, "executions", { key: cluster.apiKey })))
    await Promise.all(streams.map(({ begun }) => begun))
    for (const node of nodes) {
      const id = await runAt(node)
      await Promise.all(streams.map(({ told }) => told(id, "completed")))
      await new Promise((resolve) => setTimeout(resolve, 400))
    }
    await Promise.all(streams.map(({ close }) => close()))
  })

  it("misses nothing over reconnects to other nodes, and the death of the one that it was opened on", async () => {
    announce(/"(?:cluster\.|background_task\.failed")/)
    const ran: Array<string> = []
    const stop = new AbortController()
    const load = (async () => {
      for (let n = 0; !stop.signal.aborted; n++) {
        ran.push(await runAt(nodeOf(nodes, n % 2 === 0 ? 0 : 1)))
        await new Promise((resolve) => setTimeout(resolve, 150))
      }
    })()
    const streams: Array<Followed> = []
    const follow = async (node: ClusterNode) => {
      const next = await watchAt(node.url, "executions", { key: cluster.apiKey, lastId: streams.at(-1)?.lastId() })
      streams.push(next)
      await next.begun
      await new Promise((resolve) => setTimeout(resolve, 1_500))
    }
    await follow(nodeOf(nodes, 0))
    // Its runs are told of before the first stream's position, or after it.
    const from = ran.length
    await streams[0]?.close()
    await follow(nodeOf(nodes, 1))
    await streams[1]?.close()
    await follow(nodeOf(nodes, 2))
    nodeOf(nodes, 2).kill("SIGKILL")
    await streams[2]?.ended
    await follow(nodeOf(nodes, 1))
    stop.abort()
    await load
    const expected = ran.slice(from)
    assert.isAtLeast(expected.length, 10)
    await eventually(
      async () => {
        const told = new Set(streams.flatMap(({ messages }) => messages.map(({ id }) => id)))
        const summed = streams
          .flatMap(({ messages }) => messages.flatMap(({ many = 0 }) => many))
          .reduce((a, b) => a + b, 0)
        return expected.filter((id) => !told.has(id)).length - summed
      },
      (missed) => missed <= 0
    )
    assert.isNotNaN(countOf(streams), "a stream was reset")
    await streams.at(-1)?.close()
  })

  it("ends on every node when its key is revoked on one", async () => {
    const [first, second] = [nodeOf(nodes, 0), nodeOf(nodes, 1)]
    const made = await first.client.call("POST", "/api/v1/api-keys", {
      name: "watcher",
      mode: "live",
      preset: "full_access"
    })
    const { id, key } = made.body.data
    const stream = await watchAt(second.url, "executions", { key })
    await stream.begun
    assert.strictEqual((await first.client.call("DELETE", `/api/v1/api-keys/${id}`)).status, 200)
    await stream.ended
  })

  it("keeps no node from stopping", async () => {
    const node = nodeOf(nodes, 1)
    const stream = await watchAt(node.url, "executions", { key: cluster.apiKey })
    await stream.begun
    node.kill("SIGTERM")
    await stream.ended
    await node.ended
  })
})
