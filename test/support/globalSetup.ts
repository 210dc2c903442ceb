/** Starts one Postgres per test run, without durability. Its database `svc` is the template of the tests' databases. */
import { Effect, Exit, Logger, LogLevel, Option, Redacted, Scope } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { TestProject } from "vitest/node"
import { clusterDirectory, startEmbedded } from "../../src/runtime/embedded/EmbeddedServer.js"
import { migrate } from "../../src/runtime/postgres/database/Migrations.js"
import { find, isProcessAlive, stop } from "../../src/runtime/embedded/Postmaster.js"
import { forEachRole } from "../../src/runtime/postgres/database/Roles.js"

export interface SharedPostgres {
  /** The superuser's URL. */
  readonly admin: string
  /** The URLs of the template's logins; the path is the name of the database. */
  readonly urls: Readonly<Record<"owner" | "writer" | "app" | "auditReader", string>>
}

declare module "vitest" {
  interface ProvidedContext {
    readonly postgres: SharedPostgres
  }
}

/** vitest calls this once per run, and calls the function that it returns at the end. */
export const setup = async (project: TestProject) => {
  const dataDir = path.join(place, `svc-test-${process.pid}`)
  const scope = Effect.runSync(Scope.make())
  const shared = await Effect.gen(function* () {
    yield* sweep
    const postgres = yield* startEmbedded({ dataDir, durable: false, programDir, settings: { max_connections: 200 } })
    yield* migrate(postgres.urls.owner)
    return postgres
  }).pipe(Logger.withMinimumLogLevel(LogLevel.Warning), Scope.extend(scope), Effect.runPromise)
  project.provide("postgres", {
    admin: Redacted.value(shared.admin),
    urls: forEachRole((role) => Redacted.value(shared.urls[role]))
  })
  return async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    fs.rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Removes the directories of test runs that were killed. */
const sweep = Effect.gen(function* () {
  for (const name of fs.readdirSync(place)) {
    const pid = /^svc-test-(\d+)$/.exec(name)?.[1]
    if (pid === undefined || isProcessAlive(Number(pid))) continue
    const dataDir = path.join(place, name)
    const left = yield* find(path.join(clusterDirectory(dataDir), "data"))
    if (Option.isSome(left)) yield* stop(left.value.pid)
    fs.rmSync(dataDir, { recursive: true, force: true })
  }
})

/** A directory in memory if there is room: a database has 700 files, and a disk takes up to a millisecond for each. */
const roomInMemory = () => {
  try {
    const { bavail, bsize } = fs.statfsSync("/dev/shm")
    fs.accessSync("/dev/shm", fs.constants.W_OK)
    return bavail * bsize > 2 ** 31
  } catch {
    return false
  }
}
const place = roomInMemory() ? "/dev/shm" : os.tmpdir()
/** The directory of the binaries: kept between runs, and on disk, since programs in shared memory may be forbidden. */
const programDir = path.join(os.tmpdir(), `svc-test-program-${process.getuid?.()}`)
