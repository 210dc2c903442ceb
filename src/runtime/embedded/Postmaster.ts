/** Finds, starts, awaits and stops one Postgres server process, by its file postmaster.pid. */
import { operatorText } from "../../domain/OperatorText.js"
import { Clock, Data, Duration, Effect, Option } from "effect"
import { execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import { createServer } from "node:net"
import * as path from "node:path"
import { reasonOf, OperatorError } from "../process/OperatorError.js"
import type { Binaries } from "./Binaries.js"
import { childEnvironment, spawnIdentity, openPassage, type SystemUser } from "./SystemUser.js"

export interface Postmaster {
  readonly pid: number
  readonly port: number
  readonly status: "starting" | "stopping" | "ready" | "standby"
}

/** Another process took the data directory or the port between the check and the start: try again. */
export class Contended extends Data.TaggedError("Contended")<{ readonly message: string }> {
  get [operatorText]() {
    return this.message
  }
}

/** The server that runs on this data directory. Removes the stale files of a dead one. */
export const find = (data: string): Effect.Effect<Option.Option<Postmaster>> =>
  Effect.sync(() => {
    const found = read(data)
    if (Option.isNone(found) || (isProcessAlive(found.value.pid) && worksIn(found.value.pid, data))) return found
    fs.rmSync(pidFile(data), { force: true })
    return Option.none()
  })

export interface Launch {
  readonly binaries: Binaries
  readonly user: SystemUser
  readonly data: string
  /** The server's log file; truncated at 8 MiB. */
  readonly log: string
  readonly settings: Readonly<Record<string, string | number>>
}

/**
 * Starts a server on 127.0.0.1, on a free port unless one is given, in a session of its own, so that Ctrl-C does not
 * reach it. Returns when it accepts connections, however long its recovery takes.
 */
export const startPostmaster = Effect.fn("Postmaster.start")(function* (launch: Launch, givenPort?: number) {
  const port = givenPort ?? (yield* freePort)
  const logStart = fs.statSync(launch.log, { throwIfNoEntry: false })?.size ?? 0
  const child = yield* Effect.try({
    try: () => spawnServer(launch, port),
    catch: (cause) => new OperatorError({ message: `Postgres could not be started: ${reasonOf(cause)}.` })
  })
  const pid = child.pid
  if (pid === undefined) return yield* failure(launch.log, logStart)
  const ready = Effect.gen(function* () {
    while (child.exitCode === null && child.signalCode === null) {
      const found = read(launch.data)
      if (Option.isSome(found) && found.value.pid === pid && found.value.status === "ready") return found.value
      yield* Effect.sleep(pollInterval)
    }
    return yield* failure(launch.log, logStart)
  })
  return yield* Effect.onInterrupt(ready, () => stop(pid))
})

/** Waits until the server accepts connections. `None` if it ended before. */
export const untilReady = Effect.fn("Postmaster.untilReady")(function* (data: string) {
  while (true) {
    const found = yield* find(data)
    if (Option.isNone(found) || found.value.status === "ready") return found
    yield* Effect.sleep(pollInterval)
  }
})

/**
 * Stops the server and waits for its end. Disconnects its clients; after 20 s it is killed, and its next start
 * recovers.
 */
export const stop = Effect.fn("Postmaster.stop")(function* (pid: number) {
  for (const [signal, patience] of escalation) {
    signalTo(pid, signal)
    const deadline = (yield* Clock.currentTimeMillis) + Duration.toMillis(patience)
    while (isProcessAlive(pid)) {
      if ((yield* Clock.currentTimeMillis) > deadline) break
      yield* Effect.sleep(pollInterval)
    }
    if (!isProcessAlive(pid)) return
    yield* Effect.annotateLogs(Effect.logWarning("postgres.signal_ignored"), { pid, signal })
  }
})

/** Sends a signal; does nothing if the process has ended. */
export const signalTo = (pid: number, signal: NodeJS.Signals) => {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has ended.
  }
}

/** Whether the process lives. A zombie has ended, although it still accepts signals. */
export const isProcessAlive = (pid: number): boolean => {
  try {
    if (process.platform === "linux") {
      const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8")
      return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2))
    }
    process.kill(pid, 0)
    return !/^[ZX]/.test(execFileSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).trim())
  } catch {
    return false
  }
}

const pollInterval = "5 millis"
const escalation = [
  ["SIGINT", Duration.seconds(20)],
  ["SIGQUIT", Duration.seconds(5)],
  ["SIGKILL", Duration.seconds(5)]
] as const

const pidFile = (data: string) => path.join(data, "postmaster.pid")

/** Reads postmaster.pid: pid, directory, start time, port, socket directory, address, shared memory, status. */
const read = (data: string): Option.Option<Postmaster> => {
  try {
    const lines = fs.readFileSync(pidFile(data), "utf8").split("\n")
    const pid = Number(lines[0])
    const status = lines[7]?.trim()
    return Number.isSafeInteger(pid) && pid > 0
      ? Option.some({
          pid,
          port: Number(lines[3]),
          status: status === "ready" || status === "stopping" || status === "standby" ? status : "starting"
        })
      : Option.none()
  } catch {
    return Option.none()
  }
}

/** Whether the process works in the data directory: a pid may have been reused. */
const worksIn = (pid: number, data: string) => {
  try {
    return process.platform === "linux"
      ? fs.readlinkSync(`/proc/${pid}/cwd`) === fs.realpathSync(data)
      : execFileSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" }).includes(data)
  } catch {
    return false
  }
}

const spawnServer = (launch: Launch, port: number) => {
  const way = openPassage(launch.data, launch.user)
  const large = (fs.statSync(launch.log, { throwIfNoEntry: false })?.size ?? 0) > maximumLog
  const log = fs.openSync(launch.log, large ? "w" : "a", 0o600)
  try {
    const settings = { listen_addresses: "127.0.0.1", unix_socket_directories: "", port, ...launch.settings }
    const [program, ...args] = limited([
      path.join(launch.binaries.directory, "bin", "postgres"),
      "-D",
      way.path,
      ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
    ])
    const child = spawn(program, args, {
      ...spawnIdentity(launch.user),
      cwd: "/",
      env: childEnvironment,
      detached: true,
      stdio: ["ignore", "ignore", log, ...way.descriptors]
    })
    child.on("error", () => {})
    child.unref()
    return child
  } finally {
    fs.closeSync(log)
    way.close()
  }
}

/**
 * Adds a limit on the private memory of each server process to the command. Postgres limits single values (1 GB) and
 * sorts, not a statement. Beyond the limit a statement fails with `out of memory`; a batch of the largest outputs stays
 * below. Shared buffers do not count. Linux with a shell only.
 */
const limited = (command: readonly [string, ...ReadonlyArray<string>]): readonly [string, ...ReadonlyArray<string>] =>
  process.platform === "linux" && fs.existsSync(shell)
    ? [shell, "-c", `ulimit -d ${backendBytes / 1024}; exec "$0" "$@"`, ...command]
    : command

const shell = "/bin/sh"
const backendBytes = 1024 * 1024 * 1024

/**
 * What a server and its processes have written since its start. The sessions of a server that was killed write to the same log
 * until they end: their farewells are left out.
 */
const linesSince = (log: string, logStart: number): ReadonlyArray<string> => {
  const bytes = fs.readFileSync(log)
  return bytes
    .subarray(bytes.length < logStart ? 0 : logStart)
    .toString()
    .trim()
    .split("\n")
    .filter((line) => !/FATAL:\s+terminating connection/.test(line))
    .slice(-30)
}

const failure = (log: string, logStart: number) =>
  Effect.suspend((): Effect.Effect<never, Contended | OperatorError> => {
    const lines = linesSince(log, logStart)
    const reason = lines.findLast((line) => /FATAL|PANIC|could not/.test(line)) ?? lines.at(-1) ?? "it said nothing"
    const plain = reason.replace(/^.*?(FATAL|PANIC|LOG|WARNING):\s*/, "")
    return /lock file|already in use|still in use|could not (bind|create any TCP)/.test(lines.slice(-4).join("\n"))
      ? new Contended({ message: plain })
      : new OperatorError({ message: `Postgres did not start: ${plain}. Its log is ${log}.` })
  })

const freePort = Effect.async<number, OperatorError>((resume) => {
  const server = createServer()
  server.once("error", (cause) =>
    resume(new OperatorError({ message: `No port of 127.0.0.1 is free for Postgres: ${cause.message}.` }))
  )
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

const maximumLog = 8 * 1024 * 1024
