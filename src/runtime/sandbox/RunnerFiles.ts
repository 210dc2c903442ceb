/** Reads the two files of a runner, its bundle and the engine's wasm module: a jailed runner cannot open files. */
import type { Buffer } from "node:buffer"
import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

export interface RunnerFiles {
  readonly source: Buffer
  readonly wasm: Buffer
}

/** `wasmPath`: by default the module beside the bundle. */
export const readRunner = async (runnerPath: string, wasmPath: string | undefined): Promise<RunnerFiles> => {
  const [source, wasm] = await Promise.all([readFile(runnerPath), readFile(wasmPath ?? wasmBeside(runnerPath))])
  return { source, wasm }
}

/** The engine's module beside a bundle, else that of the installed package. */
export const wasmBeside = (bundlePath: string): string => {
  const bundled = join(dirname(bundlePath), "quickjs.wasm")
  return existsSync(bundled) ? bundled : packagedWasm()
}

const packagedWasm = (): string => createRequire(import.meta.url).resolve("@jitl/quickjs-ng-wasmfile-release-sync/wasm")
