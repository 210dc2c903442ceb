/** Reads CPU time and memory of processes from /proc. */
import { readdirSync, readFileSync } from "node:fs"

/**
 * The usage of the service itself (with its nodes, if it is their supervisor), its Postgres and its runners. CPU time in milliseconds; memory in MB, where each of
 * the processes that share a page counts its part of it.
 */
export interface Usage {
  readonly cpu: { readonly own: number; readonly postgres: number; readonly runners: number }
  readonly memory: { readonly own: number; readonly postgres: number; readonly runners: number }
}

const ticksPerSecond = 100

interface Process {
  readonly pid: number
  readonly parent: number
  readonly name: string
  readonly cpu: number
}

const listProcesses = (): ReadonlyArray<Process> =>
  readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return []
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, "utf8")
      const fields = stat
        .slice(stat.lastIndexOf(")") + 2)
        .split(" ")
        .map(Number)
      return [
        {
          pid: Number(entry),
          parent: fields[1] ?? 0,
          name: stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")")),
          cpu: (((fields[11] ?? 0) + (fields[12] ?? 0)) * 1000) / ticksPerSecond
        }
      ]
    } catch {
      // The process has ended meanwhile.
      return []
    }
  })

/** Whether a child of the supervisor is a node. */
const isNode = (pid: number): boolean => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("svc.js\0")
  } catch {
    return false
  }
}

/** CPU time that the whole machine has spent, in milliseconds. */
export const machineMillis = (): number => {
  const [, ...fields] = (readFileSync("/proc/stat", "utf8").split("\n")[0] ?? "").split(/ +/).map(Number)
  const [user = 0, nice = 0, system = 0, , , irq = 0, soft = 0, steal = 0] = fields
  return ((user + nice + system + irq + soft + steal) * 1000) / ticksPerSecond
}

/** Proportional set size in MB: a page that several processes share is divided among them. */
const readMemory = (pid: number): number => {
  try {
    return Number(/^Pss: +(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

/**
 * The usage of the tree of `pid`. Postgres has a pid of its own, since it outlives a killed service and then has
 * another parent.
 */
export const readUsage = (pid: number, postgresPid: number): Usage => {
  const all = listProcesses()
  const isBelow = (process: Process | undefined, root: number): boolean =>
    process !== undefined &&
    (process.pid === root ||
      isBelow(
        all.find(({ pid }) => pid === process.parent),
        root
      ))
  const cpu = { own: 0, postgres: 0, runners: 0 }
  const memory = { own: 0, postgres: 0, runners: 0 }
  for (const process of all) {
    const part =
      process.pid === pid || (process.parent === pid && isNode(process.pid))
        ? "own"
        : isBelow(process, postgresPid)
          ? "postgres"
          : isBelow(process, pid)
            ? "runners"
            : undefined
    if (part === undefined) continue
    cpu[part] += process.cpu
    memory[part] += readMemory(process.pid)
  }
  return { cpu, memory }
}
