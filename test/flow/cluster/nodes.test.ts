/** Several nodes are one system: each run and connection has one owner, whichever node is asked, and the others take over. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import {
  announceEndedSessions,
  beginRun,
  type ClusterNode,
  makeCluster,
  nodeOf,
  shardCount,
  type TestCluster
} from "../../support/cluster.js"
import { eventually } from "../../support/eventually.js"
import { announce } from "../../support/LogExpectations.js"
import { type Provider, startProvider } from "../../support/provider.js"
import { scaled } from "../../support/slowness.js"
import { isLong } from "../../support/longForm.js"

let cluster: TestCluster
let provider: Provider
let nodes: Array<ClusterNode> = []
let flow = ""

beforeAll(async () => {
  provider = await startProvider()
  cluster = await makeCluster()
  const first = await cluster.start()
  nodes = [first, ...(await Promise.all([cluster.start(), cluster.start()]))]
  flow = await first.client.workflow(
    "calls",
    "standard",
    `export default async function (ctx) {
      const seen = []
      for (let i = 0; i < ctx.input.calls; i++) {
        const answer = await fetch(ctx.input.url + "/" + ctx.input.n + "/" + i, { method: "POST", body: "x" })
        seen.push((await answer.json()).url)
        if (ctx.input.pause) await new Promise((done) => setTimeout(done, ctx.input.pause))
      }
      return seen
    }`
  )
})
afterAll(async () => {
  await cluster.end()
  await provider.close()
})

const nodeAt = (at: number) => nodeOf(nodes, at)

const begin = (node: ClusterNode, input: object) => beginRun(node, flow, { url: provider.url, ...input })

describe("three nodes on one database", () => {
  it("divide the shards", async () => {
    await cluster.whole(3)
    for (const held of await cluster.shards()) assert.strictEqual(held, shardCount / 3)
  })

  it("show, cancel and complete each other's runs", async () => {
    const [one, two] = [nodeAt(0), nodeAt(1)]
    const short = await begin(one, { n: "short", calls: 2 })
    const ended = await two.client.ended(short)
    assert.deepStrictEqual([ended.status, ended.output.length], ["completed", 2])
    const long = await begin(one, { n: "long", calls: 1_000, pause: 100 })
    await eventually(
      async () => provider.requests.filter(({ url }) => url.startsWith("/long/")).length,
      (calls) => calls > 2
    )
    const cancelled = await two.client.call("POST", `/api/v1/executions/${long}/cancel`, {})
    assert.strictEqual(cancelled.status, 200, JSON.stringify(cancelled.body))
    const calls = () => provider.requests.filter(({ url }) => url.startsWith("/long/")).length
    await new Promise((done) => setTimeout(done, 300))
    const then = calls()
    await new Promise((done) => setTimeout(done, 500))
    assert.strictEqual(calls(), then, "its owner calls on")
  })
})

describe("a run at its deadline", () => {
  // Thirty seconds, the shortest deadline.
  it.runIf(isLong)("ends by its owner, with the same answer for its caller as on one node", async () => {
    const [one] = [nodeAt(0)]
    const stuck = await one.client.workflow(
      "stuck",
      "instant",
      "export default async () => { await new Promise((done) => setTimeout(done, 60_000)) }"
    )
    const answers = await Promise.all(nodes.flatMap((node) => Array.from({ length: 4 }, () => node.client.run(stuck))))
    for (const { body, status } of answers)
      assert.deepStrictEqual([status, body.code], [408, "TIMED_OUT"], JSON.stringify(body))
  })
})

describe("a node that is killed", () => {
  it("leaves its runs to the others, which repeat no completed call", async () => {
    const runs = await Promise.all(
      Array.from({ length: 30 }, (_, n) => begin(nodeAt(n % 3), { n: `kill${n}`, calls: 4, pause: 250 }))
    )
    await new Promise((done) => setTimeout(done, 600))
    nodeAt(2).kill("SIGKILL")
    await cluster.whole(2)
    for (const [n, id] of runs.entries()) {
      const run = await nodeAt(n % 2).client.ended(id, 30_000)
      assert.strictEqual(run.status, "completed", JSON.stringify(run))
      const calls = provider.requests.filter(({ url }) => url.startsWith(`/kill${n}/`))
      // One call may have been in flight.
      assert.isAtMost(calls.length, 5)
      for (const { url } of calls) {
        const keys = new Set(calls.filter((call) => call.url === url).map(({ key }) => key))
        assert.strictEqual(keys.size, 1)
      }
    }
  })

  it("is replaced by one that joins", async () => {
    nodes[2] = await cluster.start()
    await cluster.whole(3)
    const id = await begin(nodeAt(2), { n: "joined", calls: 1 })
    assert.strictEqual((await nodeAt(0).client.ended(id)).status, "completed")
  })
})

describe("a node that is frozen", () => {
  it(
    "loses its runs to the others, sends nothing more when it wakes, and returns as a new one",
    async () => {
      announce(/"cluster\.seat_lost"/, { required: true })
      announceEndedSessions()
      // The time that it was frozen counts as time in which its runner did not answer.
      announce(/"sandbox\.runner_(?:not_started|replaced)"|"computing\.worker\.replaced"/)
      const runs = await Promise.all(
        Array.from({ length: 30 }, (_, n) => begin(nodeAt(n % 3), { n: `freeze${n}`, calls: 15, pause: 500 }))
      )
      await new Promise((done) => setTimeout(done, 500))
      nodeAt(2).kill("SIGSTOP")
      await cluster.whole(2)
      nodeAt(2).kill("SIGCONT")
      await cluster.whole(3)
      for (const id of runs) {
        const run = await nodeAt(0).client.ended(id, 300_000)
        assert.strictEqual(run.status, "completed", JSON.stringify(run))
      }
      for (const n of runs.keys()) {
        const calls = provider.requests.filter(({ url }) => url.startsWith(`/freeze${n}/`))
        const twice = calls.length - new Set(calls.map(({ url }) => url)).size
        // The call that was in hand when it froze, and one when its shard moved back.
        assert.isAtMost(twice, 2, `${n}`)
        assert.strictEqual(new Set(calls.map(({ key }) => key)).size, 15)
      }
      assert.strictEqual(
        (await nodeAt(2).client.ended(await begin(nodeAt(2), { n: "awake", calls: 1 }))).status,
        "completed"
      )
    },
    scaled(600_000)
  )
})

describe("the caller who waits for a run", () => {
  const slow = (node: ClusterNode) =>
    node.client.workflow(
      "slow",
      "instant",
      `export default async (ctx) => {
        for (let i = 0; i < 8; i++) {
          await fetch(ctx.input.url + "/slow/" + ctx.input.n + "/" + i)
          await new Promise((done) => setTimeout(done, 300))
        }
        return "done " + ctx.input.n
      }`
    )

  it("gets its result when it moves, to a node that joins or from one that stops", async () => {
    const flow = await slow(nodeAt(0))
    const ask = (node: ClusterNode, n: string) => node.client.run(flow, { url: provider.url, n })
    const joining = Promise.all(Array.from({ length: 12 }, (_, n) => ask(nodeAt(n % 3), `join${n}`)))
    const [joined] = await Promise.all([cluster.start(), cluster.whole(3)])
    await cluster.whole(4)
    for (const [n, answer] of (await joining).entries())
      assert.deepStrictEqual([answer.status, answer.body], [200, `done join${n}`], JSON.stringify(answer.body))
    const stopping = Promise.all(Array.from({ length: 6 }, (_, n) => ask(joined, `stop${n}`)))
    await eventually(
      async () => new Set(provider.requests.map(({ url }) => /^\/slow\/stop\d/.exec(url)?.[0])).size,
      // With `undefined` for the other calls.
      (running) => running === 7
    )
    joined.kill("SIGTERM")
    for (const [n, answer] of (await stopping).entries())
      assert.deepStrictEqual([answer.status, answer.body], [200, `done stop${n}`], JSON.stringify(answer.body))
    await joined.ended
    for (let n = 0; n < 12; n++) {
      const calls = provider.requests.filter(({ url }) => url.startsWith(`/slow/join${n}/`))
      assert.isAtMost(calls.length, 9)
    }
  })
})

describe("a node that stops", () => {
  it("hands its shards over", async () => {
    const runs = await Promise.all(
      Array.from({ length: 10 }, (_, n) => begin(nodeAt(2), { n: `stop${n}`, calls: 5, pause: 500 }))
    )
    nodeAt(2).kill("SIGTERM")
    await cluster.whole(2)
    await nodeAt(2).ended
    nodes.pop()
    for (const id of runs) assert.strictEqual((await nodeAt(0).client.ended(id, 30_000)).status, "completed")
  })
})
