/** The files of one embedded Postgres: its data directory and the passwords of its logins. */
import { Effect, Redacted, Schema } from "effect"
import { spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { makeDirectories } from "../process/Directories.js"
import { reasonOf, OperatorError } from "../process/OperatorError.js"
import type { Binaries } from "./Binaries.js"
import { isProcessAlive } from "./Postmaster.js"
import { childEnvironment, spawnIdentity, openPassage, type SystemUser } from "./SystemUser.js"

const Access = Schema.Struct({
  superuser: Schema.Redacted(Schema.String),
  owner: Schema.Redacted(Schema.String),
  writer: Schema.Redacted(Schema.String),
  app: Schema.Redacted(Schema.String),
  auditReader: Schema.Redacted(Schema.String)
})
type Access = typeof Access.Type

export interface Cluster {
  /** The directory with `data` and `access.json`. */
  readonly directory: string
  readonly data: string
  readonly access: Access
}

/** The directory of all state of the embedded Postgres. */
export const clusterDirectory = (dataDir: string) => path.join(path.resolve(dataDir), "postgres", "cluster")

/** Whether an installation exists there. */
export const isInstalled = (dataDir: string): boolean => fs.existsSync(clusterDirectory(dataDir))

/** The error of a command that must not create an installation. */
export const noInstallation = (dataDir: string): OperatorError =>
  new OperatorError({
    message:
      `There is no installation of svc in ${path.resolve(dataDir)}. ` +
      "Set SVC_DATA_DIR to the directory of yours, or make a new one with `npm start`."
  })

/** Generates a password for a login of the service itself. */
export const freshPassword = () => Redacted.make(randomBytes(32).toString("base64url"))

/** Opens the cluster in `directory`, or creates it atomically if there is none. */
export const openDataDirectory = Effect.fn("Cluster.open")(function* (
  directory: string,
  binaries: Binaries,
  user: SystemUser,
  options: { readonly durable: boolean }
) {
  const data = path.join(directory, "data")
  removeDrafts(directory)
  if (!fs.existsSync(data)) yield* create(directory, binaries, user, options)
  const access = yield* readAccess(directory)
  const major = yield* Effect.try({
    try: () => fs.readFileSync(path.join(data, "PG_VERSION"), "utf8").trim(),
    catch: (cause) => foreign(directory, cause)
  })
  if (major !== binaries.version.split(".")[0]) {
    return yield* new OperatorError({
      message:
        `${directory} was made by Postgres ${major}, and this is ${binaries.version}. ` +
        "Restore a backup with the release of svc that made it."
    })
  }
  return { directory, data, access } satisfies Cluster
})

const readAccess = (directory: string) =>
  Effect.try({
    try: () => fs.readFileSync(path.join(directory, "access.json"), "utf8"),
    catch: (cause) => foreign(directory, cause)
  }).pipe(
    Effect.flatMap(Schema.decode(Schema.parseJson(Access))),
    Effect.catchTag(
      "ParseError",
      () => new OperatorError({ message: `${directory}/access.json is damaged: restore it from a backup.` })
    )
  )

const foreign = (directory: string, cause: unknown) =>
  new OperatorError({
    message:
      `${directory} cannot be read: ${reasonOf(cause)}. Start svc as the user who made it, ` +
      "or set SVC_DATA_DIR to another directory."
  })

const create = (directory: string, binaries: Binaries, user: SystemUser, options: { readonly durable: boolean }) =>
  Effect.try({
    try: () => {
      makeDirectories(path.dirname(directory))
      const draft = fs.mkdtempSync(`${directory}.${process.pid}-`)
      try {
        fs.mkdirSync(path.join(draft, "data"), { mode: 0o700 })
        if (user.isSwitched) {
          fs.chmodSync(draft, 0o711)
          fs.chownSync(path.join(draft, "data"), user.uid, user.gid)
        }
        const superuser = freshPassword()
        initialise(draft, binaries, user, superuser, options.durable)
        const access = {
          superuser,
          owner: freshPassword(),
          writer: freshPassword(),
          app: freshPassword(),
          auditReader: freshPassword()
        }
        const file = path.join(draft, "access.json")
        fs.writeFileSync(file, JSON.stringify(Schema.encodeSync(Access)(access)), { mode: 0o600, flush: true })
        fs.renameSync(draft, directory)
      } catch (cause) {
        fs.rmSync(draft, { recursive: true, force: true })
        // Another process has created it meanwhile.
        if (!fs.existsSync(directory)) throw cause
      }
    },
    catch: (cause) => {
      const reason = reasonOf(cause)
      const hint = /could not look up effective user/.test(reason)
        ? " Postgres wants its user to be in /etc/passwd: start svc as one that is."
        : ""
      return new OperatorError({
        message: `Postgres could not make its files in ${directory}: ${reason.replace(/\.$/, "")}.${hint}`
      })
    }
  })

/** Removes the incomplete directories of starts that were killed. */
const removeDrafts = (directory: string): void => {
  if (!fs.existsSync(path.dirname(directory))) return
  for (const name of fs.readdirSync(path.dirname(directory))) {
    const pid = /^cluster\.(\d+)-/.exec(name)?.[1]
    if (pid === undefined || isProcessAlive(Number(pid))) continue
    try {
      fs.rmSync(path.join(path.dirname(directory), name), { recursive: true, force: true })
    } catch {
      // Its initdb is still writing: the next start removes it.
    }
  }
}

const initialise = (
  draft: string,
  binaries: Binaries,
  user: SystemUser,
  superuser: Redacted.Redacted,
  durable: boolean
) => {
  const way = openPassage(draft, user)
  const passwordFile = path.join(draft, "password")
  fs.writeFileSync(passwordFile, Redacted.value(superuser), { mode: 0o600 })
  if (user.isSwitched) fs.chownSync(passwordFile, user.uid, user.gid)
  try {
    const made = spawnSync(
      path.join(binaries.directory, "bin", "initdb"),
      [
        "-D",
        `${way.path}/data`,
        "-U",
        "postgres",
        `--pwfile=${way.path}/password`,
        "--auth=scram-sha-256",
        "-E",
        "UTF8",
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--no-instructions",
        ...(durable ? [] : ["--no-sync"])
      ],
      {
        ...spawnIdentity(user),
        cwd: "/",
        env: childEnvironment,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "pipe", ...way.descriptors]
      }
    )
    if (made.error !== undefined) throw made.error
    if (made.status !== 0)
      throw new Error(made.stderr.trim().replaceAll(/\s+/g, " ") || `initdb ended with ${made.status}`)
  } finally {
    way.close()
    fs.rmSync(passwordFile, { force: true })
  }
}
