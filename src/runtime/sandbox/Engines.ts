/**
 * The engines that this release carries: its own, and those of earlier builds that lie beside the bundle, so that a
 * run goes on with the engine it began with. An earlier engine gets its runner when the first of its runs turns up.
 */
import { describe } from "../telemetry/SafeError.js"
import type { Buffer } from "node:buffer"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import type { Fleet, FleetOptions } from "./Fleet.js"
import { startFleet } from "./Fleet.js"
import { readRunner } from "./RunnerFiles.js"
import { protocolVersion } from "./runner/Protocol.js"

export interface CurrentEngine {
  readonly engine: string
  readonly source: Buffer
  readonly wasm: Buffer
}

export interface EngineOptions extends Omit<FleetOptions, keyof CurrentEngine> {
  /** Where earlier engines lie, `v<protocol>/<engine>/{runner.js,quickjs.wasm}`. */
  readonly earlierPath: string | undefined
}

export interface Engines {
  readonly current: Fleet
  /** All that are carried, the current one first. */
  readonly names: readonly [current: string, ...earlier: ReadonlyArray<string>]
  /** The fleet of an earlier engine, started at the first call. Fails when it cannot be started; then it is tried anew. */
  readonly earlier: (engine: string) => Promise<Fleet>
  readonly pids: () => ReadonlyArray<number>
  readonly stop: () => void
}

/** Fails when no runner of the current engine can be started. */
export const startEngines = async (options: EngineOptions, own: CurrentEngine): Promise<Engines> => {
  const current = await startFleet({ ...options, ...own })
  const folder = options.earlierPath === undefined ? undefined : join(options.earlierPath, `v${protocolVersion}`)
  const others = folder === undefined ? [] : found(folder).filter((name) => name !== own.engine)
  const starting = new Map<string, Promise<Fleet>>()
  const running = new Set<Fleet>()
  let stopped = false

  const begin = async (engine: string): Promise<Fleet> => {
    if (folder === undefined || !others.includes(engine)) throw new Error(`no engine ${engine} is carried`)
    const directory = join(folder, engine)
    const files = await readRunner(join(directory, "runner.js"), join(directory, "quickjs.wasm"))
    const fleet = await startFleet({ ...options, ...files, engine, runners: 1, spare: false })
    if (stopped) fleet.stop()
    running.add(fleet)
    return fleet
  }

  return {
    current,
    names: [own.engine, ...others],
    earlier: (engine) => {
      const known = starting.get(engine)
      if (known !== undefined) return known
      const fleet = begin(engine)
      starting.set(engine, fleet)
      fleet.catch((error: unknown) => {
        starting.delete(engine)
        options.onTrouble("sandbox.engine_not_started", { reason: describe(error) })
      })
      return fleet
    },
    pids: () => [current, ...running].flatMap((fleet) => fleet.pids()),
    stop: () => {
      stopped = true
      for (const fleet of [current, ...running]) fleet.stop()
    }
  }
}

// --- Private ---

const found = (folder: string): ReadonlyArray<string> => {
  try {
    return readdirSync(folder).filter((name) => /^[0-9a-f]{16}$/.test(name))
  } catch {
    // No earlier build has left one.
    return []
  }
}
