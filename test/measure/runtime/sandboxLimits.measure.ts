/** A long replay leaves its neighbours their turns, and memory bombs leave the runner small. */
import { assert, describe } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { Effect, Fiber } from "effect"
import type { GuestEvent } from "../../../src/actors/ports/run/Sandbox.js"
import { layer as sandboxLayer } from "../../../src/runtime/sandbox/Pool.js"
import { assertFigure } from "../../support/figures.js"
import { begin, doneEvent, effectSandbox, end, limits, program, startEvent } from "../../support/guests.js"
import { layer } from "../../support/layer.js"
import { bundleRunner } from "../../support/sandboxRunner.js"

let pids: () => ReadonlyArray<number> = () => []
const pool = sandboxLayer({
  runnerPath: bundleRunner(),
  runners: 1,
  spare: true,
  liveGuests: 10,
  onStarted: (started) => {
    pids = started
  }
})
const waiting = `const v = await svc.state.get("k"); return ["answered", v]`

layer(pool, { excludeTestServices: true })("limits", (it) => {
  describe("a replay", () => {
    const long = `let sum = 0; for (let i = 0; i < 10000; i++) sum += await svc.state.get("k" + i); return sum`
    const history: ReadonlyArray<GuestEvent> = Array.from({ length: 10_000 }, (_, id) =>
      doneEvent(id, 1, 1_700_000_000_000 + id)
    )
    it.effect("of 10,000 events leaves its neighbours their turns", () =>
      Effect.gen(function* () {
        const sandbox = yield* effectSandbox
        yield* begin(waiting)
        const startedAt = performance.now()
        const replay = yield* Effect.fork(sandbox.start(program(long), limits, startEvent(), history))
        const waits: Array<number> = []
        while (replay.unsafePoll() === null) {
          const before = performance.now()
          const turn = yield* begin(waiting)
          yield* turn.session.close
          waits.push(performance.now() - before)
        }
        const turn = yield* Fiber.join(replay)
        const took = performance.now() - startedAt
        assert.deepStrictEqual(end(turn), { t: "ret", v: 10_000 })
        assert.isAbove(waits.length, 0)
        waits.sort((a, b) => a - b)
        const median = waits[waits.length >> 1] ?? Infinity
        assertFigure({ of: "the median wait of neighbours", value: median, bound: took / 4, unit: "ms" })
      })
    )
  })

  it.effect("repeated memory bombs do not increase the runner's memory", () =>
    Effect.gen(function* () {
      for (let i = 0; i < 8; i++) {
        assert.strictEqual(
          (yield* Effect.flip(
            // The limit is memory: the time to fill it depends on the machine.
            begin(
              "const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)",
              {},
              { ...limits, cpuPerStepMillis: 20_000 }
            )
          ))._tag,
          "OutOfMemory"
        )
      }
      const turn = yield* begin(waiting)
      const resident = pids().map(
        (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${innermost(pid)}/status`, "utf8"))?.[1] ?? 0) / 1024
      )
      assertFigure({ of: "", value: Math.max(...resident), bound: 1500, unit: "MB" })
      yield* turn.session.close
    })
  )
})

/** The pid of the runner below the programs that jail it. */
const innermost = (pid: number): number => {
  const child = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim()
  return child === "" ? pid : innermost(Number(child.split(" ")[0]))
}
