/** Replaces the content of the data directory by a backup. */
import { Clock, Effect, Option, Schema } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { pipeline } from "node:stream/promises"
import { createGunzip } from "node:zlib"
import { secretFiles } from "../vault/InstallationSecrets.js"
import { clusterDirectory, findRunning } from "../embedded/EmbeddedServer.js"
import { type SystemUser, postgresUser } from "../embedded/SystemUser.js"
import { makeDirectories } from "../process/Directories.js"
import { makeDirectory, reasonOf, OperatorError } from "../process/OperatorError.js"
import { format, manifestName } from "./Backup.js"
import { extract } from "./Tar.js"

const Manifest = Schema.parseJson(Schema.Struct({ format: Schema.Literal(format), postgres: Schema.String }))

/**
 * Restores the archive; the next start replays its log. Keeps the previous content beside it and returns its directory.
 * Fails without any change if svc runs there or the archive is damaged.
 */
export const restore = Effect.fn("Backup.restore")(function* (dataDir: string, file: string) {
  const home = path.resolve(dataDir)
  const present = [...Object.values(secretFiles), clusterPath].filter((name) => fs.existsSync(path.join(home, name)))
  if (Option.isSome(yield* findRunning(dataDir))) {
    return yield* new OperatorError({
      message: `svc or its Postgres runs on ${home}. Stop it first; if it was killed, start and stop it once.`
    })
  }
  const now = yield* Clock.currentTimeMillis
  return yield* Effect.scoped(
    Effect.gen(function* () {
      yield* directory(home)
      const draft = yield* Effect.acquireRelease(
        Effect.try({
          try: () => fs.mkdtempSync(path.join(home, "restore.")),
          catch: (cause) =>
            new OperatorError({ message: `${home} cannot be written: ${reasonOf(cause)}. Let svc write to it.` })
        }),
        (draft) => Effect.sync(() => fs.rmSync(draft, { recursive: true, force: true }))
      )
      yield* Effect.tryPromise({
        try: () => unpack(file, draft, postgresUser(path.join(home, clusterPath, "data"))),
        catch: (cause) =>
          new OperatorError({ message: `${file} could not be restored: ${reasonOf(cause)}. Nothing has changed.` })
      })
      return yield* Effect.try({
        try: () => exchange(home, draft, present, now),
        catch: (cause) =>
          new OperatorError({
            message: `The backup could not be put in place: ${reasonOf(cause)}. What was there is in ${home}.`
          })
      })
    })
  )
})

/** Creates the directory, and removes it again if it stays empty. */
const directory = (home: string) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        const existed = fs.existsSync(home)
        makeDirectory(home)
        return existed
      },
      catch: (cause) => (cause instanceof OperatorError ? cause : new OperatorError({ message: reasonOf(cause) }))
    }),
    (existed) =>
      Effect.sync(() => {
        if (!existed && fs.readdirSync(home).length === 0) fs.rmdirSync(home)
      })
  )

const clusterPath = path.relative("/", clusterDirectory("/"))

/** Unpacks the archive into `draft` for a user. Checks the manifest first: an archive without one is not a backup. */
const unpack = async (file: string, draft: string, user: SystemUser) => {
  let known = false
  const write = async (name: string, body: AsyncIterable<Uint8Array>) => {
    if (name === manifestName) {
      const parts: Array<Uint8Array> = []
      for await (const part of body) parts.push(part)
      Schema.decodeUnknownSync(Manifest)(Buffer.concat(parts).toString("utf8"))
      known = true
      return
    }
    if (!known) throw new Error("it is no backup of svc")
    const target = path.join(draft, name)
    const data = name.startsWith(`${clusterPath}/data/`)
    makeDirectories(path.dirname(target))
    if (name.endsWith("/")) makeDirectories(target, 0o700)
    else await pipeline(body, fs.createWriteStream(target, { mode: 0o600, flush: true }))
    if (data && user.isSwitched) fs.chownSync(target, user.uid, user.gid)
  }
  await pipeline(fs.createReadStream(file), createGunzip(), (archive: AsyncIterable<Uint8Array>) =>
    extract(archive, write)
  )
  if (!fs.existsSync(path.join(draft, clusterPath, "data", "global", "pg_control"))) throw new Error("it is incomplete")
  for (const name of ["", "data"]) settle(path.join(draft, clusterPath, name), name === "data", user)
}

const settle = (directory: string, data: boolean, user: SystemUser) => {
  fs.chmodSync(directory, data ? 0o700 : user.isSwitched ? 0o711 : 0o700)
  if (data && user.isSwitched) fs.chownSync(directory, user.uid, user.gid)
}

/** Moves the old content aside and the new one in, by renames within one directory tree. */
const exchange = (home: string, draft: string, present: ReadonlyArray<string>, now: number) => {
  const aside = path.join(home, `before-restore-${new Date(now).toISOString().replaceAll(/[:.]/g, "-")}`)
  for (const name of present) move(path.join(home, name), path.join(aside, name))
  for (const name of [...Object.values(secretFiles), clusterPath]) {
    if (fs.existsSync(path.join(draft, name))) move(path.join(draft, name), path.join(home, name))
  }
  return present.length > 0 ? Option.some(aside) : Option.none()
}

const move = (from: string, to: string) => {
  makeDirectories(path.dirname(to))
  fs.renameSync(from, to)
}
