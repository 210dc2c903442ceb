/**
 * Writes everything of an embedded installation to one file: the database, and the keys that its secrets are sealed
 * with. Works beside a running service, or with a server that it starts.
 */
import { Duration, Effect, Redacted } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { createGzip } from "node:zlib"
import { Client } from "pg"
import { secretFiles } from "../vault/InstallationSecrets.js"
import { clusterDirectory, reachEmbedded } from "../embedded/EmbeddedServer.js"
import { ConnectTimeout } from "../postgres/database/pool/ConnectTimeout.js"
import { reasonOf, OperatorError } from "../process/OperatorError.js"
import { end, entry, fileEntry } from "./Tar.js"

/** The first entry of an archive. */
export const manifestName = "svc-backup.json"
export const format = 1

/**
 * Writes the archive atomically, readable by its owner only. It contains every change that was committed before the
 * call.
 */
export const backup = Effect.fn("Backup.write")(function* (dataDir: string, file: string) {
  const cluster = clusterDirectory(dataDir)
  yield* writableFolder(path.dirname(path.resolve(file)))
  const { admin } = yield* reachEmbedded({ dataDir })
  const draft = yield* Effect.acquireRelease(
    Effect.sync(() => `${path.resolve(file)}.${process.pid}`),
    (draft) => Effect.sync(() => fs.rmSync(draft, { force: true }))
  )
  const timeout = yield* ConnectTimeout
  const session = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({
        connectionString: Redacted.value(admin),
        application_name: "svc backup",
        connectionTimeoutMillis: Duration.toMillis(timeout)
      })
      client.on("error", () => {})
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )
  yield* Effect.tryPromise({
    try: async (signal) => {
      const archive = Readable.from(contents(path.resolve(dataDir), cluster, session))
      await pipeline(archive, createGzip({ level: 1 }), fs.createWriteStream(draft, { mode: 0o600, flush: true }), {
        signal
      })
      fs.renameSync(draft, file)
    },
    catch: (cause) => new OperatorError({ message: `The backup failed: ${reasonOf(cause)}.` })
  })
  return fs.statSync(file).size
}, Effect.scoped)

/** Fails unless the archive can be written there, before the database is asked for anything. */
const writableFolder = (folder: string) =>
  Effect.try({
    try: () => {
      if (!fs.statSync(folder).isDirectory()) throw new Error("it is no folder")
      fs.accessSync(folder, fs.constants.W_OK)
    },
    catch: (cause) =>
      new OperatorError({
        message: isMissing(cause)
          ? `The folder ${folder} does not exist: create it, or name a file in another folder.`
          : `The folder ${folder} cannot be written: ${reasonOf(cause)}. Name a file in another folder.`
      })
  })

const isMissing = (cause: unknown) => cause instanceof Error && "code" in cause && cause.code === "ENOENT"

async function* contents(dataDir: string, cluster: string, session: Client): AsyncGenerator<Uint8Array> {
  const manifest = { format, at: new Date().toISOString(), postgres: majorOf(cluster) }
  yield* entry({ name: manifestName, body: Buffer.from(JSON.stringify(manifest)) })
  for (const name of Object.values(secretFiles)) yield* fileEntry(name, path.join(dataDir, name))
  yield* fileEntry("postgres/cluster/access.json", path.join(cluster, "access.json"))
  // The slot keeps the write-ahead log that the copy needs from being recycled. It ends with the session.
  await session.query("SELECT pg_create_physical_replication_slot($1, true, true)", [`svc_backup_${process.pid}`])
  await session.query("SELECT pg_backup_start('svc', true)")
  const data = path.join(cluster, "data")
  for (const name of listFiles(data, "")) {
    const stored = `${base}/${name}`
    yield* name.endsWith("/")
      ? entry({ name: stored, body: new Uint8Array() })
      : fileEntry(stored, path.join(data, name))
  }
  // The control file last: it must not be older than the files that it describes.
  yield* fileEntry(`${base}/${controlFile}`, path.join(data, controlFile))
  const stopped = await session.query<{ readonly label: string; readonly last: string }>(
    "SELECT labelfile AS label, pg_walfile_name(lsn) AS last FROM pg_backup_stop(false)"
  )
  const { label, last } = stopped.rows[0] ?? { label: "", last: "" }
  const first = /\(file ([0-9A-F]{24})\)/.exec(label)?.[1]
  if (first === undefined) throw new Error("Postgres named no start of its log")
  yield* entry({ name: `${base}/backup_label`, body: Buffer.from(label) })
  const segments = fs.readdirSync(path.join(data, "pg_wal")).filter((name) => /^[0-9A-F]{24}$/.test(name))
  for (const name of segments.filter((name) => name >= first && name <= last).sort()) {
    yield* fileEntry(`${base}/pg_wal/${name}`, path.join(data, "pg_wal", name))
  }
  yield end()
}

const base = "postgres/cluster/data"
const controlFile = "global/pg_control"
const majorOf = (cluster: string) => fs.readFileSync(path.join(cluster, "data", "PG_VERSION"), "utf8").trim()

/** Directories that are copied without their content. */
const emptyDirectories =
  /^(pg_wal|pg_wal\/.*|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)\/$/
const skipped =
  /^(postmaster\.(pid|opts)|backup_label(\.old)?|tablespace_map(\.old)?|global\/pg_control)$|(^|\/)(pgsql_tmp|pg_internal\.init)/

/** Names below the data directory, directories first and with a slash. */
function* listFiles(data: string, prefix: string): Generator<string> {
  for (const found of fs.readdirSync(path.join(data, prefix), { withFileTypes: true })) {
    const name = `${prefix}${found.name}${found.isDirectory() ? "/" : ""}`
    if (skipped.test(name)) continue
    if (found.isSymbolicLink()) throw new Error(`${name} is a link: tablespaces are not backed up`)
    yield name
    if (name === "pg_wal/") yield* ["pg_wal/archive_status/", "pg_wal/summaries/"]
    else if (found.isDirectory() && !emptyDirectories.test(name)) yield* listFiles(data, name)
  }
}
