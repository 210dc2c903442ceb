/** Builds further releases of the program, each in a folder of its own. */
import { build, type Plugin } from "esbuild"
import * as fs from "node:fs"
import { createRequire } from "node:module"
import * as path from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { serviceRelease } from "../../src/domain/run/ServiceRelease.js"
import { bundleOptions, programOptions, writeProgram } from "./Service.js"

export interface Release {
  /** The path of the program to start. */
  readonly program: string
  readonly engine: string
  /** Adds the engines of the build of this tree to this one's earlier engines. */
  readonly carryBuilt: () => void
  /** Adds the other release's engine to this one's earlier engines. */
  readonly carry: (other: Release) => void
  readonly directory: string
  readonly remove: () => void
}

/** How a release differs from this tree, besides its engine. */
export interface ReleaseChanges {
  /** Its service release. */
  readonly number?: number
  /** Further migrations. */
  readonly migrations?: ReadonlyArray<{
    readonly name: string
    readonly oldestBeside: number
    readonly statement: string
  }>
  /** Orders between nodes have one more optional member. */
  readonly extendsMessages?: boolean
  /** Runs are started by one more trigger type, once the release is confirmed. */
  readonly triggerType?: string
}

/** The engines that the build of this tree has beside it, for `carry`. */
const builtEngines = path.join(fileURLToPath(new URL("../..", import.meta.url)), "dist", "engines")

/** Writes an engine into a folder as the build does. */
export const keepEngine: (folder: string, engine: string, files: Readonly<Record<string, Buffer>>) => void = (
  await import(new URL("../../scripts/engines.mjs", import.meta.url).href)
).keepEngine

const root = fileURLToPath(new URL("../..", import.meta.url))

type Change = readonly [before: string, after: string]

/** The changes of each file, by the end of its path. Each is a text that the file has. */
const changedFiles = (
  name: string,
  { extendsMessages = false, migrations = [], number = serviceRelease, triggerType }: ReleaseChanges
): Readonly<Record<string, ReadonlyArray<Change>>> => ({
  "prelude/Core.guest.js": [["// --- State of the run ---", `global("release", ${JSON.stringify(name)})`]],
  "src/domain/run/ServiceRelease.ts": [
    [`serviceRelease: number = ${serviceRelease}\n`, `serviceRelease: number = ${number}\n`]
  ],
  "migrations/index.ts": [
    ["export const migrations = {", 'import { script } from "./policies.js"\nexport const migrations = {'],
    [
      "\n}\n",
      `${migrations.map((one) => `,\n  "${one.name}": Effect.asVoid(script(${JSON.stringify(one.statement)}))`).join("")}\n}\n`
    ],
    [
      "Record<string, number>> = {",
      `Record<string, number>> = {${migrations.map((one) => ` "${one.name}": ${one.oldestBeside},`).join("")}`
    ]
  ],
  "src/actors/ports/run/NodeStarts.ts": extendsMessages
    ? [["  repetition: Schema.JsonNumber\n", "  repetition: Schema.JsonNumber, hint: Schema.optional(Schema.String)\n"]]
    : [],
  "src/actors/execution/RemoteStart.ts": extendsMessages
    ? [["contentHash, repetition }", `contentHash, repetition, hint: "${name}" }`]]
    : [],
  ...(triggerType === undefined ? {} : withTriggerType(triggerType))
})

/** A release writes what its predecessor cannot read only once it is confirmed. */
const withTriggerType = (type: string): Readonly<Record<string, ReadonlyArray<Change>>> => ({
  "src/domain/run/Execution.ts": [[`TriggerType = Schema.Literal(`, `TriggerType = Schema.Literal("${type}",`]],
  "src/actors/execution/Executions.ts": [
    [
      "if (request.runnable.version !== null) return accept(request)",
      `if (request.runnable.version !== null) return accept(
        stage.isConfirmed() ? { ...request, trigger: { ...request.trigger, type: "${type}" } } : request
      )`
    ]
  ]
})

const changing = (files: Readonly<Record<string, ReadonlyArray<Change>>>): Plugin => ({
  name: "another-release",
  setup: ({ onLoad }) => {
    for (const [ending, changes] of Object.entries(files))
      onLoad({ filter: new RegExp(`${ending.replaceAll(/[./]/g, "\\$&")}$`) }, (file) => ({
        loader: ending.endsWith(".guest.js") ? "text" : "ts",
        contents: changes.reduce(
          (text, [before, after]) => {
            if (!text.includes(before)) throw new Error(`${ending} has no ${before}`)
            return text.replace(before, after)
          },
          fs.readFileSync(file.path, "utf8")
        )
      }))
  }
})

/**
 * Builds a release with an engine of its own: its guests have a global `release` with the release's name. It differs from
 * this tree as `changes` say.
 */
export const buildRelease = async (name: string, changes: ReleaseChanges = {}): Promise<Release> => {
  // Inside the project, so that the program finds packages that are not bundled.
  fs.mkdirSync(path.join(root, "dist", "test"), { recursive: true })
  const directory = fs.mkdtempSync(path.join(root, "dist", "test", `${name}-`))
  const plugins = [changing(changedFiles(name, changes))]
  const { outputFiles } = await build({
    entryPoints: [path.join(root, "src/runtime/cli/Main.ts")],
    ...programOptions,
    write: false,
    plugins
  })
  const program = path.join(directory, "svc.js")
  writeProgram(program, `program-${name}`, outputFiles[0]?.text ?? "")
  await build({
    entryPoints: {
      runner: path.join(root, "src/runtime/sandbox/runner/Runner.ts"),
      computing: path.join(root, "src/runtime/computing/worker/Worker.ts"),
      identity: path.join(root, "src/runtime/sandbox/runner/Identity.ts")
    },
    outdir: directory,
    ...bundleOptions,
    plugins
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
    program,
    engine: engineIdentity(wasm),
    directory,
    carryBuilt: () => fs.cpSync(builtEngines, path.join(directory, "engines"), { recursive: true }),
    carry: (other) =>
      keepEngine(path.join(directory, "engines", `v${protocolVersion}`), other.engine, {
        "runner.js": fs.readFileSync(path.join(other.directory, "runner.js")),
        "quickjs.wasm": wasm
      }),
    remove: () => fs.rmSync(directory, { recursive: true, force: true })
  }
}
