/** Reads the two files of a runner, its bundle and the engine's wasm module: a jailed runner cannot open files. */
import type { Buffer } from "node:buffer"
import { access, readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

export interface RunnerFiles {
  readonly source: Buffer
  readonly wasm: Buffer
}

export const readRunner = async (runnerPath: string, wasmPath: string | undefined): Promise<RunnerFiles> => {
  const bundledWasm = join(dirname(runnerPath), "quickjs.wasm")
  const wasmFile = wasmPath ?? ((await exists(bundledWasm)) ? bundledWasm : packagedWasm())
  const [source, wasm] = await Promise.all([readFile(runnerPath), readFile(wasmFile)])
  return { source, wasm }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false
  )

const packagedWasm = (): string => createRequire(import.meta.url).resolve("@jitl/quickjs-ng-wasmfile-release-sync/wasm")
