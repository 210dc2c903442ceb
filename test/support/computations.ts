/** The port `Computations` in this process, without workers, for tests of other things. */
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { Effect, Layer } from "effect"
import { Computations, type ComputationName, type ComputationTable } from "../../src/actors/ports/Computations.js"
import { makeComputations } from "../../src/runtime/computing/worker/Table.js"

/** As the worker does: the port pairs names and inputs by its types. */
type Computed = {
  readonly [Name in ComputationName]: (
    input: ComputationTable[Name]["input"]
  ) => ComputationTable[Name]["output"] | Promise<ComputationTable[Name]["output"]>
}

const wasm = createRequire(import.meta.url).resolve("@jitl/quickjs-ng-wasmfile-release-sync/wasm")
const computations: Computed = makeComputations(async () => Uint8Array.from(await readFile(wasm)))

export const computationsInProcess = Layer.succeed(
  Computations,
  Computations.of({
    compute: <Name extends ComputationName>(name: Name, _: unknown, input: ComputationTable[Name]["input"]) =>
      Effect.promise(async (): Promise<ComputationTable[Name]["output"]> => computations[name](input))
  })
)
