/** One `api` node and two `runner` nodes: what waits in the queue starts at once, and a run goes on at once after its approval. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { type ClusterNode, makeCluster, type TestCluster } from "../../../support/cluster.js"
import { eventually } from "../../../support/eventually.js"
import { assertWithin } from "../../../support/pace.js"

let cluster: TestCluster
let front: ClusterNode
beforeAll(async () => {
  cluster = await makeCluster()
  front = await cluster.start({ env: { SVC_ROLE: "api" } })
  for (let n = 0; n < 2; n++) await cluster.start({ env: { SVC_ROLE: "runner" } })
  await cluster.whole(2)
}, 120_000)
afterAll(() => cluster.end(), 120_000)

it("starts what waits in the queue at once", async () => {
  const later = await front.client.workflow("at-once", "standard", "export default async (ctx) => ctx.input.n")
  const waits: Array<number> = []
  for (let n = 0; n < 20; n++) {
    const { body } = await front.client.run(later, { n })
    const ended = await front.client.ended(body.executionId)
    waits.push(Date.parse(ended.startedAt) - Date.parse(ended.createdAt))
  }
  waits.sort((a, b) => a - b)
  assertWithin(waits[10] ?? Infinity, 150, "the middle one of twenty")
}, 60_000)

it("a run of another node goes on at once after its approval", async () => {
  const config = { approvers: ["ada@example.com"], message: "Go on?" }
  const spec = { steps: [{ name: "ask", type: "approval", config }] }
  const made = await front.client.call("POST", "/api/v1/workflows", { name: "asks", form: "steps", spec })
  await front.client.call("POST", `/api/v1/workflows/${made.body.data.id}/publish`, {})
  const { body } = await front.client.run(made.body.data.id)
  const open = await eventually(
    () => front.client.call("GET", `/api/v1/approvals?execution_id=${body.executionId}`),
    (found) => found.body?.data?.length === 1
  )
  const decision = { decision: "approve", actor: "ada@example.com" }
  const decided = performance.now()
  await front.client.call("POST", `/api/v1/executions/${body.executionId}/approvals/${open.body.data[0].id}`, decision)
  assert.deepInclude(await front.client.ended(body.executionId), { status: "completed" })
  assertWithin(performance.now() - decided, 1_000)
}, 60_000)
