/** The cluster shows itself: to its operator with addresses, to an organisation with counts of its own runs only. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { problemOf, type ListedNode } from "../../../src/runtime/cli/Cluster.js"
import { apiOf, type Api } from "../../support/api.js"
import { type ClusterNode, makeCluster, shardCount, type TestCluster } from "../../support/cluster.js"
import { eventually } from "../../support/eventually.js"
import { announce } from "../../support/LogExpectations.js"
import { createSecondOrganisation } from "../../support/secondOrganisation.js"
import { makeDataDirectory, prepareCompiled, startService } from "../../support/Service.js"

const place = makeDataDirectory()
let cluster: TestCluster
let front: ClusterNode
let other: ClusterNode
let stranger: Api

const runsOfFirst = 12

beforeAll(async () => {
  cluster = await makeCluster()
  front = await cluster.start()
  other = await cluster.start()
  await cluster.whole(2)
  await prepareCompiled(place.dataDir)
  const key = await createSecondOrganisation(place.dataDir, "Stranger", cluster.env)
  stranger = apiOf({ ...front.client.dev, apiKey: key })
})
afterAll(async () => {
  await cluster.end()
  place.remove()
})

interface Shown {
  readonly nodes: ReadonlyArray<ListedNode & { readonly runs: number; readonly healthy: boolean }>
  readonly shards: { readonly total: number; readonly unowned: number }
  readonly problem: string | null
}

/** Runs the command, as an operator does. */
const command = async (env: Readonly<Record<string, string>>, ...options: ReadonlyArray<string>) => {
  const one = startService({ dataDir: place.dataDir, env, command: ["cluster", "status", ...options] })
  return { code: await one.ended, output: one.output() }
}

/** The JSON that it prints. What is wrong is also said on the error stream, which follows. */
const asJson = async () => {
  const { code, output } = await command(cluster.env, "--json")
  return { code, output, report: JSON.parse(output.slice(0, output.lastIndexOf("\n}") + 2)) as Shown }
}

const status = async (client: Api) => {
  const answer = await client.call("GET", "/api/v1/cluster")
  assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
  return answer.body.data
}

const sleeper = `export default async () => { await new Promise((done) => setTimeout(done, 3_600_000)) }`

/** Starts runs that do not end meanwhile. */
const begin = async (client: Api, runs: number) => {
  const flow = await client.workflow("sleeps", "long", sleeper)
  for (let n = 0; n < runs; n++) assert.strictEqual((await client.run(flow)).status, 202)
  await eventually(
    () => client.call("GET", "/api/v1/executions?status=running"),
    ({ body }) => body.data.length === runs
  )
}

const sumOf = (nodes: ReadonlyArray<{ readonly runs: number }>) => nodes.reduce((sum, { runs }) => sum + runs, 0)

describe("a service that is alone", () => {
  it("is the only node, with all shards, for its operator and over HTTP", async () => {
    const own = await makeCluster()
    const alone = startService({ dataDir: place.dataDir, env: own.env })
    await alone.ready
    const baseUrl = /"service\.ready".*?"url":"([^"]+)"/.exec(alone.output())?.[1] ?? ""
    const client = apiOf({ ...front.client.dev, baseUrl, apiKey: own.apiKey })
    await begin(client, 2)
    const { engines, nodes, oldestUnfinishedAt, shards, unfinished } = await status(client)
    assert.deepStrictEqual([shards, unfinished], [{ total: shardCount, unowned: 0 }, 2])
    const [{ engine, id, runs, shards: held, state, version }] = nodes
    assert.lengthOf(nodes, 1)
    assert.deepStrictEqual([id, state, held, runs], ["alone", "alive", shardCount, 2])
    assert.match(version, /^[0-9a-f]{8}$/)
    assert.strictEqual(engine, engines[0])
    assert.isAtLeast(Date.now(), Date.parse(oldestUnfinishedAt))
    const { code, output } = await command(own.env)
    assert.strictEqual(code, 0, output)
    assert.match(output, /^alone +- +all +- +- +1 +alive .* 300$/m)
    assert.include(output, "300 of 300 shards are held.")
    alone.kill("SIGTERM")
    await alone.ended
    const stopped = await command(own.env)
    assert.strictEqual(stopped.code, 1)
    assert.include(stopped.output, "No svc runs on this database.")
    await own.end()
  })
})

describe("the status of two nodes", () => {
  it("shows an organisation the nodes without addresses, and its own runs only", async () => {
    await begin(front.client, runsOfFirst)
    await begin(stranger, 3)
    const [own, foreign] = [await status(front.client), await status(stranger)]
    for (const [shown, runs] of [
      [own, runsOfFirst],
      [foreign, 3]
    ] as const) {
      assert.deepStrictEqual([shown.unfinished, sumOf(shown.nodes), shown.lagMs], [runs, runs, 0])
      assert.deepStrictEqual(shown.shards, { total: shardCount, unowned: 0 })
      for (const { healthy, role, secondsSinceHeartbeat, shards, state } of shown.nodes) {
        assert.deepStrictEqual([role, state, healthy, shards], ["all", "alive", true, shardCount / 2])
        // A node that counts on its seat has beaten within that.
        assert.isAtMost(secondsSinceHeartbeat, 3)
      }
    }
    // Another node answers the same.
    const there = await status(other.client)
    const stable = ({ id, runs, shards, since }: ListedNode & { runs: number }) => [id, runs, shards, since]
    assert.deepStrictEqual(there.nodes.map(stable), own.nodes.map(stable))
    const rows = await cluster.sql<{ address: string; process: string; secrets: ReadonlyArray<string>; build: string }>(
      "SELECT address, process, secrets, build FROM nodes"
    )
    assert.lengthOf(rows, 2)
    const text = JSON.stringify(own)
    assert.notInclude(text, "127.0.0.1")
    for (const { address, build, process, secrets } of rows)
      for (const hidden of [address, build, process, ...secrets]) assert.notInclude(text, hidden)
  })

  it("shows the operator their addresses", async () => {
    const { code, output, report } = await asJson()
    assert.strictEqual(code, 0, output)
    assert.deepStrictEqual([report.shards.unowned, report.problem], [0, null])
    assert.deepStrictEqual(
      report.nodes.map(({ shards, state }) => [shards, state]),
      Array.from({ length: 2 }, () => [shardCount / 2, "alive"])
    )
    const table = await command(cluster.env)
    assert.strictEqual(table.code, 0, table.output)
    for (const { address, id } of report.nodes) {
      assert.match(address ?? "", /^127\.0\.0\.1:\d+$/)
      assert.match(table.output, new RegExp(`^${id} .* ${address} .* alive .* 150$`, "m"))
    }
    assert.include((await command({}, "--help")).output, "--json")
  })

  it("is refused to a key without the permission", async () => {
    const made = await front.client.call("POST", "/api/v1/api-keys", {
      name: "narrow",
      mode: "live",
      preset: "custom",
      permissions: { workflows: ["read"] }
    })
    assert.strictEqual(made.status, 201, JSON.stringify(made.body))
    const narrow = apiOf({ ...front.client.dev, apiKey: made.body.data.key })
    assert.strictEqual((await narrow.call("GET", "/api/v1/cluster")).status, 403)
  })
})

describe("a node that hangs, and is then killed", () => {
  it("is silent at first, and gone once another holds its shards", async () => {
    announce(/"cluster\.node_gone"|RunnerUnavailable|socket/i)
    other.kill("SIGSTOP")
    const silent = await eventually(
      () => status(front.client),
      ({ nodes }) => nodes.some(({ state }: Shown["nodes"][number]) => state === "silent")
    )
    const frozen = silent.nodes.find(({ state }: Shown["nodes"][number]) => state === "silent")
    // A frozen process keeps its locks.
    assert.deepStrictEqual([frozen.healthy, frozen.shards, silent.shards.unowned], [false, shardCount / 2, 0])
    assert.isAtLeast(frozen.secondsSinceHeartbeat, 3)
    other.kill("SIGKILL")
    await cluster.whole(1)
    const after = await status(front.client)
    assert.deepStrictEqual([after.nodes.length, after.unfinished, sumOf(after.nodes)], [1, runsOfFirst, runsOfFirst])
    const { code, output } = await command(cluster.env)
    assert.strictEqual(code, 0, output)
    assert.notInclude(output, frozen.id)
  })

  it("is named by the command if no other takes its shards", async () => {
    front.kill("SIGKILL")
    await front.ended
    await eventually(cluster.shards, (held) => held.length === 0)
    const { code, output, report } = await asJson()
    assert.strictEqual(code, 1, output)
    const sentence =
      /^300 of 300 shards are held by no node, and node \d+ \(all at 127\.0\.0\.1:\d+\) is silent for [\d.]+ s\.$/
    assert.match(report.problem ?? "", sentence)
    assert.match(output.trimEnd().split("\n").at(-1) ?? "", sentence)
    const table = await command(cluster.env)
    assert.strictEqual(table.code, 1)
    assert.include(table.output, "0 of 300 shards are held.")
  })
})

describe("the sentence that says what is wrong", () => {
  const node: ListedNode = {
    id: "node_1",
    number: 4,
    role: "api",
    address: null,
    version: "0a1b2c3d",
    release: 1,
    state: "alive",
    since: "2026-11-25T10:00:00.000Z",
    secondsSinceHeartbeat: 0.2,
    shards: 0
  }
  it.each([
    [[node], 0, null],
    [[], 300, "No svc runs on this database."],
    [[node], 300, "300 of 300 shards are held by no node."],
    [[{ ...node, state: "leaving" }], 0, "Node 4 (api) is leaving."],
    [[{ ...node, state: "starting" }], 0, "Node 4 (api) is starting."],
    [
      [node, { ...node, state: "silent", secondsSinceHeartbeat: 3.4, role: "all", address: "h:1" }],
      0,
      "Node 4 (all at h:1) is silent for 3.4 s."
    ]
  ] as const)("is one: %#", (nodes, unowned, sentence) =>
    assert.strictEqual(problemOf({ nodes, shards: { total: shardCount, unowned } }), sentence)
  )
})
