/** Which user runs Postgres, which refuses to run as root, and which paths that user can reach. */
import * as fs from "node:fs"
import * as path from "node:path"

export interface SystemUser {
  readonly uid: number
  readonly gid: number
  /** True when the service is root and Postgres therefore runs as somebody else. */
  readonly isSwitched: boolean
}

/** The user `nobody`, unless the data already belongs to somebody who is not root. */
export const postgresUser = (data: string): SystemUser => {
  const uid = process.getuid?.() ?? 0
  const gid = process.getgid?.() ?? 0
  if (uid !== 0) return { uid, gid, isSwitched: false }
  const owner = fs.statSync(data, { throwIfNoEntry: false })
  return owner === undefined || owner.uid === 0
    ? { uid: nobody, gid: nobody, isSwitched: true }
    : { uid: owner.uid, gid: owner.gid, isSwitched: true }
}

/** Whether every directory down to this one lets the user through. */
export const canEnter = (directory: string, user: SystemUser): boolean => {
  const found = fs.statSync(directory)
  const bit = found.uid === user.uid ? 0o100 : found.gid === user.gid ? 0o010 : 0o001
  if ((found.mode & bit) === 0) return false
  const parent = path.dirname(directory)
  return parent === directory || canEnter(parent, user)
}

/** A way for a child process into a directory. */
export interface Passage {
  /** The path by which a child that was given `stdio` reaches the directory. */
  readonly path: string
  /** What the child must inherit as its descriptors from 3 on. */
  readonly descriptors: ReadonlyArray<number>
  readonly close: () => void
}

/**
 * A passage into a directory. Under a closed directory (root's home, say) the child reaches it through a descriptor
 * that it inherits: /proc/self/fd leads to the directory itself, not through those above it. Linux only.
 */
export const openPassage = (directory: string, user: SystemUser): Passage => {
  if (!user.isSwitched || canEnter(directory, user)) return { path: directory, descriptors: [], close: () => {} }
  if (process.platform !== "linux") throw new Error(`user ${user.uid} cannot enter ${directory}`)
  const descriptor = fs.openSync(directory, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY)
  return { path: "/proc/self/fd/3", descriptors: [descriptor], close: () => fs.closeSync(descriptor) }
}

/** The child's whole environment: nothing of the service's own goes to Postgres. */
export const childEnvironment = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" }

export const spawnIdentity = (user: SystemUser) => (user.isSwitched ? { uid: user.uid, gid: user.gid } : {})

const nobody = process.platform === "darwin" ? 2 ** 32 - 2 : 65_534
