/**
 * A node that does not do the work of its shards says so, gives them up and ends, and the others do the work. The audit chain
 * verifies on every node, whichever sealed it.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Ownership } from "../../../src/actors/ports/Ownership.js"
import { layer as singleNode } from "../../../src/runtime/cluster/SingleNode.js"
import { beginRun, type ClusterNode, makeCluster, nodeOf, type TestCluster } from "../../support/cluster.js"
import { eventually } from "../../support/eventually.js"
import { announce } from "../../support/LogExpectations.js"
import { scaled } from "../../support/slowness.js"
import { isLong } from "../../support/longForm.js"

/** How long to wait for what comes much sooner on a machine at rest. */
const patience = 60_000

let cluster: TestCluster
let sound: ClusterNode
let flow = ""

// Of the build with kill points, as nodes that hang; it reaches none.
const startSound = () => cluster.start({ kill: "parsed:0" })

beforeAll(async () => {
  cluster = await makeCluster()
  sound = await startSound()
  flow = await sound.client.workflow(
    "waits",
    "standard",
    `export default async (ctx) => {
      await new Promise((done) => setTimeout(done, ctx.input.millis))
      return ctx.input.n
    }`
  )
})
afterAll(async () => {
  await cluster.end()
})

interface Readiness {
  readonly status: string
  readonly checks: {
    readonly shards: {
      readonly held: number
      readonly unanswered: ReadonlyArray<number>
      readonly overdueTasks: ReadonlyArray<string>
    }
  }
}

const readyz = async ({ url }: ClusterNode) => {
  const answer = await fetch(`${url}/readyz`)
  const { checks }: Readiness = JSON.parse(await answer.text())
  return { status: answer.status, ...checks.shards }
}
const isWorking = async ({ url }: ClusterNode) =>
  /^svc_shards_working (\d)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1]

/** A node that hangs ends after 30 s more: in the long form. */
const hangs = isLong ? (["asked", "claimed"] as const) : (["asked"] as const)

describe("a node whose shards do nothing", () => {
  it.each(hangs)(
    "because what is %s hangs is seen, and its runs complete elsewhere when it has ended",
    async (hang) => {
      if (isLong) announce(/"node\.does_not_work"/, { required: true })
      // Half of them move to the node that hangs.
      const millis = isLong ? 45_000 : 10_000
      const runs = await Promise.all(Array.from({ length: 40 }, (_, n) => beginRun(sound, flow, { n, millis })))
      const node = await cluster.start({ hang })
      await cluster.whole(2)
      const seen = await eventually(
        () => readyz(node),
        ({ status }) => status === 503,
        patience
      )
      assert.strictEqual(await isWorking(node), "0")
      assert.isAbove(seen.held, 0)
      assert.strictEqual(seen.unanswered.length > 0, hang === "asked", JSON.stringify(seen))
      assert.deepStrictEqual(seen.overdueTasks, hang === "claimed" ? ["runs.resume"] : [])
      assert.deepInclude(await readyz(sound), { status: 200, unanswered: [], overdueTasks: [] })
      assert.strictEqual(await isWorking(sound), "1")

      if (!isLong) node.kill("SIGKILL")
      assert.strictEqual(await node.ended, isLong ? 70 : null)
      await cluster.whole(1)
      for (const [n, id] of runs.entries()) {
        const run = await sound.client.ended(id, patience)
        assert.deepStrictEqual([run.status, run.output], ["completed", n])
      }
    },
    scaled(180_000)
  )
})

interface Verification {
  readonly ok: boolean
  readonly checked: number
  readonly unsealed: number
  readonly checkpoint: { readonly organisationId: string; readonly seq: number } | null
}

const verify = async ({ client }: ClusterNode): Promise<Verification> =>
  (await client.call("GET", "/api/v1/audit/verify")).body.data

/** The session of Postgres that holds the locks of a shard. */
const holderOf = async (shard: number) => {
  const [row] = await cluster.sql<{ pid: number }>(
    `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid::bigint = 1937137969
     AND objid::bigint = $1 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [shard]
  )
  return row?.pid
}
const shardOf = (id: string) =>
  Effect.runPromise(
    Effect.scoped(
      Effect.provide(
        Effect.map(Ownership, (ownership) => ownership.shardOf(id)),
        singleNode
      )
    )
  )

describe("the audit chain", () => {
  it("verifies on every node after the node that sealed it was killed, against the same checkpoint", async () => {
    announce(/"cluster\.node_gone"|RunnerUnavailable|socket/i)
    const changeAt = async ({ client }: ClusterNode, name: string) =>
      assert.strictEqual((await client.call("POST", "/api/v1/customers", { name })).status, 201)
    const isSealed = ({ checkpoint, unsealed }: Verification) => unsealed === 0 && checkpoint !== null
    const first = sound
    const firstSession = await holderOf(1)
    const second = await startSound()
    await cluster.whole(2)
    await changeAt(first, "before")
    const before = await eventually(() => verify(first), isSealed, patience)
    assert.deepInclude(before, { ok: true })
    const known = await eventually(
      () => verify(second),
      ({ checkpoint }) => (checkpoint?.seq ?? 0) >= (before.checkpoint?.seq ?? Infinity),
      patience
    )
    assert.isTrue(known.ok)

    const shard = await shardOf(before.checkpoint?.organisationId ?? "")
    const [sealer, other] = (await holderOf(shard)) === firstSession ? [first, second] : [second, first]
    sealer.kill("SIGKILL")
    sound = other
    await cluster.whole(1)
    await changeAt(other, "after")
    const after = await eventually(() => verify(other), isSealed, patience)
    assert.deepInclude(after, { ok: true })
    assert.isAbove(after.checked, before.checked)
    assert.isAtLeast(after.checkpoint?.seq ?? 0, before.checkpoint?.seq ?? Infinity)

    // It has no file of its own.
    const joined = await startSound()
    await cluster.whole(2)
    for (const at of [0, 1]) {
      const found = await eventually(() => verify(nodeOf([other, joined], at)), isSealed, patience)
      assert.deepInclude(found, { ok: true })
      assert.isAtLeast(found.checkpoint?.seq ?? 0, after.checkpoint?.seq ?? Infinity)
    }
  })
})
