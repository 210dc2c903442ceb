/**
 * The embedded Postgres server. Its files are below the data directory; it listens on a free port of 127.0.0.1 and
 * requires passwords that only the data directory contains.
 *
 * The process with the session lock owns the server: it stops it at the end and restarts it if it dies. A server that a
 * killed service left running is adopted; one whose owner lives refuses a second owner.
 */
import { Cause, Duration, Effect, Option, Redacted, Schedule } from "effect"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { Client } from "pg"
import { makeDirectory, reasonOf, OperatorError } from "../process/OperatorError.js"
import { install } from "./Binaries.js"
import { type Cluster, clusterDirectory, isInstalled, noInstallation, openDataDirectory } from "./DataDirectory.js"
import {
  Contended,
  isProcessAlive,
  type Launch,
  type Postmaster,
  signalTo,
  startPostmaster,
  stop,
  untilReady
} from "./Postmaster.js"
import { DatabaseTrouble } from "../../actors/ports/DatabaseTrouble.js"
import { ConnectTimeout } from "../postgres/database/pool/ConnectTimeout.js"
import { type DatabaseUrls, ensureRoles, hasRoles, urlsOf } from "../postgres/database/Roles.js"
import { postgresUser } from "./SystemUser.js"

export interface Embedded {
  readonly urls: DatabaseUrls
  /** The superuser's login. */
  readonly admin: Redacted.Redacted
  /** Whether the server was running before. */
  readonly adopted: boolean
}

/** Where the embedded Postgres is, and how it runs. */
export interface EmbeddedOptions {
  readonly dataDir: string
  /** False turns `fsync` off: a power failure may destroy the data. For tests only. */
  readonly durable?: boolean
  readonly settings?: Launch["settings"]
  /** The directory of the program. Default: beside the data. */
  readonly programDir?: string
}

/**
 * Starts the server with its roles and the database `svc`, for the life of the scope.
 * Fails when another process owns it, or when the operator must do something first.
 */
export const startEmbedded = Effect.fn("Embedded.start")(function* (options: EmbeddedOptions) {
  const { cluster, launch } = yield* prepare(options)
  const held = yield* Effect.acquireRelease(Effect.interruptible(own(launch, cluster)), (held) => release(held))
  const admin = adminUrl(held.server, cluster)
  const complete = yield* Effect.promise(() => hasRoles(held.session))
  if (!complete) yield* ensureRoles(admin, cluster.access)
  const trouble = yield* Effect.serviceOption(DatabaseTrouble)
  const noteLog = Option.match(trouble, { onNone: () => () => undefined, onSome: (registry) => registry.noteLog })
  yield* Effect.forkScoped(supervise(held, launch, cluster, noteLog))
  return { urls: urlsOf(admin, cluster.access), admin, adopted: held.adopted } satisfies Embedded
})

/** Finds the server that runs on this data directory, of any owner. */
export const findRunning = Effect.fn("Embedded.running")(function* (dataDir: string) {
  const directory = clusterDirectory(dataDir)
  if (!fs.existsSync(directory)) return Option.none<Embedded>()
  const found = yield* untilReady(path.join(directory, "data"))
  if (Option.isNone(found)) return Option.none<Embedded>()
  const { cluster } = yield* prepare({ dataDir })
  const admin = adminUrl(found.value, cluster)
  return Option.some<Embedded>({ urls: urlsOf(admin, cluster.access), admin, adopted: true })
})

/**
 * The running service's server on this data directory, else one for the life of the scope. Fails if there is no
 * installation: only `svc start` creates one.
 */
export const reachEmbedded = Effect.fn("Embedded.reach")(function* (options: EmbeddedOptions) {
  if (!isInstalled(options.dataDir)) return yield* noInstallation(options.dataDir)
  const found = yield* findRunning(options.dataDir)
  return Option.isSome(found) ? found.value : yield* startEmbedded(options)
})

export { clusterDirectory }

// --- Ownership ---

interface Held {
  server: Postmaster
  session: Client
  readonly adopted: boolean
  /** Stops the server at every exit of the process. */
  readonly onExit: () => void
}

const prepare = Effect.fn("Embedded.prepare")(function* (options: EmbeddedOptions) {
  const { dataDir, durable = true } = options
  const state = path.join(path.resolve(dataDir), "postgres")
  yield* Effect.try({
    try: () => makeDirectory(state),
    catch: (cause) => (cause instanceof OperatorError ? cause : new OperatorError({ message: reasonOf(cause) }))
  })
  const directory = clusterDirectory(dataDir)
  const user = postgresUser(path.join(directory, "data"))
  const binaries = yield* install(options.programDir ?? state, user)
  const cluster = yield* openDataDirectory(directory, binaries, user, { durable })
  const settings = { ...smallService, ...(durable ? {} : forgetful), ...options.settings }
  const mark = createHash("sha256")
    .update(JSON.stringify([binaries.version, settings]))
    .digest("hex")
    .slice(0, 16)
  const launch: Launch = {
    binaries,
    user,
    data: cluster.data,
    log: path.join(state, "log"),
    settings: { ...settings, "svc.launch": mark }
  }
  return { cluster, launch }
})

const own = (launch: Launch, cluster: Cluster) =>
  attempt(launch, cluster).pipe(
    Effect.retry(whileContended),
    Effect.catchTag(
      "Contended",
      ({ message }) =>
        new OperatorError({ message: `Postgres could not be taken over: ${message}. Its log is ${launch.log}.` })
    )
  )

/** Who still has the data directory, such as a session of a server that was killed, soon ends. */
const whileContended = {
  while: (failure: Contended | OperatorError) => failure._tag === "Contended",
  schedule: Schedule.spaced("100 millis").pipe(Schedule.upTo("20 seconds"))
}

const attempt = Effect.fnUntraced(function* (launch: Launch, cluster: Cluster) {
  const found = yield* untilReady(cluster.data)
  const server = Option.isSome(found) ? found.value : yield* startPostmaster(launch)
  const enter = Effect.gen(function* () {
    const session = yield* lock(server, launch, cluster)
    if (Option.isSome(found) && (yield* launchedAs(session)) !== launch.settings["svc.launch"]) {
      yield* Effect.annotateLogs(Effect.logInfo("postgres.restarting"), { reason: "settings of another release" })
      yield* stop(server.pid)
      yield* Effect.promise(() => session.end())
      return yield* new Contended({ message: "it was started with other settings" })
    }
    if (Option.isSome(found)) yield* Effect.annotateLogs(Effect.logInfo("postgres.adopted"), { pid: server.pid })
    const onExit = () => signalTo(held.server.pid, "SIGINT")
    const held: Held = { server, session, adopted: Option.isSome(found), onExit }
    process.on("exit", onExit)
    return held
  })
  return yield* Option.isSome(found) ? enter : Effect.onInterrupt(enter, () => stop(server.pid))
})

const lock = Effect.fnUntraced(function* (server: Postmaster, launch: Launch, cluster: Cluster) {
  const timeout = yield* ConnectTimeout
  const outcome = yield* Effect.tryPromise({
    try: async () => {
      const session = new Client({
        connectionString: Redacted.value(adminUrl(server, cluster)),
        application_name: `${sessionName}${process.pid}`,
        connectionTimeoutMillis: Duration.toMillis(timeout),
        keepAlive: true
      })
      session.on("error", () => lost.add(session))
      await session.connect()
      const got = await session.query<{ readonly locked: boolean }>("SELECT pg_try_advisory_lock($1) AS locked", [
        lockKey
      ])
      if (got.rows[0]?.locked === true) return session
      const owner = await session.query<{ readonly application_name: string }>(
        `SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid)
         WHERE locktype = 'advisory' AND granted AND objid = $1 AND application_name LIKE $2`,
        [lockKey, `${sessionName}%`]
      )
      await session.end()
      const pid = owner.rows[0]?.application_name.slice(sessionName.length) ?? "unknown"
      return new OperatorError({
        message:
          `svc is already running on ${path.dirname(launch.log)}, pid ${pid}. ` +
          "Stop it first, or set SVC_DATA_DIR to another directory."
      })
    },
    catch: (cause) => new Contended({ message: reasonOf(cause) })
  })
  return outcome instanceof OperatorError ? yield* outcome : outcome
})

/** Sessions that were lost. */
const lost = new WeakSet<Client>()

const release = Effect.fnUntraced(function* (held: Held) {
  yield* stop(held.server.pid)
  process.off("exit", held.onExit)
  yield* Effect.promise(() => held.session.end().catch(() => {}))
})

/** Restarts the server on the same port if it dies, so that the pools reconnect. */
const supervise = (held: Held, launch: Launch, cluster: Cluster, noteLog: (text: string) => void) =>
  Effect.gen(function* () {
    if (!lost.has(held.session) && isProcessAlive(held.server.pid)) return
    yield* Effect.annotateLogs(Effect.logError("postgres.ended"), { pid: held.server.pid })
    yield* Effect.retry(retake(held, launch, cluster), whileContended)
  }).pipe(
    Effect.tapError(({ message }) => Effect.sync(() => noteLog(message))),
    Effect.catchAll((failure) => Effect.logError("postgres.not_restarted", Cause.fail(failure))),
    Effect.repeat(Schedule.spaced("1 second"))
  )

/** Takes the server that runs, or starts one on the same port. */
const retake = Effect.fnUntraced(function* (held: Held, launch: Launch, cluster: Cluster) {
  const found = yield* untilReady(cluster.data)
  held.server = Option.isSome(found) ? found.value : yield* startPostmaster(launch, held.server.port)
  held.session = yield* lock(held.server, launch, cluster)
})

// --- The session's events ---

const launchedAs = (session: Client) =>
  Effect.promise(async () => {
    const answer = await session.query<{ readonly mark: string | null }>(
      "SELECT current_setting('svc.launch', true) AS mark"
    )
    return answer.rows[0]?.mark
  })

const adminUrl = (server: Postmaster, cluster: Cluster) =>
  Redacted.make(`postgres://postgres:${Redacted.value(cluster.access.superuser)}@127.0.0.1:${server.port}/postgres`)

const sessionName = "svc owner, pid "
/** Arbitrary, and the same in every release. */
const lockKey = 1_937_137_965

// --- Settings ---

/** Settings for a machine that also runs the service: little memory, few processes, durable commits. */
const smallService = {
  cluster_name: "svc",
  shared_buffers: "64MB",
  max_connections: 60,
  // The passwords are long and random: more iterations would only slow logins down.
  scram_iterations: 1,
  huge_pages: "off",
  jit: "off",
  io_method: "sync",
  max_worker_processes: 4,
  max_logical_replication_workers: 0,
  autovacuum_worker_slots: 4,
  autovacuum_max_workers: 2,
  autovacuum_naptime: "20s",
  // A backup keeps its write-ahead log with a replication slot.
  wal_level: "replica",
  max_wal_senders: 0,
  max_replication_slots: 4,
  max_slot_wal_keep_size: "4GB",
  max_wal_size: "512MB",
  idle_in_transaction_session_timeout: "60s",
  // The removal of a database waits for logins that never go on, and the sealing of audit trails for the removal.
  authentication_timeout: "10s",
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  log_min_messages: "warning",
  log_checkpoints: "off",
  timezone: "UTC"
} as const

const forgetful = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" } as const
