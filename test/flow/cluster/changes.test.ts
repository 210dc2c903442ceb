/** What one node answered to a change, all nodes know in the next request: what they had read before is dropped. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type ClusterNode, makeCluster, nodeOf, type TestCluster } from "../../support/cluster.js"
import { announce } from "../../support/LogExpectations.js"

let cluster: TestCluster
let nodes: ReadonlyArray<ClusterNode> = []

beforeAll(async () => {
  cluster = await makeCluster()
  nodes = [await cluster.start(), await cluster.start(), await cluster.start()]
  await cluster.whole(3)
})
afterAll(() => cluster.end())

const nodeAt = (at: number) => nodeOf(nodes, at)

describe("a change that one node has answered", () => {
  it("holds in the next request to each node: a published version", async () => {
    const flow = await nodeAt(0).client.workflow("version", "instant", "export default async () => 0")
    for (let version = 1; version <= 12; version++) {
      // Each node has the version before in memory.
      for (const { client } of nodes)
        assert.deepStrictEqual([(await client.run(flow)).status, (await client.run(flow)).body], [200, version - 1])
      const { call } = nodeAt(version).client
      const code = `export default async () => ${version}`
      assert.strictEqual((await call("PUT", `/api/v1/workflows/${flow}`, { code })).status, 200)
      assert.strictEqual((await call("POST", `/api/v1/workflows/${flow}/publish`, {})).status, 200)
      const answers = await Promise.all(nodes.map(({ client }) => client.run(flow)))
      assert.deepStrictEqual(
        answers.map(({ body }) => body),
        [version, version, version]
      )
    }
    // A release for one customer, then its rollback.
    const { call } = nodeAt(1).client
    const customerId: string = (await call("POST", "/api/v1/customers", { name: "Pinned" })).body.data.id
    const seen = async () => {
      const runs = nodes.map(({ client }) => client.run(flow, {}, { "x-end-org-id": customerId }))
      return (await Promise.all(runs)).map(({ body }) => body)
    }
    assert.deepStrictEqual(await seen(), [12, 12, 12])
    const pinned = { customerId, workflows: [{ workflowId: flow, version: 1 }], environment: "live" }
    const made = await call("POST", "/api/v1/releases", pinned)
    assert.strictEqual(made.status, 201, JSON.stringify(made.body))
    assert.deepStrictEqual(await seen(), [0, 0, 0])
    const rolled = await nodeAt(2).client.call("POST", `/api/v1/releases/${made.body.data.id}/rollback`, {
      environment: "live"
    })
    assert.strictEqual(rolled.status, 201, JSON.stringify(rolled.body))
    assert.deepStrictEqual(await seen(), [12, 12, 12])
  })

  it("holds in the next request to each node: a revoked key", async () => {
    for (let round = 0; round < 6; round++) {
      const { call } = nodeAt(round).client
      const made = await call("POST", "/api/v1/api-keys", {
        name: `key ${round}`,
        mode: "live",
        preset: "full_access"
      })
      assert.strictEqual(made.status, 201, JSON.stringify(made.body))
      const { id, key } = made.body.data
      const statuses = () =>
        Promise.all(
          nodes.map(async ({ client }) => {
            const headers = { authorization: `Bearer ${key}` }
            return (await client.call("GET", "/api/v1/executions", undefined, headers)).status
          })
        )
      assert.deepStrictEqual(await statuses(), [200, 200, 200])
      assert.strictEqual((await call("DELETE", `/api/v1/api-keys/${id}`)).status, 200)
      assert.deepStrictEqual(await statuses(), [401, 401, 401])
    }
  })

  it("does not wait for a node that does not answer", async () => {
    announce(/"cluster\.seat_lost"|"background_task\.failed"|"audit\.seal_failed"/)
    const { client } = nodeAt(0)
    const change = async () => {
      const made = await client.call("POST", "/api/v1/customers", { name: "A" })
      assert.strictEqual(made.status, 201, JSON.stringify(made.body))
    }
    await change()
    nodeAt(2).kill("SIGSTOP")
    try {
      // It hangs until this is answered.
      await change()
    } finally {
      nodeAt(2).kill("SIGCONT")
    }
    await cluster.whole(3)
  })
})
