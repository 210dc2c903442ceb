/** The port `Computations` in this process, without workers, for tests of other things. */
import { Effect, Layer } from "effect"
import { Computations, type ComputationName, type ComputationTable } from "../../src/actors/ports/Computations.js"
import { computations } from "../../src/runtime/computing/worker/Table.js"

export const computationsInProcess = Layer.succeed(
  Computations,
  Computations.of({
    compute: <Name extends ComputationName>(name: Name, _: unknown, input: ComputationTable[Name]["input"]) =>
      Effect.sync((): ComputationTable[Name]["output"] => computations[name](input))
  })
)
