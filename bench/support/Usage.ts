/** What processes have used, by the books of Linux: processor time and memory. */
import { readdirSync, readFileSync } from "node:fs"

/** Of a service's tree: itself, its Postgres, its runners. Processor time in milliseconds, memory in MB, shared pages divided. */
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

const processes = (): ReadonlyArray<Process> =>
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
      // It ended meanwhile.
      return []
    }
  })

/** Processor time that the whole machine has spent, in milliseconds. */
export const machineMillis = (): number => {
  const [, ...fields] = (readFileSync("/proc/stat", "utf8").split("\n")[0] ?? "").split(/ +/).map(Number)
  const [user = 0, nice = 0, system = 0, , , irq = 0, soft = 0, steal = 0] = fields
  return ((user + nice + system + irq + soft + steal) * 1000) / ticksPerSecond
}

/** Proportional memory in MB: a page that several processes share is divided among them, so that sums are true. */
const proportional = (pid: number): number => {
  try {
    return Number(/^Pss: +(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

/** `postgresPid`: its parent may be gone, when it was adopted. */
export const usage = (pid: number, postgresPid: number): Usage => {
  const all = processes()
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
      process.pid === pid
        ? "own"
        : isBelow(process, postgresPid)
          ? "postgres"
          : isBelow(process, pid)
            ? "runners"
            : undefined
    if (part === undefined) continue
    cpu[part] += process.cpu
    memory[part] += proportional(process.pid)
  }
  return { cpu, memory }
}
