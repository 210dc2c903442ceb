/**
 * The engines of this release: the current one, and those of earlier builds beside the bundle, so that a run is
 * replayed by the engine that it began with. The first runner of an earlier engine starts with the first of its runs, the
 * others once turns wait: until a release is confirmed, all runs begin on its predecessor's.
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
  /** The folder of earlier engines, each in `v<protocol>/<engine>/{runner.js,quickjs.wasm}`. */
  readonly earlierPath: string | undefined
}

export interface Engines {
  readonly current: Fleet
  /** The names of all engines, the current one first. */
  readonly names: readonly [current: string, ...earlier: ReadonlyArray<string>]
  /**
   * The fleet of an earlier engine, started at the first call. Fails when it cannot be started; the next call tries
   * again.
   */
  readonly earlier: (engine: string) => Promise<Fleet>
  readonly pids: () => ReadonlyArray<number>
  readonly stop: () => void
}

/** The names of all engines of this release, the current one first. */
export const enginesOf = (current: string, earlierPath: string | undefined): Engines["names"] => {
  const folder = folderIn(earlierPath)
  return [current, ...(folder === undefined ? [] : listEngines(folder).filter((name) => name !== current))]
}

/** Fails when no runner of the current engine can be started. */
export const startEngines = async (options: EngineOptions, currentEngine: CurrentEngine): Promise<Engines> => {
  const current = await startFleet({ ...options, ...currentEngine })
  const folder = folderIn(options.earlierPath)
  const names = enginesOf(currentEngine.engine, options.earlierPath)
  const starting = new Map<string, Promise<Fleet>>()
  const running = new Set<Fleet>()
  let stopped = false

  const startEarlier = async (engine: string): Promise<Fleet> => {
    if (folder === undefined || !names.slice(1).includes(engine))
      throw new Error(`this release contains no engine ${engine}`)
    const directory = join(folder, engine)
    const files = await readRunner(join(directory, "runner.js"), join(directory, "quickjs.wasm"))
    const fleet = await startFleet({ ...options, ...files, engine, spare: false })
    if (stopped) fleet.stop()
    running.add(fleet)
    return fleet
  }

  return {
    current,
    names,
    earlier: (engine) => {
      const existing = starting.get(engine)
      if (existing !== undefined) return existing
      const fleet = startEarlier(engine)
      starting.set(engine, fleet)
      fleet.catch((error: unknown) => {
        starting.delete(engine)
        options.onWarning("sandbox.engine_not_started", { reason: describe(error) })
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

const folderIn = (earlierPath: string | undefined): string | undefined =>
  earlierPath === undefined ? undefined : join(earlierPath, `v${protocolVersion}`)

const listEngines = (folder: string): ReadonlyArray<string> => {
  try {
    return readdirSync(folder).filter((name) => /^[0-9a-f]{16}$/.test(name))
  } catch {
    // The folder does not exist: there are no earlier engines.
    return []
  }
}
