/** Starts `nats-server` with JetStream on a free port, with a store of its own, for the life of the scope. */
import { Effect, Schedule } from "effect"
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { freePort } from "./freePort.js"
import { programDir } from "./TestRun.js"

export interface NatsServer {
  /** The directory of what it stores. */
  readonly store: string
  readonly url: string
  readonly port: number
  /** Kills the server at once. */
  readonly kill: Effect.Effect<void>
  /** Starts it again on the same port. */
  readonly start: Effect.Effect<void>
  /** Stops or continues the process, which keeps its connections. */
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
  /** Deletes what it stored; it must not run. */
  readonly deleteStore: Effect.Effect<void>
}

const isExecutable = (file: string) => {
  try {
    fs.accessSync(file, fs.constants.X_OK)
    return true
  } catch {
    return false
  }
}

const cache = `${programDir}-nats`

/** Debian's package, unpacked into a cache and not installed. */
const unpackServer = (): string => {
  const program = path.join(cache, "usr", "sbin", "nats-server")
  if (isExecutable(program)) return program
  const directory = fs.mkdtempSync(`${cache}-`)
  try {
    execFileSync("apt-get", ["download", "nats-server"], { cwd: directory, stdio: "pipe" })
    const archive = fs.readdirSync(directory).find((name) => name.endsWith(".deb")) ?? ""
    execFileSync("dpkg-deb", ["-x", archive, "."], { cwd: directory, stdio: "pipe" })
    fs.rmSync(path.join(directory, archive))
    fs.renameSync(directory, cache)
    return program
  } catch (cause) {
    // Another worker was faster.
    if (isExecutable(program)) return program
    throw new Error(
      `These tests need nats-server: install it (Debian: apt-get install nats-server), or let apt-get download it. ${String(cause)}`,
      { cause }
    )
  } finally {
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

const findServer = (): string =>
  process.env["SVC_TEST_NATS_SERVER"] ??
  [...(process.env["PATH"] ?? "").split(path.delimiter), "/usr/sbin"]
    .map((directory) => path.join(directory, "nats-server"))
    .find(isExecutable) ??
  unpackServer()

const accepts = (port: number, host: string) =>
  Effect.async<void, Error>((resume) => {
    const socket = net.connect(port, host)
    socket.once("data", () => {
      socket.destroy()
      resume(Effect.void)
    })
    socket.once("error", (error) => resume(Effect.fail(error)))
  })

/** A server that has started sends its greeting to every connection. */
const awaitPort = (port: number, host: string) =>
  Effect.orDie(
    Effect.retry(accepts(port, host), Schedule.intersect(Schedule.spaced("20 millis"), Schedule.recurs(500)))
  )

/** `listen`: where; by default a free port of 127.0.0.1. `words`: further ones of the command line. */
export interface NatsOptions {
  readonly jetStream?: boolean
  readonly listen?: { readonly host: string; readonly port: number }
  readonly words?: ReadonlyArray<string>
}

export const startNats = ({ jetStream, listen, words = [] }: NatsOptions = {}) =>
  Effect.gen(function* () {
    const program = findServer()
    const { host, port } = listen ?? { host: "127.0.0.1", port: yield* Effect.promise(freePort) }
    const store = fs.mkdtempSync(path.join(os.tmpdir(), "svc-test-nats-store-"))
    let child: ChildProcess | undefined

    const start = Effect.gen(function* () {
      child = spawn(
        program,
        ["-a", host, "-p", String(port), ...(jetStream === false ? [] : ["-js", "-sd", store]), ...words],
        { stdio: "ignore" }
      )
      yield* awaitPort(port, host)
    })
    const signal = (name: NodeJS.Signals) => Effect.sync(() => void child?.kill(name))
    const kill = Effect.async<void>((resume) => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
      child.once("exit", () => resume(Effect.void))
      child.kill("SIGKILL")
    })
    yield* Effect.addFinalizer(() =>
      Effect.zipRight(
        kill,
        Effect.sync(() => fs.rmSync(store, { recursive: true, force: true }))
      )
    )
    yield* start
    return {
      url: `nats://${host}:${port}`,
      port,
      store,
      kill,
      start,
      freeze: signal("SIGSTOP"),
      thaw: signal("SIGCONT"),
      deleteStore: Effect.sync(() => fs.rmSync(path.join(store, "jetstream"), { recursive: true, force: true }))
    } satisfies NatsServer
  })
