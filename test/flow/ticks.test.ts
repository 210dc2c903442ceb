/**
 * Three nodes on one database fire schedules, two of them are killed -9 and one of these is started again, and two clocks
 * are ten minutes off: every tick starts its run once. `SVC_TEST_LONG=1` fires 10,000 ticks over ten kills.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type ClusterNode, makeCluster, type TestCluster } from "../support/cluster.js"
import { eventually } from "../support/eventually.js"
import { announce } from "../support/LogExpectations.js"
import { promised } from "../support/promises.js"
import { makeTickSchedules } from "../support/tickSchedules.js"
import { isLong } from "../support/longForm.js"

/** Their ticks are spread over the minute; each has missed a few, which it catches up. */
const schedules = isLong ? 3_000 : 240
const missed = 3
const killsOfEach = isLong ? 5 : 1
const ticksAtLeast = isLong ? 10_000 : 200

let cluster: TestCluster
let node: ClusterNode
let flow = ""

/** A process whose `Date` is off by some milliseconds. */
const clockOff = (millis: number) =>
  `--import=data:text/javascript,${encodeURIComponent(
    `const Real = Date
    globalThis.Date = class extends Real {
      constructor(...given) { given.length === 0 ? super(Real.now() + ${millis}) : super(...given) }
      static now() { return Real.now() + ${millis} }
    }`
  )}`

/** All nodes are of one build, that with kill points; one that counts to 0 is reached by none. */
const startNode = (offMinutes: number, kill = "parsed:0"): Promise<ClusterNode> =>
  cluster.start({ kill, env: offMinutes === 0 ? {} : { NODE_OPTIONS: clockOff(offMinutes * 60_000) } })

beforeAll(async () => {
  cluster = await makeCluster()
  node = await startNode(0)
  flow = await node.client.workflow("tick", "instant", "export default async (ctx) => ctx.event.id")
})
afterAll(() => cluster.end())

describe("a tick", () => {
  it(
    "starts its run once, on three nodes of which two are killed and two have wrong clocks",
    async () => {
      announce(/"clock\.differs_from_postgres"/, { required: true })
      // While the nodes start, nothing is due.
      const first = startNode(10, "parsed:15")
      const second = startNode(0, "committed:12")
      const [one, other] = [await first, await second]
      await cluster.whole(3)
      const copies = await makeTickSchedules(node.client, cluster.sql, { flow, schedules, missed })
      const killAgain = async (killed: ClusterNode, offMinutes: number, restartsLast: boolean, point: string) => {
        let current = killed
        for (let left = killsOfEach; ; left--) {
          assert.isNull(await current.ended, current.output())
          if (left === 1 && !restartsLast) return
          current = await startNode(offMinutes, left === 1 ? undefined : point)
          if (left === 1) return
        }
      }
      await Promise.all([killAgain(one, -10, true, "committed:60"), killAgain(other, 0, false, "parsed:60")])
      await eventually(copies.fired, (count) => count >= ticksAtLeast, isLong ? 300_000 : 60_000)

      const [stopped] = await cluster.sql<{ at: Date }>("SELECT now() AS at")
      assert.isDefined(stopped)
      const found = await copies.ended(stopped.at, 60_000)
      const count = found.ticks
      promised("a tick is lost, or has fired again", () =>
        assert.deepInclude(found, { delivered: count, runs: count, others: 0 })
      )
      assert.deepStrictEqual(found, { ticks: count, delivered: count, runs: count, completed: count, others: 0 })
      await copies.remove()
      console.log(`${count} ticks, ${2 * killsOfEach} kills`)
    },
    isLong ? 600_000 : 120_000
  )
})
