/** A control group of Linux, in which a service of a test has little memory. Needs the right to make one. */
import * as fs from "node:fs"
import * as path from "node:path"

export interface MemoryGroup {
  /** A process that writes its pid here has the memory of the group, and so have its children. */
  readonly procs: string
  /** How often the kernel ended a process of the group. */
  readonly kills: () => number
  /** Its processes have ended. */
  readonly remove: () => void
}

/** By version of control groups: the root of groups, the file of the limit, and that of the kills. */
const versions = [
  { root: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes", events: "memory.oom_control" },
  { root: "/sys/fs/cgroup", limit: "memory.max", events: "memory.events" }
]

let made = 0

/** Makes a group; `undefined` where this process may not. */
export const makeMemoryGroup = (mebibytes: number): MemoryGroup | undefined => {
  for (const { events, limit, root } of versions) {
    const folder = path.join(root, `svc-test-${process.pid}-${(made += 1)}`)
    try {
      fs.mkdirSync(folder)
    } catch {
      continue
    }
    try {
      fs.accessSync(path.join(folder, limit), fs.constants.W_OK)
      fs.writeFileSync(path.join(folder, limit), String(mebibytes * 1_048_576))
      const kills = () => Number(/^oom_kill (\d+)$/m.exec(fs.readFileSync(path.join(folder, events), "utf8"))?.[1] ?? 0)
      return { procs: path.join(folder, "cgroup.procs"), kills, remove: () => fs.rmdirSync(folder) }
    } catch {
      fs.rmdirSync(folder)
    }
  }
  return undefined
}
