/** The typed RPC over three nodes: awaits and watches over the death of nodes and of clients, and a node that leaves. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type ClusterNode, makeCluster, nodeOf, type TestCluster } from "../../support/cluster.js"
import { eventually } from "../../support/eventually.js"
import { announce } from "../../support/LogExpectations.js"
import { connectRpc, itemOf, type RawRpc, type RpcStream } from "../../support/rpc.js"

let cluster: TestCluster
let nodes: ReadonlyArray<ClusterNode> = []
let slow = ""
let instant = ""

beforeAll(async () => {
  cluster = await makeCluster()
  nodes = [await cluster.start({ env: { SVC_ROLE: "api" } }), await cluster.start(), await cluster.start()]
  const { client } = nodeOf(nodes, 0)
  const code = (millis: number) =>
    `export default async (ctx) => { await new Promise((r) => setTimeout(r, ${millis})); return ctx.input.n }`
  slow = await client.workflow("slow", "standard", code(3_000))
  instant = await client.workflow("instant", "instant", code(2_500))
})
afterAll(() => cluster.end())

const connect = (at: number) => connectRpc(nodeOf(nodes, at).url, cluster.apiKey)

/** Watches from the cursor on, and resolves once the stream has begun. */
const follow = async (rpc: RawRpc, cursor: string | null): Promise<RpcStream> => {
  const stream = rpc.stream("executions.watch", { cursor })
  await itemOf(stream, () => true)
  return stream
}
const lastCursor = (streams: ReadonlyArray<RpcStream>): string | null =>
  streams.flatMap(({ items }) => items.flatMap((one) => one.cursor ?? [])).at(-1) ?? null

describe("the typed RPC of a cluster", () => {
  it("tells of each end over the death of the node that ran it, of the client, and of the node that served the client", async () => {
    announce(/"(?:cluster\.|background_task\.failed|run\.|event\.)/)
    const first = await connect(0)
    const streams = [await follow(first, null)]
    await itemOf(streams[0] ?? assert.fail(), ({ cursor }) => cursor !== null)
    const started = await Promise.all(
      Array.from({ length: 20 }, (_, n) => first.call("executions.start", { workflowId: slow, input: { n } }))
    )
    const ids = started.map(({ value }) => String(value.executionId))
    const awaited = ids.map((id) => first.call("executions.await", { id }))
    // The client goes, and comes back to another node.
    const elsewhere = await connect(1)
    streams.push(await follow(elsewhere, lastCursor(streams)))
    const again = ids.map((id) => elsewhere.call("executions.await", { id }))
    elsewhere.socket.terminate()
    nodeOf(nodes, 2).kill("SIGKILL")
    const outcomes = await Promise.all(awaited)
    assert.deepStrictEqual(
      outcomes.map(({ value }) => [value?.status, value?.output]),
      ids.map((_, n) => ["completed", n])
    )
    assert.lengthOf(again, 20)
    // Its node goes as well: what was told last is where the next stream begins.
    first.socket.terminate()
    const last = await connect(1)
    streams.push(await follow(last, lastCursor(streams)))
    await eventually(
      async () => {
        const items = streams.flatMap((one) => one.items)
        const told = new Set(items.flatMap((one) => (one.status === "completed" ? [one.id] : [])))
        const summed = items.reduce((sum, { count = 0 }) => sum + count, 0)
        assert.isFalse(items.some(({ _tag }) => _tag === "Gap"))
        return ids.filter((id) => !told.has(id)).length - summed
      },
      (missed) => missed <= 0
    )
    await last.close()
    nodes = [nodeOf(nodes, 0), nodeOf(nodes, 1), await cluster.start()]
    await cluster.whole(2)
  })

  it("answers what was accepted when its node leaves, and sends the client elsewhere", async () => {
    const rpc = await connect(1)
    const running = rpc.call("executions.start", { workflowId: instant, input: { n: 7 }, idempotencyKey: "leaves" })
    const watch = await follow(rpc, null)
    await new Promise((resolve) => setTimeout(resolve, 200))
    nodeOf(nodes, 1).kill("SIGTERM")
    await eventually(
      async () => (await rpc.call("executions.list")).failure,
      (failure) => failure?._tag === "Unavailable" && failure.retryable === true
    )
    const { failure, value } = await running
    assert.isUndefined(failure, JSON.stringify(failure))
    assert.strictEqual(value.status, "completed")
    assert.strictEqual(await rpc.closed, 1012)
    await nodeOf(nodes, 1).ended
    assert.isDefined(watch.id)
    const other = await connect(0)
    const repeated = await other.call("executions.start", {
      workflowId: instant,
      input: { n: 7 },
      idempotencyKey: "leaves"
    })
    assert.strictEqual(repeated.value.executionId, value.executionId)
    await other.close()
  })
})
