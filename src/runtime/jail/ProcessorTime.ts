/** How long a child process has computed, by the system's books. */
import type { ChildProcess } from "node:child_process"
import { readFileSync } from "node:fs"

/** A jail puts programs of its own between this process and the one that computes: at most this many. */
const jailDepth = 3

/** Milliseconds of processor time, to ten; wall time where the system keeps no such books. */
export const childProcessorMillis = (child: ChildProcess): number => {
  try {
    let pid = String(child.pid)
    for (let depth = 0; depth < jailDepth; depth++) {
      const below = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim()
      if (below === "") break
      pid = below.split(" ")[0] ?? pid
    }
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ")
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return performance.now()
  }
}
