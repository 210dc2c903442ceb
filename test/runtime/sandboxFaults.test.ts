/** An exception in a listener of the sandbox ends a runner, never the process; the guests of that runner are lost. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { layer as sandboxLayer } from "../../src/runtime/sandbox/Pool.js"
import type { Listener } from "../../src/runtime/jail/JailedProcess.js"
import { effectSandbox, begin, doneEvent, end, limits, program, startEvent } from "../support/guests.js"
import { announce } from "../support/LogExpectations.js"
import { bundleRunner } from "../support/sandboxRunner.js"

const runner = bundleRunner()

const waiting = `return ["answered", await svc.state.get("k")]`
const started = (pids: () => ReadonlyArray<number>) => pids()[0] ?? assert.fail("there is no runner")
const turn = Effect.promise(() => new Promise<void>((resolve) => setTimeout(resolve, 5)))

/** A pool whose listeners of one kind throw while `isFaulty` says so. */
const pool = () => {
  const fault: { listener: Listener | undefined; pids: () => ReadonlyArray<number> } = {
    listener: undefined,
    pids: () => []
  }
  const layer = sandboxLayer({
    runnerPath: runner,
    runners: 1,
    onStarted: (pids) => {
      fault.pids = pids
    },
    onListener: (listener) => {
      if (listener !== fault.listener) return
      fault.listener = undefined
      throw new RangeError("a tenant's value")
    }
  })
  return { fault, layer }
}

const announceFault = (reason: RegExp) => {
  announce(/"sandbox\.listener_failed".*RangeError: its message is not logged/, { required: true })
  announce(new RegExp(`"sandbox\\.runner_replaced".*(?:${reason.source})`), { required: true })
}

describe("A listener of a runner that throws", () => {
  for (const listener of ["socket", "timer"] as const) {
    it.live(`ends that runner and not the process: ${listener}`, () => {
      announceFault(/listener failed/)
      const { fault, layer } = pool()
      return Effect.gen(function* () {
        const session = (yield* begin(waiting)).session
        const before = started(fault.pids)
        fault.listener = listener
        // Long enough for the watchdog to run.
        const failure = yield* Effect.flip(begin("for (let i = 0; i < 1e7; i++); return 1"))
        assert.strictEqual(failure._tag, "SessionLost")
        assert.isUndefined(fault.listener, "the fault was met")
        const lost = yield* Effect.flip(session.feed([doneEvent(0, 1)]))
        assert.strictEqual(lost._tag, "SessionLost")
        while (fault.pids().includes(before)) yield* turn
        const again = yield* Effect.flatMap(effectSandbox, (sandbox) =>
          sandbox.start(program(waiting), limits, startEvent(), [doneEvent(0, 5)])
        )
        assert.deepStrictEqual(end(again), { t: "ret", v: ["answered", 5] })
      }).pipe(Effect.provide(layer))
    })
  }

  it.live("ends that runner and not the process: child", () => {
    // The end of a killed process is heard from it or from its socket, in either order.
    announceFault(/listener failed|closed its socket/)
    const { fault, layer } = pool()
    return Effect.gen(function* () {
      const session = (yield* begin(waiting)).session
      const before = started(fault.pids)
      fault.listener = "child"
      process.kill(before, "SIGKILL")
      while (fault.pids().includes(before) || fault.listener !== undefined) yield* turn
      assert.strictEqual((yield* Effect.flip(session.feed([doneEvent(0, 1)])))._tag, "SessionLost")
      assert.strictEqual(end(yield* begin("return 1"))?.t, "ret")
    }).pipe(Effect.provide(layer))
  })
})
