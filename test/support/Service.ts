/** Runs the program as an operator does: the bundle, in a process of its own. */
import { type BuildOptions, buildSync } from "esbuild"
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { inject } from "vitest"
import type { FaultPoint } from "../../src/actors/ports/Faults.js"
import { api } from "./api.js"
import { patientConnectEnv } from "./connectTimeout.js"
import { hear, unannouncedLines } from "./LogExpectations.js"
import { splitLines } from "../../src/runtime/process/Lines.js"
import { isTrouble } from "./LogLines.js"
import { hasServer, recordProcess } from "./TestRun.js"

export interface Service {
  readonly pid: number
  readonly dataDir: string
  /** Log lines of trouble since the last test, of all services of this file, that no test announced. */
  readonly trouble: () => ReadonlyArray<string>
  /** The whole output so far. */
  readonly output: () => string
  /** Resolves with the milliseconds since the start. Rejects with the output if the process ends before. */
  readonly ready: Promise<number>
  /** Resolves with the exit code; null if a signal ended the process. */
  readonly ended: Promise<number | null>
  readonly kill: (signal: NodeJS.Signals) => void
  /** Ends the reading of the output, as `| head` does: what the process writes from now on fails. */
  readonly stopReading: () => void
}

export interface ServiceOptions {
  readonly dataDir: string
  readonly env?: Readonly<Record<string, string>>
  /** The user to run as; only for root. */
  readonly uid?: number
  readonly command?: ReadonlyArray<string>
  /** The path of another release's bundle; by default that of the current build. */
  readonly release?: string
  /** `point:n`: the process kills itself by SIGKILL when it reaches this kill point the nth time. */
  readonly kill?: string
  /** Whatever reaches this kill point hangs there. */
  readonly hang?: FaultPoint
  /** The file of a control group that the process enters (`test/support/memoryGroup.ts`). */
  readonly group?: string | undefined
  /** Each message of it to its own actors is encoded and decoded. */
  readonly isEncoded?: boolean
}

/** `SVC_TEST_ENCODED=1 npx vitest run test/flow` runs the flows with every message encoded. */
const isEncoded = process.env["SVC_TEST_ENCODED"] === "1"

/** Starts `svc start`, or another command. The end of the test process kills it. */
export const startService = (options: ServiceOptions): Service => {
  build()
  const encodes = isEncoded || options.isEncoded === true
  const isService = options.command === undefined && options.release === undefined
  const isFaulty = options.kill !== undefined || options.hang !== undefined || (encodes && isService)
  const program = isFaulty
    ? [buildFaultyMain(), "start"]
    : [options.release ?? bundle, ...(options.command ?? ["start"])]
  const started = performance.now()
  let output = ""
  const [file = "", ...words] = inGroup(options.group, [process.execPath, ...program])
  const child = spawn(file, words, {
    cwd: os.tmpdir(),
    env: {
      PATH: process.env["PATH"],
      SVC_PORT: "0",
      SVC_DATA_DIR: options.dataDir,
      // Each runner costs a start a quarter of a second. Tests about several set their number.
      SVC_RUNNERS: "1",
      ...patientConnectEnv,
      SVC_TEST_KILL: options.kill,
      SVC_TEST_HANG: options.hang,
      SVC_TEST_ENCODED: encodes ? "1" : "0",
      ...options.env
    },
    stdio: ["ignore", "pipe", "pipe"],
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid })
  })
  alive.add(child)
  recordProcess(inject("runDirectory"), child.pid)
  const ended = new Promise<number | null>((resolve) =>
    child.once("close", (code) => {
      alive.delete(child)
      resolve(code)
    })
  )
  const ready = new Promise<number>((resolve, reject) => {
    for (const stream of ["stdout", "stderr"] as const) {
      // The error stream of a command is its answer, which the test reads.
      const isHeard = (text: string) => isTrouble({ stream: options.command === undefined ? stream : "stdout", text })
      const lines = splitLines((text) => {
        if (isHeard(text)) hear(text)
      })
      child[stream].setEncoding("utf8").on("data", (text: string) => {
        output += text
        lines.push(text)
        if (output.includes('"service.ready"')) resolve(performance.now() - started)
      })
      child[stream].on("end", lines.end)
    }
    void ended.then(() => reject(new Error(`svc has ended: ${output}`)))
  })
  ready.catch(() => {})
  return {
    pid: child.pid ?? 0,
    dataDir: options.dataDir,
    trouble: unannouncedLines,
    output: () => output,
    ready,
    ended,
    kill: (signal) => void child.kill(signal),
    stopReading: () => {
      for (const stream of [child.stdout, child.stderr]) stream.destroy()
    }
  }
}

const inGroup = (group: string | undefined, command: ReadonlyArray<string>): ReadonlyArray<string> =>
  group === undefined ? command : ["sh", "-c", 'echo $$ > "$0"; exec "$@"', group, ...command]

/**
 * Creates a directory for the files of one service; `remove` deletes it, the end of the run at the latest. That of a service
 * in a control group lies on disk, in `runDirectory`: files in memory would count as the group's.
 */
export const makeDataDirectory = (parent = inject("dataDirectory")) => {
  const directory = fs.mkdtempSync(path.join(parent, "svc-data-"))
  return {
    directory,
    dataDir: path.join(directory, ".svc"),
    remove: () => {
      // The end of the run frees the shared memory of a server that was killed.
      if (!hasServer(directory)) fs.rmSync(directory, { recursive: true, force: true })
    }
  }
}

/**
 * Fills a data directory, unless it exists, with that of a service which started for the first time and was stopped: the
 * first start takes five times as long as others. Tests of first starts start on a directory that does not exist.
 */
export const prepareData = async (dataDir: string): Promise<void> => {
  if (fs.existsSync(dataDir)) return
  const prepared = await preparedData()
  copyData(prepared, dataDir)
}

/** Files keep their owners: Postgres runs as a user of its own if the tests run as root. */
const copyData = (from: string, to: string) => {
  const { status, stderr } = spawnSync("cp", ["-a", from, to], { encoding: "utf8" })
  if (status !== 0) throw new Error(stderr)
}

/** Gives a service with a database of its own the compiled code of the data directories that `prepareData` fills. */
export const prepareCompiled = async (dataDir: string): Promise<void> => {
  const from = path.join(await preparedData(), "compiled")
  const to = path.join(dataDir, "compiled")
  fs.mkdirSync(to, { recursive: true, mode: 0o700 })
  for (const name of fs.readdirSync(from)) fs.linkSync(path.join(from, name), path.join(to, name))
}

const preparedData = async (): Promise<string> => {
  const prepared = path.join(inject("dataDirectory"), "prepared")
  await makeOnce(prepared, makePrepared)
  return prepared
}

const makePrepared = async (prepared: string): Promise<void> => {
  const draft = `${prepared}-${process.pid}`
  const service = startService({ dataDir: draft })
  await service.ready
  service.kill("SIGTERM")
  await service.ended
  const postgres = path.join(draft, "postgres")
  // Tests kill processes, not the machine: what Postgres has written survives them without being flushed to the disk.
  fs.appendFileSync(
    path.join(postgres, "cluster", "data", "postgresql.auto.conf"),
    "fsync = off\nfull_page_writes = off\n"
  )
  // A start links the program's files, which would be copied here.
  for (const name of fs.readdirSync(postgres).filter((one) => one.startsWith("native-")))
    fs.rmSync(path.join(postgres, name), { recursive: true })
  for (const options of [{}, { kill: "parsed:0" }]) await keepCompiled(draft, options)
  fs.renameSync(draft, prepared)
}

/**
 * Keeps the compiled code of a program that has served a run, which is on a copy: a start with it computes a tenth less, and
 * writes none.
 */
const keepCompiled = async (dataDir: string, options: Pick<ServiceOptions, "kill">): Promise<void> => {
  const used = `${dataDir}-used`
  copyData(dataDir, used)
  const service = startService({ dataDir: used, ...options })
  await service.ready
  const { dev, run } = api(used)
  const answer = await run(dev.exampleWorkflowId)
  service.kill("SIGTERM")
  await service.ended
  if (answer.status !== 200) throw new Error(service.output())
  const [from, to] = [used, dataDir].map((directory) => path.join(directory, "compiled")) as [string, string]
  fs.mkdirSync(to, { recursive: true, mode: 0o700 })
  for (const name of fs.readdirSync(from)) fs.renameSync(path.join(from, name), path.join(to, name))
  fs.rmSync(used, { recursive: true })
}

/** Makes what stands at `place`, unless it exists; meanwhile the other workers of the run, which need it too, wait. */
const makeOnce = async (place: string, make: (place: string) => Promise<void>): Promise<void> => {
  const lock = `${place}.making`
  while (!fs.existsSync(place)) {
    try {
      fs.mkdirSync(lock)
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
      continue
    }
    try {
      if (!fs.existsSync(place)) await make(place)
    } finally {
      fs.rmdirSync(lock)
    }
  }
}

/** The pid of the Postgres on a data directory. */
export const postgresPid = (dataDir: string): number =>
  Number(fs.readFileSync(path.join(dataDir, "postgres", "cluster", "data", "postmaster.pid"), "utf8").split("\n")[0])

const root = fileURLToPath(new URL("../..", import.meta.url))
export const bundle = path.join(root, "dist", "svc.js")

/** The options by which a test bundles the program. */
export const bundleOptions = {
  bundle: true,
  platform: "node",
  target: "node20",
  format: "esm",
  logLevel: "error",
  loader: { ".guest.js": "text" },
  external: ["pg-native", "cloudflare:sockets", "msgpackr-extract", "bufferutil", "utf-8-validate"],
  banner: {
    js: 'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url);'
  }
} satisfies BuildOptions

/**
 * Builds the program with kill points as `scripts/build.mjs` builds the real one, with what V8 made of it, unless it is newer
 * than its source and the build, and returns its path: below the real one, so that it finds the runner's bundle and the
 * packages.
 */
const buildFaultyMain = (): string => {
  const name = "FaultyMain"
  const source = path.join(root, "test", "support", `${name}.ts`)
  const launcher = path.join(root, "dist", "test", `${name}.js`)
  const builtAt = fs.statSync(launcher, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (builtAt > Math.max(fs.statSync(source).mtimeMs, fs.statSync(bundle).mtimeMs)) return launcher
  // A name of its own: another worker may be building it too.
  const program = `${name}-${process.pid}`
  const { outputFiles } = buildSync({ entryPoints: [source], ...programOptions, write: false })
  writeProgram(launcher, program, outputFiles[0]?.text ?? "")
  return launcher
}

/** The options by which a test bundles a program that starts from what V8 made of it. */
export const programOptions = {
  ...bundleOptions,
  format: "cjs",
  define: { "import.meta.url": "moduleUrl" },
  banner: { js: "(function (exports, require, module, moduleUrl) {" },
  footer: { js: "})" }
} satisfies BuildOptions

/** Writes a program as the build does, with what V8 made of it, and the launcher that starts it. */
export const writeProgram = (launcher: string, program: string, text: string): void => {
  const directory = path.dirname(launcher)
  fs.mkdirSync(directory, { recursive: true })
  fs.writeFileSync(path.join(directory, `${program}.js`), text, "latin1")
  const files = [".js", ".v8"].map((ending) => path.join(directory, `${program}${ending}`))
  const compiled = spawnSync(process.execPath, [path.join(root, "scripts", "compile.mjs"), ...files], {
    encoding: "utf8"
  })
  if (compiled.status !== 0) throw new Error(compiled.stderr)
  const launch = fs.readFileSync(path.join(root, "scripts", "launch.mjs"), "utf8")
  fs.writeFileSync(`${launcher}.${process.pid}`, launch.replaceAll("PROGRAM", program))
  fs.renameSync(`${launcher}.${process.pid}`, launcher)
}

let built = false
const build = () => {
  if (built) return
  const made = spawnSync(process.execPath, [path.join(root, "scripts", "build.mjs")], { encoding: "utf8" })
  if (made.status !== 0) throw new Error(made.stderr)
  built = true
}

const alive = new Set<ChildProcess>()
process.on("exit", () => {
  for (const child of alive) child.kill("SIGKILL")
})
