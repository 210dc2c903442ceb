/**
 * What owners count holds while their shards move and over all nodes: provider limits, deliveries, the outbox. Moves are cheap
 * and quick.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { acme, ownBase } from "../../support/connectors.js"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { outwardPlaces } from "../../../src/domain/Limits.js"
import { lockClasses } from "../../../src/runtime/postgres/database/NodeRow.js"
import { beginRun, type ClusterNode, makeCluster, nodeOf, type TestCluster } from "../../support/cluster.js"
import { eventually } from "../../support/eventually.js"
import { scaled } from "../../support/slowness.js"
import { isLong } from "../../support/longForm.js"
import { assertKeepsLimit } from "../../support/providerLimits.js"

const limit = { requests: 4, perSeconds: 3 }
const holdMillis = 150

let cluster: TestCluster
let outside: Server
let url = ""
const nodes: Array<ClusterNode> = []
/** When requests arrived, by their path without query. */
const arrived = new Map<string, Array<number>>()
const open = new Map<string, number>()
const most = { ofOneEndpoint: 0, inAll: 0 }
let queries: Array<string> = []

beforeAll(async () => {
  outside = createServer((request, response) => {
    request.resume()
    const [path = "", query] = (request.url ?? "").split("?")
    arrived.set(path, [...(arrived.get(path) ?? []), Date.now()])
    if (query !== undefined) queries.push(query)
    open.set(path, (open.get(path) ?? 0) + 1)
    most.ofOneEndpoint = Math.max(most.ofOneEndpoint, open.get(path) ?? 0)
    most.inAll = Math.max(
      most.inAll,
      [...open.values()].reduce((sum, n) => sum + n, 0)
    )
    setTimeout(() => {
      open.set(path, (open.get(path) ?? 1) - 1)
      response.setHeader("content-type", "application/json")
      response.end("{}")
    }, holdMillis)
  })
  await new Promise<void>((resolve) => outside.listen(0, "127.0.0.1", resolve))
  url = `http://127.0.0.1:${(outside.address() as AddressInfo).port}`
  cluster = await makeCluster()
  nodes.push(await cluster.start(), await cluster.start(), await cluster.start())
  await cluster.whole(3)
})
afterAll(async () => {
  await cluster.end()
  outside.closeAllConnections()
  outside.close()
})

const made = async (path: string, body: object) => {
  const answer = await nodeOf(nodes, 0).client.call("POST", `/api/v1${path}`, body)
  assert.oneOf(answer.status, [200, 201], JSON.stringify(answer.body))
  return answer.body.data
}

describe("deliveries", () => {
  it("are never more at once than an endpoint and an organisation have places on all nodes, and are sent once", async () => {
    const count = 120
    await cluster.sql(
      `INSERT INTO deliveries (id, org, space, kind, url, execution_id, payload)
       SELECT 'dlv_' || n, w.org, w.id, 'callback', $1 || '/hook/' || n % 20 || '?n=' || n, 'exec_a', '{}'
       FROM (SELECT org, id FROM workspaces LIMIT 1) w, generate_series(1, $2::int) n`,
      [url, count]
    )
    await eventually(
      () => cluster.sql("SELECT FROM deliveries WHERE status = 'pending'"),
      (left) => left.length === 0
    )
    assert.lengthOf(queries, count)
    assert.strictEqual(new Set(queries).size, count)
    assert.isAtMost(most.ofOneEndpoint, outwardPlaces.deliveries.perPartner)
    assert.isAtMost(most.inAll, outwardPlaces.deliveries.perAccount)
  })
})

describe("the outbox", () => {
  it("hands each event to its triggers once, by one of the nodes", async () => {
    const count = 300
    const workflow = await nodeOf(nodes, 0).client.workflow("installed", "standard", "export default async () => 1")
    await made("/triggers", {
      name: "installed",
      type: "event",
      event: { type: "installation.created" },
      routes: [{ workflowId: workflow }]
    })
    // What a node knows of the triggers may be a second old.
    await new Promise((done) => setTimeout(done, 1_000))
    await cluster.sql(
      `INSERT INTO domain_events (id, org, type, subject, payload)
       SELECT svc_new_id('evt'), o.id, 'installation.created', 'inst_' || n, '{}'
       FROM (SELECT id FROM organisations LIMIT 1) o, generate_series(1, $1::int) n`,
      [count]
    )
    const counted = async () => {
      const rows = await cluster.sql<{ status: string; n: number }>(
        `SELECT status, count(*)::int AS n FROM event_records WHERE source = 'system' GROUP BY status`
      )
      return Object.fromEntries(rows.map(({ n, status }) => [status, n]))
    }
    await eventually(counted, ({ delivered = 0 }) => delivered === count)
    assert.deepStrictEqual(await counted(), { delivered: count })
    assert.deepStrictEqual(await cluster.sql("SELECT id FROM domain_events"), [])
  })
})

describe("a provider's limit on a connection", () => {
  it("is never exceeded while its shard moves, to a new node and from one that is killed, and every call is sent", async () => {
    const calls = 12
    await made(
      "/connectors",
      acme("limited", {
        ...ownBase,
        auth: [{ id: "none", type: "none" }],
        rateLimit: { scope: "connection", ...limit },
        actions: [{ name: "get", version: 1, request: { method: "GET", path: "/limited", query: { n: "{{args.n}}" } } }]
      })
    )
    await made("/connectors/limited/publish", {})
    const workflow = await nodeOf(nodes, 0).client.workflow(
      "limited_calls",
      "standard",
      `export default async (ctx) => {
        for (let i = 0; i < ${calls}; i++) await svc.connector.limited.get({ n: i })
        return "done"
      }`
    )
    const paths: Array<string> = []
    const runs: Array<string> = []
    const began = Date.now()
    for (let n = 0; n < 6; n++) {
      const { id } = await made("/customers", { name: `c${n}` })
      paths.push(`/of${n}/limited`)
      await made("/connections", {
        connector: "limited",
        customerId: id,
        config: { base: `${url}/of${n}` },
        credential: {}
      })
      const started = await nodeOf(nodes, n).client.run(workflow, {}, { "x-end-org-id": id })
      assert.strictEqual(started.status, 202, JSON.stringify(started.body))
      runs.push(String(started.body.executionId))
    }
    await eventually(
      () => Promise.resolve(paths.filter((path) => (arrived.get(path)?.length ?? 0) >= limit.requests).length),
      (begun) => begun === paths.length
    )
    nodes.push(await cluster.start())
    await cluster.whole(4)
    nodes.splice(1, 1)[0]?.kill("SIGKILL")
    await cluster.whole(3)
    for (const run of runs) assert.strictEqual((await nodeOf(nodes, 0).client.ended(run, 60_000)).output, "done")

    for (const path of paths) {
      const times = arrived.get(path) ?? []
      assert.isAtLeast(times.length, calls)
      assertKeepsLimit(times, began, limit)
    }
  })
})

describe("nodes that join and leave one after the other", () => {
  const rounds = isLong ? 10 : 2

  it("get shards once they are ready, also where another one leaves in the same moment", async () => {
    const early = new Set<number>()
    const looking = { isOver: false }
    const watching = (async () => {
      while (!looking.isOver) {
        const held = await cluster.sql<{ number: number }>(
          `SELECT n.number FROM nodes n
             JOIN pg_locks own ON own.classid::bigint = ${lockClasses.node} AND own.objid::bigint = n.number AND own.granted
             JOIN pg_locks shard ON shard.pid = own.pid AND shard.classid::bigint = ${lockClasses.shard} AND shard.granted
           WHERE n.starting AND own.database = (SELECT oid FROM pg_database WHERE datname = current_database()) LIMIT 1`
        )
        for (const { number } of held) early.add(number)
        await new Promise((done) => setTimeout(done, 10))
      }
    })()
    const [leaving] = nodes.splice(0, 1)
    nodes.push(await cluster.start())
    leaving?.kill("SIGTERM")
    await leaving?.ended
    await cluster.whole(3)
    looking.isOver = true
    await watching
    assert.isEmpty(early, "a node had shards before it was ready")
  })

  it(
    "poison no run that is in one slow call",
    async () => {
      let isReleased = false
      const held = createServer((request, response) => {
        request.resume()
        const answer = () => (isReleased ? response.end("x") : setTimeout(answer, 50))
        answer()
      })
      await new Promise<void>((resolve) => held.listen(0, "127.0.0.1", resolve))
      const slow = `http://127.0.0.1:${(held.address() as AddressInfo).port}`
      const workflow = await nodeOf(nodes, 0).client.workflow(
        "slow_call",
        "long",
        `export default async (ctx) => (await fetch("${slow}/" + ctx.input.n, { method: "POST", timeout: 120_000 })).status`
      )
      const runs = await Promise.all(Array.from({ length: 12 }, (_, n) => beginRun(nodeOf(nodes, n), workflow, { n })))

      for (let round = 0; round < rounds; round++) {
        nodes.push(await cluster.start())
        await cluster.whole(4)
        nodes.splice(0, 1)[0]?.kill(round % 2 === 0 ? "SIGTERM" : "SIGKILL")
        await cluster.whole(3)
      }
      isReleased = true
      for (const run of runs) {
        const { output, status } = await nodeOf(nodes, 0).client.ended(run, 60_000)
        assert.deepStrictEqual([status, output], ["completed", 200], run)
      }
      held.closeAllConnections()
      held.close()
    },
    scaled(240_000)
  )
})
