/** One Postgres per test run. It forgets on a power failure; its database `svc` is the template of every test's own. */
import { Effect, Exit, Logger, LogLevel, Option, Redacted, Scope } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { TestProject } from "vitest/node"
import { clusterDirectory, startEmbedded } from "../../src/runtime/embedded/EmbeddedServer.js"
import { migrate } from "../../src/runtime/postgres/Migrations.js"
import { find, isProcessAlive, stop } from "../../src/runtime/embedded/Postmaster.js"
import { forEachRole } from "../../src/runtime/postgres/Roles.js"

export interface SharedPostgres {
  /** The superuser's login. */
  readonly admin: string
  /** The logins to the template; the database's name is the path. */
  readonly urls: Readonly<Record<"owner" | "writer" | "app" | "auditReader", string>>
}

declare module "vitest" {
  interface ProvidedContext {
    readonly postgres: SharedPostgres
  }
}

/** Called by vitest once per run; what it returns is called at the end. */
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

/** Removes what runs left behind that were killed. */
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

/** In memory where there is room: a database is 700 files, and a disk needs up to a millisecond for each. */
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
/** Kept from run to run, and on a disk: programs may be forbidden in shared memory. */
const programDir = path.join(os.tmpdir(), `svc-test-program-${process.getuid?.()}`)
