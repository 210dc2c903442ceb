/** What an organisation may do at once, over all nodes together: never more, and all of it while demand lasts. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { type ClusterNode, makeCluster, nodeOf, type TestCluster } from "../../support/cluster.js"
import { workspaceDb } from "../../../src/domain/Limits.js"
import { eventually } from "../../support/eventually.js"

/** Of the plan `starter`, with 60 calls a minute: the test makes 56. */
const mostRuns = 10
const holdMillis = 1_500

let cluster: TestCluster
let provider: Server
let url = ""
const nodes: Array<ClusterNode> = []
/** The requests that are open, by the run that sent them: a call of a killed node stays open, and its run repeats it. */
const open = new Map<string, number>()
/** The most runs at once that had a request open. */
let most = 0
let queued = ""
let instant = ""

const code = `export default async (ctx) => {
  for (let i = 0; i < ctx.input.calls; i++) await (await fetch("URL/" + ctx.input.n, { method: "POST" })).text()
  return ctx.input.n
}`

beforeAll(async () => {
  provider = createServer((request, response) => {
    const run = request.url ?? ""
    request.resume()
    open.set(run, (open.get(run) ?? 0) + 1)
    most = Math.max(most, open.size)
    setTimeout(() => {
      const left = (open.get(run) ?? 1) - 1
      if (left === 0) open.delete(run)
      else open.set(run, left)
      response.end("ok")
    }, holdMillis)
  })
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve))
  url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  cluster = await makeCluster()
  nodes.push(await cluster.start(), await cluster.start(), await cluster.start())
  await cluster.whole(3)
  const [first] = nodes
  assert.isDefined(first)
  queued = await first.client.workflow("queued", "standard", code.replace("URL", url))
  instant = await first.client.workflow("instant", "instant", code.replace("URL", url))
  await setPlan("starter")
})
afterAll(async () => {
  await cluster.end()
  provider.closeAllConnections()
  provider.close()
})

/** How many of the runs that waited in the queue have ended well. */
const completed = async () => {
  const [row] = await cluster.sql<{ n: number }>(
    "SELECT count(*)::int AS n FROM executions WHERE workflow_id = $1 AND status = 'completed'",
    [queued]
  )
  return row?.n ?? 0
}
const setPlan = async (plan: string) => {
  await cluster.sql("UPDATE organisations SET plan = $1", [plan])
  // What the nodes know of an organisation may be a second old.
  await new Promise((done) => setTimeout(done, 1_000))
}
const nodeAt = (at: number) => nodeOf(nodes, at)

/** Starts runs that wait in the queue, at all nodes in turn, and waits until they have ended. */
const runMany = async (name: string, runs: number, calls: number, meanwhile: () => Promise<void>) => {
  most = 0
  const before = await completed()
  const started = await Promise.all(
    Array.from({ length: runs }, (_, n) => nodeAt(n).client.run(queued, { n: `${name}${n}`, calls }))
  )
  for (const { body, status } of started) assert.strictEqual(status, 202, JSON.stringify(body))
  await meanwhile()
  await eventually(completed, (n) => n === before + runs)
}

describe("the runs of an organisation at once", () => {
  it("are as many as its plan allows on three nodes together, and no more", async () => {
    await runMany("plain", 20, 1, () => Promise.resolve())
    assert.strictEqual(most, mostRuns)
  })

  it("are no more when Instant runs come to all nodes while others wait", async () => {
    const refusals: Array<number> = []
    await runMany("beside", 10, 1, async () => {
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, n) => nodeAt(n).client.run(instant, { n: `instant${n}`, calls: 1 }))
      )
      refusals.push(...answers.map(({ status }) => status).filter((status) => status !== 200))
    })
    assert.isAtMost(most, mostRuns)
    // A full organisation is told so.
    for (const status of refusals) assert.strictEqual(status, 429)
  })

  it("are no more when a node is killed and others take its runs over", async () => {
    await runMany("killed", 10, 2, async () => {
      await new Promise((done) => setTimeout(done, 700))
      nodes.pop()?.kill("SIGKILL")
      await cluster.whole(2)
    })
    assert.isAtMost(most, mostRuns)
    assert.isAtLeast(most, mostRuns - 2)
  })

  it("may be all on one node, when the others have none", async () => {
    // What the killed node held counts for five seconds.
    await new Promise((done) => setTimeout(done, 5_500))
    const only = nodeAt(0)
    most = 0
    const answers = await Promise.all(
      Array.from({ length: mostRuns }, (_, n) => only.client.run(instant, { n: `only${n}`, calls: 1 }))
    )
    assert.isAtMost(most, mostRuns)
    const held = await cluster.sql("SELECT l.*, n.id AS node FROM place_leases l LEFT JOIN nodes n ON n.id = l.seat")
    for (const { body, status } of answers) assert.strictEqual(status, 200, JSON.stringify({ body, held }))
  })
})

describe("the sessions of svc.db of an organisation at once", () => {
  it("are as many on all nodes together as on one, and no statement is refused", async () => {
    await setPlan("unlimited")
    const { maxAtOnce, answers } = await askAll()
    for (const { body, status } of answers)
      assert.deepStrictEqual([status, body], [200, 4_000_000], JSON.stringify(body))
    assert.strictEqual(maxAtOnce, workspaceDb.connectionsPerAccount)
  })
})

/** Runs on all nodes that each make a long statement, and how many of these ran at once. */
const askAll = async () => {
  const slow = await nodeAt(0).client.workflow(
    "slow_statement",
    "instant",
    `export default async () => (await svc.db.query("SELECT count(*)::int AS rows_of_many FROM generate_series(1, 4000000)"))[0].rows_of_many`
  )
  let maxAtOnce = 0
  const asking = { isOver: false }
  const watching = (async () => {
    while (!asking.isOver) {
      const [row] = await cluster.sql<{ n: number }>(
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%rows_of_many FROM%' AND pid <> pg_backend_pid()"
      )
      maxAtOnce = Math.max(maxAtOnce, row?.n ?? 0)
      await new Promise((done) => setTimeout(done, 50))
    }
  })()
  const answers = await Promise.all(Array.from({ length: 9 }, (_, n) => nodeAt(n).client.run(slow)))
  asking.isOver = true
  await watching
  return { maxAtOnce, answers }
}
