/**
 * Guests of all runners share one memory cap: the largest tenant's guests are evicted first, and runners return the
 * memory.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { GuestMemory } from "../../src/runtime/sandbox/GuestMemory.js"
import { layer as sandboxLayer } from "../../src/runtime/sandbox/Pool.js"
import { effectSandbox, doneEvent, end, limits, program, startEvent, type Turn } from "../support/guests.js"
import { bundleRunner } from "../support/sandboxRunner.js"
import { ownerOf } from "../support/shareOwners.js"

const runner = bundleRunner()

const mebibyte = 1024 * 1024

describe("The memory of guests", () => {
  const holder = (tenant: string, evicted: Array<string>, name: string) => ({
    owner: ownerOf(tenant),
    evict: () => evicted.push(name)
  })

  it("is freed by the tenant with the most memory, the longest waiting guest first, and a small neighbour keeps its guest", () => {
    const evicted: Array<string> = []
    // The cap reserves room for one computing guest of each runner: 300 MiB are left for guests that wait.
    const memory = new GuestMemory(428 * mebibyte, 1)
    memory.suspend(holder("small", evicted, "small 1"), 10 * mebibyte)
    for (const name of ["large 1", "large 2", "large 3", "large 4"])
      memory.suspend(holder("large", evicted, name), 90 * mebibyte)
    assert.deepStrictEqual(evicted, ["large 1"])
    memory.suspend(holder("small", evicted, "small 2"), 30 * mebibyte)
    assert.deepStrictEqual(evicted, ["large 1", "large 2"])
    assert.isAtMost(memory.heldBytes, 300 * mebibyte)
  })

  it("does not count guests that compute or have ended", () => {
    const evicted: Array<string> = []
    const memory = new GuestMemory(428 * mebibyte, 1)
    const first = holder("one", evicted, "first")
    memory.suspend(first, 200 * mebibyte)
    memory.release(first)
    memory.release(first)
    assert.strictEqual(memory.heldBytes, 0)
    memory.suspend(holder("one", evicted, "second"), 200 * mebibyte)
    assert.deepStrictEqual(evicted, [])
  })
})

/** The memory of the runner, without the jail's own processes. */
const residentBytes = (pid: number): number => {
  let found = 0
  for (let at: string | undefined = String(pid); at !== undefined && at !== "";) {
    found = Number(readFileSync(`/proc/${at}/statm`, "utf8").split(" ")[1]) * 4096
    at = readFileSync(`/proc/${at}/task/${at}/children`, "utf8").trim().split(" ")[0]
  }
  return found
}

describe("Runs with much memory that wait", () => {
  const large = `const a = []; for (let i = 0; i < 40; i++) a.push(new Uint8Array(1024 * 1024).fill(i)); return [a.length, await svc.state.get("k")]`
  const small = `return ["small", await svc.state.get("k")]`

  it.live("use no more than the cap together, are replayed when they continue, and leave the runner small", () => {
    let pids: () => ReadonlyArray<number> = () => []
    const layer = sandboxLayer({
      runnerPath: runner,
      runners: 1,
      guestMemory: 256 * mebibyte,
      onStarted: (of) => {
        pids = of
      }
    })
    return Effect.gen(function* () {
      const sandbox = yield* effectSandbox
      const [pid = 0] = pids()
      const neighbour = yield* sandbox.start(program(small, "org_small"), limits, startEvent())
      const before = residentBytes(pid)
      const turns: Array<Turn> = []
      for (let i = 0; i < 12; i++) turns.push(yield* sandbox.start(program(large, "org_large"), limits, startEvent()))
      // Twelve runs have 480 MiB; three of them fit.
      const fed = yield* Effect.forEach(turns, ({ session }) => Effect.either(session.feed([doneEvent(0, 5)])))
      const lost = fed.filter((one) => one._tag === "Left" && one.left._tag === "SessionLost").length
      assert.isAtLeast(lost, 8)
      assert.isBelow(lost, 12)
      assert.deepStrictEqual(end(yield* neighbour.session.feed([doneEvent(0, 1)])), { t: "ret", v: ["small", 1] })
      const replayed = yield* sandbox.start(program(large, "org_large"), limits, startEvent(), [doneEvent(0, 5)])
      assert.deepStrictEqual(end(replayed), { t: "ret", v: [40, 5] })
      while (residentBytes(pid) - before > 64 * mebibyte) yield* Effect.sleep("50 millis")
    }).pipe(Effect.provide(layer))
  })
})
