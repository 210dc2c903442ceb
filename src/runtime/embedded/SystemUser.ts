/**
 * Chooses the user that runs the embedded Postgres, which refuses to run as root, and gives it access to directories.
 */
import * as fs from "node:fs"
import * as path from "node:path"

export interface SystemUser {
  readonly uid: number
  readonly gid: number
  /** The service is root, so Postgres runs as another user. */
  readonly isSwitched: boolean
}

/**
 * The user that Postgres runs as. The service's own user, unless that is root: then the owner of the data directory, or
 * the system user `nobody` if the directory is root's or missing.
 */
export const postgresUser = (data: string): SystemUser => {
  const uid = process.getuid?.() ?? 0
  const gid = process.getgid?.() ?? 0
  if (uid !== 0) return { uid, gid, isSwitched: false }
  const owner = fs.statSync(data, { throwIfNoEntry: false })
  return owner === undefined || owner.uid === 0
    ? { uid: nobody, gid: nobody, isSwitched: true }
    : { uid: owner.uid, gid: owner.gid, isSwitched: true }
}

/** Whether the user may enter the directory and all its parents. */
export const canEnter = (directory: string, user: SystemUser): boolean => {
  const found = fs.statSync(directory)
  const bit = found.uid === user.uid ? 0o100 : found.gid === user.gid ? 0o010 : 0o001
  if ((found.mode & bit) === 0) return false
  const parent = path.dirname(directory)
  return parent === directory || canEnter(parent, user)
}

/** Access to a directory for a child process. */
export interface Passage {
  /** The directory's path for a child that inherits `descriptors`. */
  readonly path: string
  /** File descriptors that the child must inherit, from number 3 on. */
  readonly descriptors: ReadonlyArray<number>
  readonly close: () => void
}

/**
 * Opens a directory for a child process of the user. If a parent directory is closed to the user (root's home, say),
 * the child inherits a descriptor and uses /proc/self/fd, which does not resolve the parents. Linux only.
 */
export const openPassage = (directory: string, user: SystemUser): Passage => {
  if (!user.isSwitched || canEnter(directory, user)) return { path: directory, descriptors: [], close: () => {} }
  if (process.platform !== "linux") throw new Error(`user ${user.uid} cannot enter ${directory}`)
  const descriptor = fs.openSync(directory, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY)
  return { path: "/proc/self/fd/3", descriptors: [descriptor], close: () => fs.closeSync(descriptor) }
}

/** The complete environment of the child: it inherits no variable of the service. */
export const childEnvironment = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" }

export const spawnIdentity = (user: SystemUser) => (user.isSwitched ? { uid: user.uid, gid: user.gid } : {})

const nobody = process.platform === "darwin" ? 2 ** 32 - 2 : 65_534
