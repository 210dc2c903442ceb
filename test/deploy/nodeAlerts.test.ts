/** The alerts on nodes fire over metrics that are scraped from nodes of a cluster in that trouble; of a sound one none does. */
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "@effect/vitest"
import { type ReadMetrics, startPrometheus } from "../support/alerts/Rules.js"
import { sharedGauges } from "../support/alerts/SharedGauges.js"
import { beginRun, type ClusterNode, makeCluster, type TestCluster } from "../support/cluster.js"
import { eventually } from "../support/eventually.js"
import { announce } from "../support/LogExpectations.js"

let cluster: TestCluster
let front: ClusterNode
let runner: ClusterNode
let prometheus = startPrometheus()

/** All of the build with kill points, as the one that hangs; they reach none. */
const startNode = (role: string) => cluster.start({ kill: "parsed:0", env: { SVC_ROLE: role } })

beforeAll(async () => {
  cluster = await makeCluster()
  front = await startNode("api")
})
afterAll(() => cluster.end())
beforeEach(() => {
  prometheus = startPrometheus()
})

const metricsOf =
  ({ url }: ClusterNode): ReadMetrics =>
  async () =>
    (await fetch(`${url}/metrics`)).text()
const targets = (...nodes: ReadonlyArray<ClusterNode>) =>
  new Map(nodes.map((node) => [new URL(node.url).host, metricsOf(node)]))
const alertsAfter = async (count: number, ...nodes: ReadonlyArray<ClusterNode>) => {
  await prometheus.observe(targets(...nodes), count)
  return prometheus.firing()
}
/** Longer than each rule waits. */
const long = 24

describe.sequential("of a cluster", () => {
  it("without a node that works, SvcShardsWithoutNode fires, and SvcQueueWaits once runs have waited for minutes", async () => {
    const later = await front.client.workflow("later", "standard", "export default async (ctx) => ctx.input.n")
    const run = await beginRun(front, later, { n: 1 })
    assert.deepStrictEqual([...(await alertsAfter(long, front)).keys()], ["SvcShardsWithoutNode"])
    await cluster.sql("UPDATE start_queue SET not_before = not_before - interval '10 minutes'")
    assert.deepStrictEqual([...(await alertsAfter(long, front)).keys()], ["SvcShardsWithoutNode", "SvcQueueWaits"])
    runner = await startNode("runner")
    await cluster.whole(1)
    await eventually(metricsOf(runner), (text) => /^svc_shards_held 300$/m.test(text))
    assert.strictEqual((await front.client.ended(run)).status, "completed")
  })

  it("that is sound, none fires, and what is read from the database is the same on each node", async () => {
    assert.deepStrictEqual([...(await alertsAfter(long, front, runner)).keys()], [])
    const last = prometheus.scrapes().slice(-2)
    assert.lengthOf(last, 2)
    const [one, other] = last.map(({ samples }) => new Map(samples.map(({ name, value }) => [name, value])))
    for (const name of sharedGauges.filter((gauge) => gauge !== "svc_task_jobs_set_aside")) {
      assert.isDefined(one?.get(name), name)
      assert.isDefined(other?.get(name), name)
    }
    // Of its own each node reports what it holds.
    assert.sameMembers([one?.get("svc_shards_held"), other?.get("svc_shards_held")], [0, 300])
  })

  it("with a node that does nothing for its shards, SvcNodeDoesNotWork fires for it; killed, SvcNodeDown", async () => {
    announce(/"cluster\.(?:node_gone|seat_lost)"|RunnerUnavailable|socket/i)
    const hung = await cluster.start({ hang: "asked", env: { SVC_ROLE: "runner" } })
    await cluster.whole(2)
    await eventually(metricsOf(hung), (text) => /^svc_shards_working 0$/m.test(text))
    const fired = await alertsAfter(1, front, runner, hung)
    const instance = new URL(hung.url).host
    assert.deepStrictEqual(
      (fired.get("SvcNodeDoesNotWork") ?? []).map((labels) => labels["instance"]),
      [instance]
    )
    assert.deepStrictEqual([...fired.keys()], ["SvcNodeDoesNotWork"])
    hung.kill("SIGKILL")
    await hung.ended
    await cluster.whole(1)
    await eventually(metricsOf(runner), (text) => /^svc_shards_held 300$/m.test(text))
    const down = await alertsAfter(4, front, runner, hung)
    assert.deepStrictEqual([...down], [["SvcNodeDown", [{ instance, job: "svc" }]]])
  })
})
