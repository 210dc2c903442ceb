/** Runs with much memory that wait use no more than the cap together. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { layer as sandboxLayer } from "../../../src/runtime/sandbox/Pool.js"
import { assertBytes } from "../../support/figures.js"
import { doneEvent, effectSandbox, limits, program, startEvent, type Turn } from "../../support/guests.js"
import { bundleRunner } from "../../support/sandboxRunner.js"

const runner = bundleRunner()
const mebibyte = 1024 * 1024

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

  it.live(
    "use no more than the cap together, and leave the runner small",
    () => {
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
        yield* sandbox.start(program(small, "org_small"), limits, startEvent())
        const before = residentBytes(pid)
        const turns: Array<Turn> = []
        for (let i = 0; i < 12; i++) turns.push(yield* sandbox.start(program(large, "org_large"), limits, startEvent()))
        const during = residentBytes(pid)
        // Twelve runs have 480 MiB; three of them fit.
        assertBytes(during - before, 320 * mebibyte)
        const fed = yield* Effect.forEach(turns, ({ session }) => Effect.either(session.feed([doneEvent(0, 5)])))
        assert.lengthOf(fed, 12)
        while (residentBytes(pid) - before > 64 * mebibyte) yield* Effect.sleep("50 millis")
      }).pipe(Effect.provide(layer))
    },
    30_000
  )
})
