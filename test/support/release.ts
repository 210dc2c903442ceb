/** Builds further releases of the program, each in a folder of its own. */
import { build } from "esbuild"
import * as fs from "node:fs"
import { createRequire } from "node:module"
import * as path from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { bundleOptions } from "./Service.js"

export interface Release {
  /** The path of the program to start. */
  readonly program: string
  readonly engine: string
  /** Adds the other release's engine to this one's earlier engines. */
  readonly carry: (other: Release) => void
  readonly directory: string
  readonly remove: () => void
}

/** Writes an engine into a folder as the build does. */
export const keepEngine: (folder: string, engine: string, files: Readonly<Record<string, Buffer>>) => void = (
  await import(new URL("../../scripts/engines.mjs", import.meta.url).href)
).keepEngine

const root = fileURLToPath(new URL("../..", import.meta.url))

/** Builds a release with an engine of its own: its guests have a global `release` with the release's name. */
export const buildRelease = async (name: string): Promise<Release> => {
  // Inside the project, so that the program finds packages that are not bundled.
  fs.mkdirSync(path.join(root, "dist", "test"), { recursive: true })
  const directory = fs.mkdtempSync(path.join(root, "dist", "test", `${name}-`))
  await build({
    entryPoints: {
      svc: path.join(root, "test/support/ReleaseMain.ts"),
      runner: path.join(root, "src/runtime/sandbox/runner/Runner.ts"),
      computing: path.join(root, "src/runtime/computing/worker/Worker.ts"),
      identity: path.join(root, "src/runtime/sandbox/runner/Identity.ts")
    },
    outdir: directory,
    ...bundleOptions,
    plugins: [
      {
        name: "another-engine",
        setup: ({ onLoad }) =>
          onLoad({ filter: /prelude\/Core\.guest\.js$/ }, (file) => ({
            loader: "text",
            contents: fs
              .readFileSync(file.path, "utf8")
              .replace("// --- State of the run ---", `global("release", ${JSON.stringify(name)})`)
          }))
      }
    ]
  })
  const wasm = fs.readFileSync(createRequire(import.meta.url).resolve("@jitl/quickjs-ng-wasmfile-release-sync/wasm"))
  fs.writeFileSync(path.join(directory, "quickjs.wasm"), wasm)
  const { engineIdentity, protocolVersion } = (await import(
    pathToFileURL(path.join(directory, "identity.js")).href
  )) as {
    readonly engineIdentity: (wasm: Uint8Array) => string
    readonly protocolVersion: number
  }
  return {
    program: path.join(directory, "svc.js"),
    engine: engineIdentity(wasm),
    directory,
    carry: (other) =>
      keepEngine(path.join(directory, "engines", `v${protocolVersion}`), other.engine, {
        "runner.js": fs.readFileSync(path.join(other.directory, "runner.js")),
        "quickjs.wasm": wasm
      }),
    remove: () => fs.rmSync(directory, { recursive: true, force: true })
  }
}
