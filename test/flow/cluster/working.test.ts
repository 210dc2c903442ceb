/** A node that does not do the work of its shards says so, gives them up and ends, and the others do the work. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { beginRun, type ClusterNode, makeCluster, type TestCluster } from "../../support/cluster.js"
import { eventually } from "../../support/eventually.js"
import { announce } from "../../support/LogExpectations.js"
import { paced } from "../../support/pace.js"

let cluster: TestCluster
let sound: ClusterNode
let flow = ""

beforeAll(async () => {
  cluster = await makeCluster()
  // Of the build with kill points, as the others; it reaches none.
  sound = await cluster.start({ kill: "parsed:0" })
  flow = await sound.client.workflow(
    "waits",
    "standard",
    `export default async (ctx) => {
      await new Promise((done) => setTimeout(done, ctx.input.millis))
      return ctx.input.n
    }`
  )
}, 120_000)
afterAll(async () => {
  await cluster.end()
}, 60_000)

const readyz = async ({ url }: ClusterNode) => {
  const answer = await fetch(`${url}/readyz`)
  const {
    checks
  }: {
    readonly checks: {
      readonly shards: { readonly unanswered: ReadonlyArray<number>; readonly overdueTasks: ReadonlyArray<string> }
    }
  } = JSON.parse(await answer.text())
  return { status: answer.status, ...checks.shards }
}
const isWorking = async ({ url }: ClusterNode) =>
  /^svc_shards_working (\d)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1]

/** A hanging node ends after 45 s: the long form. */
const isLong = process.env["SVC_TEST_LONG"] === "1"

describe.runIf(isLong)("a node whose shards do nothing", () => {
  it.each(["asked", "claimed"] as const)(
    "because what is %s hangs is seen, ends, and its runs complete elsewhere",
    async (hang) => {
      announce(/"node\.does_not_work"/, { required: true })
      // Half of them move to the node that hangs.
      const runs = await Promise.all(Array.from({ length: 40 }, (_, n) => beginRun(sound, flow, { n, millis: 45_000 })))
      const node = await cluster.start({ hang })
      await cluster.whole(2)
      const seen = await eventually(
        () => readyz(node),
        ({ status }) => status === 503,
        paced(25_000)
      )
      assert.strictEqual(await isWorking(node), "0")
      assert.strictEqual(seen.unanswered.length > 0, hang === "asked", JSON.stringify(seen))
      assert.deepStrictEqual(seen.overdueTasks, hang === "claimed" ? ["runs.resume"] : [])
      assert.deepInclude(await readyz(sound), { status: 200, unanswered: [], overdueTasks: [] })
      assert.strictEqual(await isWorking(sound), "1")

      assert.strictEqual(await node.ended, 70)
      await cluster.whole(1)
      for (const [n, id] of runs.entries()) {
        const run = await sound.client.ended(id, paced(60_000))
        assert.deepStrictEqual([run.status, run.output], ["completed", n])
      }
    },
    180_000
  )
})
