/**
 * A server of Postgres that a trial stops, kills and starts again on the same port. What it has committed survives the kill of
 * its processes; a loss of power is not tried, so that it flushes nothing to the disk.
 */
import { Effect, Logger, LogLevel, Redacted } from "effect"
import * as path from "node:path"
import { clusterDirectory, openDataDirectory } from "../../../src/runtime/embedded/DataDirectory.js"
import { install } from "../../../src/runtime/embedded/Binaries.js"
import { startPostmaster, stop } from "../../../src/runtime/embedded/Postmaster.js"
import { postgresUser } from "../../../src/runtime/embedded/SystemUser.js"
import { migrate } from "../../../src/runtime/postgres/database/Migrations.js"
import { ensureRoles, urlsOf } from "../../../src/runtime/postgres/database/Roles.js"
import { makeDirectories } from "../../../src/runtime/process/Directories.js"
import type { Database } from "../Database.js"
import { eventually } from "../eventually.js"
import { isSameProcess, treeOf } from "../processes.js"
import { makeDataDirectory } from "../Service.js"
import { programDir } from "../TestRun.js"

export interface OwnPostgres {
  /** A migrated database without an organisation. */
  readonly database: Database
  readonly port: number
  /** Ends all sessions, and the server, in order. */
  readonly stop: () => Promise<void>
  /** Kills the server and its sessions: what it had in memory is lost. */
  readonly kill: () => Promise<void>
  readonly start: () => Promise<void>
  readonly close: () => Promise<void>
}

const settings = {
  max_connections: 200,
  fsync: "off",
  jit: "off",
  io_method: "sync",
  shared_buffers: "64MB",
  idle_in_transaction_session_timeout: "60s",
  timezone: "UTC"
} as const

export const startOwnPostgres = async (): Promise<OwnPostgres> => {
  const place = makeDataDirectory()
  const state = path.join(place.dataDir, "postgres")
  makeDirectories(state)
  const directory = clusterDirectory(place.dataDir)
  const run = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.runPromise(Logger.withMinimumLogLevel(effect, LogLevel.Warning))
  const user = postgresUser(path.join(directory, "data"))
  const binaries = await run(install(programDir, user))
  const { access, data } = await run(openDataDirectory(directory, binaries, user, { durable: false }))
  const launch = { binaries, user, data, log: path.join(state, "log"), settings }
  let server = await run(startPostmaster(launch))
  const { port } = server
  const admin = Redacted.make(`postgres://postgres:${Redacted.value(access.superuser)}@127.0.0.1:${port}/postgres`)
  await run(ensureRoles(admin, access))
  const urls = urlsOf(admin, access)
  await run(migrate(urls.owner))
  const stopServer = () => run(stop(server.pid))
  return {
    database: { name: "svc", urls, admin: Redacted.make(Redacted.value(admin).replace(/postgres$/, "svc")) },
    port,
    stop: stopServer,
    kill: async () => {
      const processes = treeOf(server.pid)
      process.kill(server.pid, "SIGKILL")
      // Its sessions end by themselves when they miss it. Only then another server may use its files.
      await eventually(
        async () => processes.filter(isSameProcess),
        (left) => left.length === 0
      )
    },
    start: async () => {
      server = await run(startPostmaster(launch, port))
    },
    close: async () => {
      await stopServer()
      place.remove()
    }
  }
}
