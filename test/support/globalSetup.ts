/** Starts one Postgres per test run, without durability. Its database `svc` is the template of the tests' databases. */
import { Effect, Exit, Logger, LogLevel, Redacted, Scope } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { TestProject } from "vitest/node"
import { startEmbedded } from "../../src/runtime/embedded/EmbeddedServer.js"
import { migrate } from "../../src/runtime/postgres/database/Migrations.js"
import { forEachRole } from "../../src/runtime/postgres/database/Roles.js"
import { withPatientConnect } from "./connectTimeout.js"
import { endDeadRuns, endRun, makeRunDirectory, programDir } from "./TestRun.js"

export interface SharedPostgres {
  /** The superuser's URL. */
  readonly admin: string
  /** The URLs of the template's logins; the path is the name of the database. */
  readonly urls: Readonly<Record<"owner" | "writer" | "app" | "auditReader", string>>
}

declare module "vitest" {
  interface ProvidedContext {
    readonly postgres: SharedPostgres
    /** The directory of this run of tests (`TestRun.ts`). */
    readonly runDirectory: string
    /** Where this run keeps the data of services: in memory, where a copy takes a tenth of the computing, if it may. */
    readonly dataDirectory: string
    /** Whether each file has a worker of its own. */
    readonly isIsolated: boolean
  }
}

/** vitest calls this once per run, and calls the function that it returns at the end. */
export const setup = async (project: TestProject) => {
  for (const parent of parents) await Effect.runPromise(endDeadRuns(parent))
  const [dataDir, directory] = [makeRunDirectory(room), makeRunDirectory(os.tmpdir())]
  const sockets = path.join(dataDir, "sockets")
  fs.mkdirSync(sockets)
  // Postgres runs as a user of its own if the tests run as root.
  fs.chmodSync(sockets, 0o1777)
  const scope = Effect.runSync(Scope.make())
  const shared = await Effect.gen(function* () {
    const postgres = yield* startEmbedded({
      dataDir,
      durable: false,
      programDir,
      // The vacuum would visit each database of a test every 20 seconds, in a process of its own.
      settings: { max_connections: 200, unix_socket_directories: sockets, autovacuum_naptime: "10min" }
    })
    yield* migrate(postgres.urls.owner)
    return postgres
  }).pipe(withPatientConnect, Logger.withMinimumLogLevel(LogLevel.Warning), Scope.extend(scope), Effect.runPromise)
  project.provide("runDirectory", directory)
  project.provide("dataDirectory", mayHoldData(dataDir) ? dataDir : directory)
  project.provide("isIsolated", project.config.poolOptions?.forks?.isolate ?? true)
  project.provide("postgres", {
    admin: overSocket(shared.admin, sockets),
    urls: forEachRole((role) => overSocket(shared.urls[role], sockets))
  })
  return async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    for (const one of new Set([directory, dataDir])) await Effect.runPromise(endRun(one))
  }
}

/**
 * The same login over a socket of Unix, whose messages take two thirds of the computing of those over TCP: a quarter of what
 * most tests compute is the exchange with Postgres. Tests of the program connect over TCP.
 */
const overSocket = (login: Redacted.Redacted, directory: string): string => {
  const url = new URL(Redacted.value(login))
  url.hostname = encodeURIComponent(directory)
  return url.href
}

/** Bytes that are free in the directory in memory; 0 if there is none. */
const freeInMemory = () => {
  try {
    const { bavail, bsize } = fs.statfsSync("/dev/shm")
    fs.accessSync("/dev/shm", fs.constants.W_OK)
    return bavail * bsize
  } catch {
    return 0
  }
}
/** A directory in memory if there is room: a database has 700 files, and a disk takes up to a millisecond for each. */
const room = freeInMemory() > 2 ** 31 ? "/dev/shm" : os.tmpdir()
/**
 * Whether services may have their data there: the largest tests write 1.5 GB each, and a service whose Postgres may enter
 * its data directory starts the program from it.
 */
const mayHoldData = (directory: string): boolean => {
  if (freeInMemory() < 6 * 2 ** 30) return false
  const program = path.join(directory, "program")
  fs.writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 })
  const { status } = spawnSync(program)
  fs.rmSync(program)
  return status === 0
}
/** Where runs may have left something: first where their processes are recorded. */
const parents = new Set([os.tmpdir(), room])
