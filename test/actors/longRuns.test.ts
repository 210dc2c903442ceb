/** The changes of a run with many calls are written in parts, none of which takes long to build or to commit. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Executions } from "../../src/actors/ports/run/Executions.js"
import { makeRunWorld, request, runnable } from "../support/runWorld.js"
import type { Guest } from "../support/scriptedSandbox.js"

describe("a run", () => {
  it.scoped("that makes many calls without a request is committed in parts of bounded size", () => {
    const guest: Guest = function* () {
      for (let n = 0; n < 1_000; n++) yield { name: "timer.sleep", args: [0] }
      return "done"
    }
    const world = makeRunWorld({ guests: { main: guest } })
    return Effect.gen(function* () {
      const executions = yield* Executions
      const started = yield* executions.start(request(runnable({ tier: "instant" })))
      assert(started._tag === "Ended")
      assert.strictEqual(started.end.output, "done")
      const sizes = world.changes.map(({ journal = [], steps = [] }) => Math.max(journal.length, steps.length))
      assert.isAtMost(Math.max(...sizes), 300)
      assert.strictEqual(
        world.changes.reduce((sum, { steps = [] }) => sum + steps.length, 0),
        1_000
      )
    }).pipe(Effect.provide(world.layer))
  })
})
