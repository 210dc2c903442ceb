/** An expensive computation of a tenant holds up neither the main loop nor other organisations. */
import { assert } from "@effect/vitest"
import { Effect, Fiber, Layer, Runtime } from "effect"
import type { Computations } from "../../../src/actors/ports/Computations.js"
import { computationLimits } from "../../../src/runtime/computing/ComputationLimits.js"
import { layer as computationsLayer } from "../../../src/runtime/computing/Computations.js"
import { check, compute, endlessComputations, neighbour, worker } from "../../support/costlyComputations.js"
import { layer } from "../../support/layer.js"
import { assertLoopWithin } from "../../support/loopDelay.js"
import { assertWithin } from "../../support/pace.js"
import { layerOwnAccounts } from "../../support/shareOwners.js"

const holdingUpNothing = <A, E>(work: Effect.Effect<A, E, Computations>) =>
  Effect.flatMap(Effect.runtime<Computations>(), (runtime) =>
    Effect.promise(() => assertLoopWithin(250, () => Runtime.runPromise(runtime)(Effect.either(work))))
  )

layer(computationsLayer({ workerPath: worker }).pipe(Layer.provide(layerOwnAccounts)), { excludeTestServices: true })(
  "a computation",
  (it) => {
    for (const [name, computation] of endlessComputations) it.effect(name, () => holdingUpNothing(computation))

    it.effect("of the file of a flow", () =>
      holdingUpNothing(
        compute("readFlowFile", { format: "flow.js", source: "for (;;);\nexport default {}", path: "import.source" })
      )
    )

    it.effect("of one organisation does not delay another by its deadlines", () =>
      Effect.gen(function* () {
        const endless = check({ pattern: "^(a+)+$" }, `${"a".repeat(60)}!`)
        const flood = yield* Effect.fork(
          Effect.forEach(Array.from({ length: 6 }), () => Effect.either(endless), { concurrency: "unbounded" })
        )
        yield* check({ type: "number" }, 1, neighbour)
        const started = performance.now()
        for (let n = 0; n < 20; n++) assert.deepStrictEqual(yield* check({ type: "number" }, n, neighbour), [])
        assertWithin(performance.now() - started, 20 * computationLimits.millis.checkValue)
        yield* Fiber.interrupt(flood)
      })
    )
  }
)
