/**
 * The directory of a run of tests: its services have their data there, and their processes are recorded there by pid and
 * time of their start. The run's end, or the start of the next one if this one was killed, ends what is left of it.
 */
import { Effect, Logger, LogLevel, Option } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { startEmbedded } from "../../src/runtime/embedded/EmbeddedServer.js"
import { find, stop } from "../../src/runtime/embedded/Postmaster.js"
import { isSameProcess, startOf } from "./processes.js"

/** Creates the directory of this process' run below `parent`. */
export const makeRunDirectory = (parent: string): string => {
  const directory = path.join(parent, `svc-test-${process.pid}-${startOf(process.pid)}`)
  fs.mkdirSync(path.join(directory, "processes"), { recursive: true, mode: 0o755 })
  return directory
}

/** Records a process of the run, which its end kills. */
export const recordProcess = (directory: string, pid: number | undefined): void => {
  const startedAt = pid === undefined ? undefined : startOf(pid)
  if (startedAt !== undefined) fs.writeFileSync(path.join(directory, "processes", `${pid}-${startedAt}`), "")
}

/** Ends what runs below `parent` left that were killed: their services, their servers of Postgres, their files. */
export const endDeadRuns = Effect.fn("TestRun.endDead")(function* (parent: string) {
  for (const name of fs.readdirSync(parent)) {
    const [, pid, startedAt] = /^svc-test-(\d+)-(\d+)$/.exec(name) ?? []
    if (pid === undefined || startedAt === undefined || isSameProcess({ pid: Number(pid), startedAt })) continue
    yield* endRun(path.join(parent, name))
  }
})

/** Ends the processes of a run, and removes its directory. */
export const endRun = Effect.fn("TestRun.end")(function* (directory: string) {
  const processes = path.join(directory, "processes")
  // Another run that starts now may have ended it already.
  for (const name of fs.existsSync(processes) ? fs.readdirSync(processes) : []) {
    const [pid, startedAt = ""] = name.split("-")
    if (isSameProcess({ pid: Number(pid), startedAt })) process.kill(Number(pid), "SIGKILL")
  }
  for (const state of clustersBelow(directory)) yield* endCluster(state)
  fs.rmSync(directory, { recursive: true, force: true })
})

/** Whether a server of Postgres that used files below this directory was not stopped: it left shared memory. */
export const hasServer = (directory: string): boolean => clustersBelow(directory).length > 0

// --- Private ---

/** The data directories of services, at most so far below, whose Postgres was not stopped. That of a run contains others. */
const clustersBelow = (directory: string, depth = 3): ReadonlyArray<string> => {
  const found = fs.existsSync(path.join(directory, "postgres", "cluster", "data", "postmaster.pid")) ? [directory] : []
  if (depth === 0) return found
  if (!fs.existsSync(directory)) return found
  const entries = fs.readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return [...found, ...entries.flatMap(({ name }) => clustersBelow(path.join(directory, name), depth - 1))]
}

/** A server that died leaves shared memory, which the next server on its files frees. */
const endCluster = Effect.fn("TestRun.endCluster")(function* (dataDir: string) {
  const left = yield* find(path.join(dataDir, "postgres", "cluster", "data"))
  if (Option.isSome(left)) return yield* stop(left.value.pid)
  yield* startEmbedded({ dataDir, durable: false, programDir }).pipe(
    Effect.scoped,
    // The test that killed it may have broken its files, too.
    Effect.catchAllCause((cause) => Effect.logWarning("test.cluster_left", cause)),
    Logger.withMinimumLogLevel(LogLevel.Warning)
  )
})

/** The directory of the binaries: kept between runs, and on disk, since programs in shared memory may be forbidden. */
export const programDir = path.join(os.tmpdir(), `svc-test-program-${process.getuid?.()}`)
