/** The shards of a node that is killed, frozen or stopped have another owner soon, and so do those of one that joins or leaves. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import {
  type ClusterNode,
  announceEndedSessions,
  makeCluster,
  nodeOf,
  type TestCluster
} from "../../../support/cluster.js"
import { assertFigure } from "../../../support/figures.js"
import { announce } from "../../../support/LogExpectations.js"
import { assertWithin } from "../../../support/pace.js"
import { longestWithoutOwner } from "../../../support/shardWatch.js"
import { isLong } from "../../../support/longForm.js"

let cluster: TestCluster
let nodes: Array<ClusterNode> = []
beforeAll(async () => {
  cluster = await makeCluster()
  nodes = [await cluster.start(), ...(await Promise.all([cluster.start(), cluster.start()]))]
  await cluster.whole(3)
}, 120_000)
afterAll(() => cluster.end(), 60_000)

const wholeWithin = async (millis: number, left: number, signal: NodeJS.Signals) => {
  const from = performance.now()
  nodeOf(nodes, 2).kill(signal)
  await cluster.whole(left)
  assertWithin(performance.now() - from, millis, signal)
}

it("a node that is killed", async () => {
  announce(/"(?:cluster\.|background_task\.failed)/)
  await wholeWithin(5_000, 2, "SIGKILL")
  nodes[2] = await cluster.start()
  await cluster.whole(3)
})

it("a node that is frozen", async () => {
  announce(/"cluster\.seat_lost"|"sandbox\.runner_(?:not_started|replaced)"|"computing\.worker\.replaced"/)
  announceEndedSessions()
  await wholeWithin(12_000, 2, "SIGSTOP")
  nodeOf(nodes, 2).kill("SIGCONT")
  await cluster.whole(3)
})

it("a node that stops", async () => {
  await wholeWithin(5_000, 2, "SIGTERM")
  await nodeOf(nodes, 2).ended
  nodes[2] = await cluster.start()
  await cluster.whole(3)
})

it("a node that joins while another one stops leaves no shard without an owner for long", async () => {
  const longest = await longestWithoutOwner(cluster, async () => {
    const [leaving] = nodes.splice(0, 1)
    nodes.push(await cluster.start())
    leaving?.kill("SIGTERM")
    await leaving?.ended
    await cluster.whole(3)
  })
  assertWithin(longest, 1_000)
})

/** What a node that joins or leaves may cost, beside what all do when they are idle; a start reads and checks everything. */
const mostTransactions = 500

it("nodes that join and leave one after the other cost few transactions, and leave no shard without an owner for long", async () => {
  announce(/"(?:cluster\.|background_task\.failed)/)
  const rounds = isLong ? 10 : 2
  /** The transactions of this database so far: almost every statement of nodes that do nothing else is one. */
  const transactions = async () => {
    await new Promise((done) => setTimeout(done, 1_100))
    const [row] = await cluster.sql<{ n: number }>(
      "SELECT (xact_commit + xact_rollback)::int AS n FROM pg_stat_database WHERE datname = current_database()"
    )
    return row?.n ?? assert.fail()
  }
  const idleFrom = performance.now()
  const before = await transactions()
  await new Promise((done) => setTimeout(done, 2_000))
  const begun = await transactions()
  const begunAt = performance.now()
  const idlePerSecond = ((begun - before) / (begunAt - idleFrom)) * 1_000
  const longest = await longestWithoutOwner(cluster, async () => {
    for (let round = 0; round < rounds; round++) {
      nodes.push(await cluster.start())
      await cluster.whole(4)
      nodes.splice(0, 1)[0]?.kill(round % 2 === 0 ? "SIGTERM" : "SIGKILL")
      await cluster.whole(3)
    }
  })
  const seconds = (performance.now() - begunAt) / 1_000
  const spent = (await transactions()) - begun
  assertWithin(longest, 5_000, "the longest time without an owner")
  const each = (spent - idlePerSecond * seconds) / (2 * rounds)
  assertFigure({ of: "transactions of each that joins or leaves", value: each, bound: mostTransactions, unit: "times" })
}, 240_000)
