/** The typed RPC over several nodes tells of an end soon, and a node that stops answers its calls soon. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { type ClusterNode, makeCluster, nodeOf, type TestCluster } from "../../../support/cluster.js"
import { announce } from "../../../support/LogExpectations.js"
import { assertWithin } from "../../../support/pace.js"
import { connectRpc } from "../../../support/rpc.js"

let cluster: TestCluster
let nodes: ReadonlyArray<ClusterNode> = []
beforeAll(async () => {
  cluster = await makeCluster()
  nodes = [await cluster.start({ env: { SVC_ROLE: "api" } }), await cluster.start(), await cluster.start()]
}, 120_000)
afterAll(() => cluster.end(), 60_000)

const code = (millis: number) =>
  `export default async (ctx) => { await new Promise((r) => setTimeout(r, ${millis})); return ctx.input.n }`
const connect = (at: number) => connectRpc(nodeOf(nodes, at).url, cluster.apiKey)

it("tells of an end soon after another node has committed it", async () => {
  const { client } = nodeOf(nodes, 0)
  const brief = await client.workflow("brief", "standard", code(150))
  const rpc = await connect(0)
  const took: Array<number> = []
  for (let n = 0; n < 9; n++) {
    const { value } = await rpc.call("executions.run", { workflowId: brief, input: { n } })
    const told = Date.now()
    const { body } = await client.call("GET", `/api/v1/executions/${String(value.executionId)}`)
    took.push(told - Date.parse(body.data.finishedAt))
  }
  await rpc.close()
  // By itself the node looks each 400 ms.
  assertWithin(took.toSorted((a, b) => a - b)[4] ?? assert.fail(), 100, "the middle one of nine")
}, 60_000)

it("answers what was accepted when its node leaves", async () => {
  announce(/"(?:cluster\.|background_task\.failed)/)
  const instant = await nodeOf(nodes, 0).client.workflow("instant", "instant", code(2_500))
  const rpc = await connect(1)
  const running = rpc.call("executions.start", { workflowId: instant, input: { n: 7 }, idempotencyKey: "leaves" })
  await new Promise((resolve) => setTimeout(resolve, 200))
  const began = performance.now()
  nodeOf(nodes, 1).kill("SIGTERM")
  assert.strictEqual((await running).value.status, "completed")
  assert.strictEqual(await rpc.closed, 1012)
  assertWithin(performance.now() - began, 6_000)
  await nodeOf(nodes, 1).ended
}, 60_000)
