/** A connection has one owner in a cluster: one refresh for all callers, wherever they are, also while its shard moves. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type ClusterNode, makeCluster, nodeOf, type TestCluster } from "../../support/cluster.js"
import { eventually } from "../../support/eventually.js"
import { acme, type OAuthProvider, startOAuthProvider } from "../../support/oauthProvider.js"
import { isLong } from "../../support/longForm.js"

const callers = isLong ? 1_000 : 240
const slowMillis = isLong ? 15_000 : 3_000

let cluster: TestCluster
let provider: OAuthProvider
let nodes: Array<ClusterNode> = []
let customer = ""

beforeAll(async () => {
  provider = await startOAuthProvider()
  provider.behaviour.rotates = true
  cluster = await makeCluster()
  const first = await cluster.start()
  nodes = [first, ...(await Promise.all([cluster.start(), cluster.start()]))]
  const { call } = first.client
  customer = (await call("POST", "/api/v1/customers", { name: "Ada" })).body.data.id
  assert.strictEqual((await call("POST", "/api/v1/connectors", acme())).status, 201)
  assert.strictEqual((await call("POST", "/api/v1/connectors/acme/publish", {})).status, 200)
  await cluster.whole(3)
})
afterAll(async () => {
  await cluster.end()
  await provider.close()
})

const wait = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis))

/** A new connection whose token lives this long. */
const connect = async (expiresIn = 3_600, of = customer): Promise<string> => {
  const made = await nodes[0]?.client.call("POST", "/api/v1/connections", {
    connector: "acme",
    customerId: of,
    config: { base: provider.url },
    credential: { ...provider.issue(), expiresIn }
  })
  assert.strictEqual(made?.status, 201, JSON.stringify(made?.body))
  return made?.body.data.id
}

/** A call through the connection by the proxy of a node. */
const callBy = (node: ClusterNode | undefined, id: string, of = customer) =>
  node === undefined
    ? Promise.reject(new Error("no such node"))
    : node.client.call("GET", "/api/v1/proxy/me", undefined, { "x-end-org-id": of, "x-svc-connections": id })

const callByAll = (id: string, calls: number, of = customer) =>
  Promise.all(Array.from({ length: calls }, (_, n) => callBy(nodes[n % nodes.length], id, of)))

const statuses = (answers: ReadonlyArray<{ readonly status: number }>) => [
  ...new Set(answers.map(({ status }) => status))
]

/** The node that has the connection's owner: whoever logs its token request. */
const recordOf = async (id: string) => (await nodes[0]?.client.call("GET", `/api/v1/connections/${id}`))?.body.data

describe("a connection", () => {
  it("is asked, changed and shown through any node", async () => {
    const id = await connect()
    assert.deepStrictEqual(statuses(await callByAll(id, 6)), [200])
    for (const [at, node] of nodes.entries()) {
      const changed = await node.client.call("PUT", `/api/v1/connections/${id}`, { label: `by ${at}` })
      assert.strictEqual(changed.status, 200, JSON.stringify(changed.body))
      assert.strictEqual((await recordOf(id)).label, `by ${at}`)
      const refused = await node.client.call("POST", `/api/v1/connections/conn_${"0".repeat(26)}/refresh`, {})
      assert.strictEqual(refused.status, 404, JSON.stringify(refused.body))
    }
  })

  it("refreshes once for callers on all nodes, while the provider takes seconds", async () => {
    // Counted from the creation: the sweep may be the first to notice the expiry.
    const before = provider.tokenRequests.length
    provider.behaviour.latencyMillis = slowMillis
    const id = await connect(1)
    await wait(1_050)
    const answers = await callByAll(id, callers)
    provider.behaviour.latencyMillis = 0
    assert.deepStrictEqual(statuses(answers), [200])
    assert.strictEqual(provider.tokenRequests.length - before, 1)
  })

  it("refreshes once while its shard moves in the middle", async () => {
    const before = provider.tokenRequests.length
    provider.behaviour.latencyMillis = 3_000
    const ids = await Promise.all(Array.from({ length: 6 }, () => connect(1)))
    await wait(1_050)
    const calls = Promise.all(ids.map((id) => callByAll(id, 9)))
    await wait(500)
    nodes.push(await cluster.start())
    await cluster.whole(4)
    const answers = await calls
    provider.behaviour.latencyMillis = 0
    assert.deepStrictEqual(statuses(answers.flat()), [200])
    assert.strictEqual(provider.tokenRequests.length - before, ids.length)
    for (const id of ids) assert.strictEqual((await recordOf(id)).status, "active")
  })

  it("serves every caller and every run while the nodes of its owners are asked to stop, one after the other", async () => {
    const first = nodeOf(nodes, 0)
    const flow = await first.client.workflow(
      "calls",
      "standard",
      `export default async () => (await svc.connector.acme.me({})).email`
    )
    const before = provider.tokenRequests.length
    let release = () => undefined as void
    provider.behaviour.held = new Promise((resolve) => (release = resolve))
    const connected = await Promise.all(
      Array.from({ length: 9 }, async (_, n) => {
        const of: string = (await first.client.call("POST", "/api/v1/customers", { name: `Ada ${n}` })).body.data.id
        return { of, id: await connect(1, of) }
      })
    )
    await wait(1_050)
    const calls = Promise.all(connected.map(({ id, of }) => callByAll(id, 2 * nodes.length, of)))
    const runs = await Promise.all(
      connected.map(({ of }, n) => nodeOf(nodes, n).client.run(flow, {}, { "x-end-org-id": of }))
    )
    await eventually(
      async () => provider.tokenRequests.length - before,
      (asked) => asked === connected.length
    )
    const leaving = nodes.splice(2)
    for (const node of leaving) node.kill("SIGTERM")
    await eventually(cluster.shards, (held) => held.length === nodes.length)
    release()
    provider.behaviour.held = undefined
    assert.deepStrictEqual(statuses((await calls).flat()), [200])
    for (const { body } of runs) {
      const ended = await first.client.ended(body.executionId)
      assert.strictEqual(ended.status, "completed", JSON.stringify(ended))
    }
    assert.strictEqual(provider.tokenRequests.length - before, connected.length)
    for (const node of leaving) assert.strictEqual(await node.ended, 0)
    nodes.push(await cluster.start(), await cluster.start())
    await cluster.whole(nodes.length)
  })

  it("asks at most twice when nodes are killed in the middle of a refresh, and never loops", async () => {
    provider.behaviour.rotates = false
    const before = provider.tokenRequests.length
    provider.behaviour.latencyMillis = 2_000
    const ids = await Promise.all(Array.from({ length: 6 }, () => connect(1)))
    await wait(1_050)
    const [one] = nodes
    const calls = Promise.all(
      ids.flatMap((id) => Array.from({ length: 4 }, () => callBy(one, id).catch(() => ({ status: 0 }))))
    )
    await wait(700)
    nodes.pop()?.kill("SIGKILL")
    nodes.pop()?.kill("SIGKILL")
    await cluster.whole(2)
    await calls
    provider.behaviour.latencyMillis = 0
    for (const id of ids) {
      // A new owner waits until the killed one's request can no longer be under way.
      const answer = await callBy(one, id)
      assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
    }
    assert.isAtMost(provider.tokenRequests.length - before, 2 * ids.length)
  })
})
