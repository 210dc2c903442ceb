/** The nodes of one machine get no more than it has. */
import { assert, describe, it } from "@effect/vitest"
import {
  neededMemory,
  parseNodeCount,
  plannedNodes,
  poolsWithin,
  runnersFor,
  shareOf,
  tooFewConnections
} from "../../src/runtime/supervisor/NodePlan.js"
import { splitLines } from "../../src/runtime/process/Lines.js"
import { namedLine } from "../../src/runtime/supervisor/NodeLog.js"

const gibibyte = 1_024 * 1_048_576

describe("--nodes", () => {
  it("is a number from 1 to 64, or auto", () => {
    assert.deepStrictEqual(["1", "9", "64", "auto"].map(parseNodeCount), [1, 9, 64, "auto"])
    for (const text of ["", "0", "00", "01", "65", "100", "-1", "1.5", "1e1", " 1", "all", "AUTO", "NaN"])
      assert.throws(() => parseNodeCount(text), /^--nodes takes a number of runner nodes from 1 to 64/)
  })

  it("auto is a runner for every two cores, fewer where memory lacks, and none below four cores", () => {
    assert.deepStrictEqual(
      [1, 3, 4, 5, 8, 16, 128, 256].map((cores) => runnersFor(cores, 512 * gibibyte)),
      [0, 0, 2, 2, 4, 8, 64, 64]
    )
    assert.deepStrictEqual(
      [1, 2, 3, 6, 8, 64].map((memory) => runnersFor(16, memory * gibibyte)),
      [0, 1, 2, 4, 6, 8]
    )
  })
})

describe("nodes", () => {
  it("have an api node for every three runners, rounded up, and start with those that serve requests", () => {
    const count = (runners: number) => plannedNodes(runners).filter(({ role }) => role === "api").length
    assert.deepStrictEqual([1, 2, 3, 4, 6, 7, 64].map(count), [1, 1, 1, 2, 2, 3, 22])
    assert.deepStrictEqual(
      plannedNodes(4).map(({ name }) => name),
      ["api-1", "runner-1", "runner-2", "runner-3", "runner-4", "api-2"]
    )
    assert.strictEqual(neededMemory(4), 6 * gibibyte)
  })

  it("share memory and guests' processes, each at least what a node needs", () => {
    const whole = { runners: 8, guestMemory: 4_096, heldMemory: 4_096 }
    const [api, runner] = plannedNodes(3)
    assert.deepStrictEqual(api && shareOf(api, whole, 3), { runners: 1, guestMemory: 256, heldMemory: 1_024 })
    assert.deepStrictEqual(runner && shareOf(runner, whole, 3), { runners: 2, guestMemory: 1_365, heldMemory: 1_024 })
    const little = { runners: 2, guestMemory: 256, heldMemory: 64 }
    assert.deepStrictEqual(runner && shareOf(runner, little, 3), { runners: 1, guestMemory: 256, heldMemory: 64 })
  })

  it("stay below the connections of Postgres, also while one is replaced, or are refused", () => {
    const wanted = { app: 10, writer: 10 }
    assert.deepStrictEqual(poolsWithin(2, wanted, 1_000, false), { pools: wanted, connections: 114 })
    for (const capacity of [60, 80, 100]) {
      const { connections, pools } = poolsWithin(2, wanted, capacity, false)
      assert.isAtMost(connections, capacity)
      assert.isAtLeast(pools.app, 2)
      assert.isAtLeast(pools.writer, 4)
    }
    assert.deepStrictEqual(poolsWithin(2, wanted, 40, false), { pools: { app: 2, writer: 4 }, connections: 58 })
    assert.include(tooFewConnections(2, 58, 40).message, "accepts 40 connections, and 2 runner and 1 api nodes need 58")
    // A pool that is set smaller stays so.
    assert.deepStrictEqual(poolsWithin(1, { app: 1, writer: 4 }, 10, false).pools, { app: 1, writer: 4 })
  })
})

describe("a line of a node", () => {
  it("has its name: JSON stays JSON, text gets a prefix", () => {
    assert.deepStrictEqual(JSON.parse(namedLine("api-1", '{"message":"x","node":"y"}')), { message: "x", node: "y" })
    assert.deepStrictEqual(JSON.parse(namedLine("api-1", '{"message":"x"}')), { node: "api-1", message: "x" })
    assert.deepStrictEqual(JSON.parse(namedLine("api-1", "{}")), { node: "api-1" })
    assert.strictEqual(namedLine("api-1", "Port 1 is taken."), "api-1: Port 1 is taken.")
  })

  it("is passed on as a whole, however it arrives", () => {
    const lines: Array<string> = []
    const { end, push } = splitLines((line) => void lines.push(line))
    for (const piece of ["a", "b\nc", "\n\nd"]) push(piece)
    end()
    assert.deepStrictEqual(lines, ["ab", "c", "", "d"])
  })
})
