/** Another tenant's guests start at once while one tenant's guest computes. */
import { Effect, Fiber } from "effect"
import { layer as sandboxLayer } from "../../../src/runtime/sandbox/Pool.js"
import { effectSandbox, limits, program, startEvent } from "../../support/guests.js"
import { layer } from "../../support/layer.js"
import { assertWithin } from "../../support/pace.js"
import { bundleRunner } from "../../support/sandboxRunner.js"

let started: () => ReadonlyArray<number> = () => []
const onStarted = (pids: () => ReadonlyArray<number>) => {
  started = pids
}

const start = (body: string, tenant: string, within = limits) =>
  Effect.flatMap(effectSandbox, (sandbox) => sandbox.start(program(body, tenant), within, startEvent({ input: 7 })))
/** Starts again when its turn was moved, as a run does. */
const short = (tenant: string) =>
  Effect.retry(start("return ctx.input", tenant), { times: 5, while: ({ _tag }) => _tag === "SessionLost" })

layer(sandboxLayer({ runnerPath: bundleRunner(), runners: 1, spare: true, startsAll: true, onStarted }), {
  excludeTestServices: true
})("while one tenant's guest computes", (it) => {
  it.effect("ten of another tenant start and end", () =>
    Effect.gen(function* () {
      yield* short("org_warm")
      while (started().length < 2) yield* Effect.sleep("50 millis")
      const attack = yield* Effect.fork(
        Effect.flip(start("for (;;);", "org_evil", { ...limits, cpuPerStepMillis: 30_000 }))
      )
      yield* Effect.sleep("100 millis")
      const since = performance.now()
      for (let n = 0; n < 10; n++) yield* short("org_victim")
      assertWithin(performance.now() - since, 1_500)
      yield* Fiber.interrupt(attack)
    })
  )
})
