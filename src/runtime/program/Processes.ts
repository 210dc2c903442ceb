/** The bundles of the jailed processes, and the sandbox, whose runners are such processes. */
import { Effect, Layer } from "effect"
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { doesWork, Settings } from "../configuration/Config.js"
import { enginesOf } from "../sandbox/Engines.js"
import * as Pool from "../sandbox/Pool.js"
import { engineIdentity } from "../sandbox/runner/Identity.js"
import { readRunner } from "../sandbox/RunnerFiles.js"
import { asPhase } from "./Phases.js"

/** The bundles of other processes lie beside the program's; one that a test makes lies a folder deeper. */
export const bundleOf = (name: string): string =>
  [`./${name}`, `../${name}`].map((path) => fileURLToPath(new URL(path, import.meta.url))).find(existsSync) ??
  `dist/${name}`

const runnerPath = bundleOf("runner.js")
/** The build leaves the engines of earlier builds there. */
const earlierPath = join(dirname(runnerPath), "engines")

/** Needs no database. A start builds it first: a runner takes as long to start as Postgres. */
export const sandbox = Layer.unwrapEffect(
  Effect.map(Settings, (settings) => {
    const { guestMemory, runners } = settings
    return doesWork(settings)
      ? asPhase("runner")(Pool.layer({ runnerPath, earlierPath, runners, guestMemory: guestMemory * 1_048_576 }))
      : Pool.layerWithoutGuests({ runnerPath, earlierPath })
  })
)

/** The sandbox engines of this build, the current one first. */
export const carriedEngines = Effect.promise(async () => {
  const { wasm } = await readRunner(runnerPath, undefined)
  return enginesOf(engineIdentity(wasm), earlierPath)
})
