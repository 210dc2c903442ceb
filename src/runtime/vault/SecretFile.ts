/**
 * Reads and writes files with a secret: mode 0600, never a link, owned by the user of this process (root may also use
 * the data directory of another user). Any other file is refused with what to do: a user who can read or write it knows
 * or chooses the key of every stored secret.
 */
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { OperatorError } from "../process/OperatorError.js"

/** The trimmed text of the file, or `undefined` if it does not exist. Throws an `OperatorError`. */
export const readSecretFile = (file: string): string | undefined => {
  const handle = openExisting(file)
  if (handle === undefined) return undefined
  try {
    const stat = fs.fstatSync(handle)
    const uid = process.getuid?.()
    if (!stat.isFile())
      throw new OperatorError({ message: `${file} is not a regular file: put the file itself there.` })
    if (uid !== undefined && stat.uid !== uid && (uid !== 0 || stat.uid !== fs.statSync(path.dirname(file)).uid)) {
      throw new OperatorError({
        message: `${file} belongs to user ${stat.uid}, and svc runs as user ${uid}: run svc as user ${stat.uid}, or chown the file to ${uid}.`
      })
    }
    if (uid !== undefined && (stat.mode & 0o077) !== 0) {
      throw new OperatorError({
        message: `${file} can be read by others: run chmod 600 ${file}, and rotate the key if they had access.`
      })
    }
    return fs.readFileSync(handle, "utf8").trim()
  } finally {
    fs.closeSync(handle)
  }
}

/** Creates the file unless it exists. Of concurrent processes one succeeds, and none reads a part of it. */
export const createSecretFile = (file: string, text: string): void => {
  const draft = writeDraft(file, text)
  try {
    fs.linkSync(draft, file)
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error
  } finally {
    fs.rmSync(draft)
  }
}

/** Replaces the file by a rename: a reader sees the old text or the new one. The owner stays. */
export const replaceSecretFile = (file: string, text: string): void => {
  const before = fs.lstatSync(file, { throwIfNoEntry: false })
  const draft = writeDraft(file, text)
  try {
    if (before !== undefined && before.uid !== process.getuid?.()) fs.chownSync(draft, before.uid, before.gid)
    fs.renameSync(draft, file)
  } catch (error) {
    fs.rmSync(draft, { force: true })
    throw error
  }
}

const writeDraft = (file: string, text: string): string => {
  const draft = `${file}.${process.pid}.${randomBytes(4).toString("hex")}`
  fs.writeFileSync(draft, `${text}\n`, { mode: 0o600, flag: "wx", flush: true })
  return draft
}

const openExisting = (file: string): number | undefined => {
  try {
    return fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW)
  } catch (error) {
    switch (codeOf(error)) {
      case "ENOENT":
        return undefined
      case "ELOOP":
        throw new OperatorError({ message: `${file} is a symbolic link: put the file itself there.` })
      case "EACCES":
        throw new OperatorError({
          message: `${file} cannot be read by the user of this process: run svc as its owner.`
        })
      default:
        throw error
    }
  }
}

const codeOf = (error: unknown) => (error instanceof Error && "code" in error ? error.code : undefined)
