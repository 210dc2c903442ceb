/**
 * A node whose path to Postgres goes silent, without a reset, loses its seat and sends nothing more. When the path is
 * back, it takes part again as a new node, without a restart.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Client } from "pg"
import { beginRun, type ClusterNode, makeCluster, nodeOf, type TestCluster } from "../../support/cluster.js"
import { eventually } from "../../support/eventually.js"
import { announce } from "../../support/LogExpectations.js"
import { type Provider, startProvider } from "../../support/provider.js"
import { type PathProxy, startPathProxy, throughProxy } from "../../support/pathProxy.js"
import { promptConnectEnv } from "../../support/connectTimeout.js"
import { scaled } from "../../support/slowness.js"
import { isLong } from "../../support/longForm.js"

/** How long a node counts on its seat. */
const heldMillis = 3_000
/** Others take the seat of a node that is silent for longer. */
const silenceMillis = 5_000
const calls = 60

let cluster: TestCluster
let provider: Provider
let proxy: PathProxy
let nodes: ReadonlyArray<ClusterNode> = []
let flow = ""

beforeAll(async () => {
  provider = await startProvider()
  cluster = await makeCluster(promptConnectEnv)
  const { port } = new URL(cluster.env["SVC_DATABASE_URL_OWNER"] ?? "")
  proxy = await startPathProxy(Number(port))
  const first = await cluster.start()
  nodes = [first, await cluster.start(), await cluster.start({ env: throughProxy(cluster.env, proxy.port) })]
  await cluster.whole(3)
  flow = await first.client.workflow(
    "calls",
    "standard",
    `export default async function (ctx) {
      for (let i = 0; i < ctx.input.calls; i++) {
        await fetch(ctx.input.url + "/" + ctx.input.n + "/" + i, { method: "POST", body: "x" })
        if (ctx.input.withDb && i % 5 === 0) await svc.db.query("SELECT count(*) FROM generate_series(1, 100000)")
        await new Promise((done) => setTimeout(done, 400))
      }
      return ctx.input.n
    }`
  )
})
afterAll(async () => {
  await cluster.end()
  proxy.close()
  await provider.close()
})

const nodeAt = (at: number) => nodeOf(nodes, at)

const begin = (node: ClusterNode, n: string, input: object) => beginRun(node, flow, { url: provider.url, n, ...input })

const requestsOf = (n: string) => provider.requests.filter(({ url }) => url.startsWith(`/${n}/`))

/** The seat that was taken last, and the runs on its shards. */
const lastSeat = async () => {
  const [seat] = await cluster.sql<{ id: string; process: string }>(
    "SELECT id, process FROM nodes ORDER BY started_at DESC LIMIT 1"
  )
  assert.isDefined(seat)
  return seat
}
const runsOf = async (process: string): Promise<ReadonlySet<string>> => {
  const rows = await cluster.sql<{ id: string }>(
    `SELECT r.id FROM runs r JOIN pg_locks l ON l.classid::bigint = 1937137969 AND l.objid::bigint = r.shard
     JOIN pg_stat_activity a USING (pid) WHERE l.granted AND a.application_name = 'svc node ' || $1
     AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [process]
  )
  return new Set(rows.map(({ id }) => id))
}

/** Whether what was sent before arrives after all; a reset, which tells the node more, in the long form. */
const endings = isLong ? (["resumed", "dead"] as const) : (["resumed"] as const)

describe.each(endings)("a node that is cut off from Postgres, with old connections %s after", (before) => {
  it(
    "loses its seat and its runs, sends nothing more, and takes part again as a new node",
    async () => {
      announce(/"cluster\.seat_lost"/, { required: true })
      announce(/"background_task\.failed"/)
      const cutNode = nodeAt(2)
      const names = Array.from({ length: 30 }, (_, n) => `${before}${n}`)
      const runs = await Promise.all(
        names.map((n, at) => begin(nodeAt(at % 3), n, { calls, withDb: at < 6 && at % 3 === 2 }))
      )
      await eventually(
        async () => names.every((n) => requestsOf(n).length > 2),
        (haveAllCalled) => haveAllCalled
      )
      const seat = await lastSeat()
      const lost = await runsOf(seat.process)
      assert.isAbove(lost.size, 0)
      const isLost = (at: number) => lost.has(runs[at] ?? "")

      // A transaction of the cut node that had begun to write under its seat, and hears nothing more.
      const begun = new Client({
        connectionString: cluster.env["SVC_DATABASE_URL_WRITER"],
        application_name: `svc test ${seat.process}`
      })
      begun.on("error", () => undefined)
      await begun.connect()
      await begun.query("BEGIN")
      await begun.query("SELECT 1 FROM nodes WHERE id = $1 FOR KEY SHARE", [seat.id])

      const cutAt = Date.now()
      proxy.cut()
      await cluster.whole(2)
      const taken = Date.now()
      // Its main loop is free.
      assert.strictEqual((await fetch(`${cutNode.url}/healthz`)).status, 200)
      // Its new owners call on.
      await eventually(
        async () => names.every((n, at) => !isLost(at) || requestsOf(n).some((call) => call.at > taken)),
        (haveAllCalled) => haveAllCalled
      )
      for (const [at, n] of names.entries()) {
        const late = requestsOf(n).filter(
          (call) => isLost(at) && call.at > cutAt + heldMillis && call.at < cutAt + silenceMillis - 500
        )
        assert.deepStrictEqual(late, [], `${n} called without an owner`)
      }

      const healedAt = Date.now()
      proxy.heal(before)
      await cluster.whole(3)
      const returned = await lastSeat()
      assert.strictEqual(returned.process, seat.process)
      assert.notStrictEqual(returned.id, seat.id)
      assert.strictEqual(
        (await cutNode.client.ended(await begin(cutNode, `again-${before}`, { calls: 1 }))).status,
        "completed"
      )
      assert.strictEqual((await fetch(`${cutNode.url}/readyz`)).status, 200)

      for (const [at, id] of runs.entries()) {
        const run = await nodeAt(at % 3).client.ended(id, 60_000)
        assert.deepStrictEqual([run.status, run.output], ["completed", names[at]], JSON.stringify(run))
      }
      for (const [at, n] of names.entries()) {
        const seen = new Set<string>()
        const twice = requestsOf(n).filter(({ url }) => seen.size === seen.add(url).size)
        assert.strictEqual(seen.size, calls, n)
        assert.strictEqual(new Set(requestsOf(n).map(({ key }) => key)).size, calls, n)
        // The call that was in hand at the cut, which the provider may see later, and one when its shard moved back.
        assert.isAtMost(twice.filter((call) => call.at < healedAt).length, isLost(at) ? 1 : 0, n)
        assert.isAtMost(twice.length, isLost(at) ? 2 : 1, n)
      }
    },
    scaled(180_000)
  )
})
