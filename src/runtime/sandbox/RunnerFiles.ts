/** The two files a runner is made of. They are read here and handed to it: it may open no file itself. */
import type { Buffer } from "node:buffer"
import { access, readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

export interface RunnerFiles {
  readonly source: Buffer
  readonly wasm: Buffer
}

export const readRunner = async (runnerPath: string, wasmPath: string | undefined): Promise<RunnerFiles> => {
  const beside = join(dirname(runnerPath), "quickjs.wasm")
  const found = wasmPath ?? ((await exists(beside)) ? beside : packaged())
  const [source, wasm] = await Promise.all([readFile(runnerPath), readFile(found)])
  return { source, wasm }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false
  )

const packaged = (): string => createRequire(import.meta.url).resolve("@jitl/quickjs-ng-wasmfile-release-sync/wasm")
