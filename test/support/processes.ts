/**
 * Processes of this machine, by pid and time of their start, since a pid is used again. Systems other than Linux tell no
 * time.
 */
import * as fs from "node:fs"
import { isProcessAlive } from "../../src/runtime/embedded/Postmaster.js"

export interface Process {
  readonly pid: number
  /** Ticks from the start of the machine to that of the process: distinguishes processes that had the same pid. */
  readonly startedAt: string
}

/** Parent and start of a process; undefined if it does not exist. */
const statOf = (pid: number) => {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8")
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return { parent: Number(fields[1]), startedAt: fields[19] ?? "" }
  } catch {
    return undefined
  }
}

/** When the process started; undefined if it does not exist. */
export const startOf = (pid: number): string | undefined =>
  process.platform === "linux" ? statOf(pid)?.startedAt : isProcessAlive(pid) ? "0" : undefined

/** The process and all its descendants, each after its parent. All processes are read once: there may be hundreds. */
export const treeOf = (root: number): ReadonlyArray<Process> => {
  const found = fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const stat = statOf(Number(name))
      return stat === undefined ? [] : [{ pid: Number(name), ...stat }]
    })
  const from = ({ pid, startedAt }: Process): ReadonlyArray<Process> => [
    { pid, startedAt },
    ...found.filter(({ parent }) => parent === pid).flatMap(from)
  ]
  return found.filter(({ pid }) => pid === root).flatMap(from)
}

/** Whether the process still runs; a zombie does not. */
export const isSameProcess = ({ pid, startedAt }: Process): boolean => startOf(pid) === startedAt && isProcessAlive(pid)
