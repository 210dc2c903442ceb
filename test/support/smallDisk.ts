/** A file system of its own for a folder of a test, which a test fills and frees. Needs the right to mount. */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

const mount = (folder: string, mebibytes: number) =>
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "tmpfs", folder], { stdio: "ignore" })

/** Whether this process may mount a file system. */
export const canMount = ((): boolean => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "svc-mount-"))
  try {
    mount(folder, 1)
    execFileSync("umount", [folder], { stdio: "ignore" })
    return true
  } catch {
    return false
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
})()

export interface SmallDisk {
  readonly fill: () => void
  readonly free: () => void
  readonly remove: () => void
}

/** Moves the folder, whose files no process uses, to a file system with this much room. */
export const moveToSmallDisk = (folder: string, mebibytes: number): SmallDisk => {
  const { gid, mode, uid } = fs.statSync(folder)
  const aside = `${folder}.aside`
  fs.renameSync(folder, aside)
  fs.mkdirSync(folder)
  mount(folder, mebibytes)
  execFileSync("cp", ["-a", `${aside}/.`, folder])
  fs.chownSync(folder, uid, gid)
  fs.chmodSync(folder, mode)
  fs.rmSync(aside, { recursive: true })
  const filler = path.join(folder, "filler")
  return {
    fill: () => {
      const file = fs.openSync(filler, "a")
      try {
        for (let bytes = 1_048_576; bytes >= 1; bytes = Math.floor(bytes / 2)) writeAll(file, bytes)
      } finally {
        fs.closeSync(file)
      }
    },
    free: () => fs.rmSync(filler),
    remove: () => void execFileSync("umount", ["-l", folder])
  }
}

/** Appends pieces of this size until none fits. */
const writeAll = (file: number, bytes: number) => {
  const piece = Buffer.alloc(bytes, 1)
  try {
    while (fs.writeSync(file, piece) === bytes);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOSPC") throw cause
  }
}
