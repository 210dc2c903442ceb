/** Measures the CPU time of a child process. */
import type { ChildProcess } from "node:child_process"
import { readFileSync } from "node:fs"

/** A jail adds at most this many processes between this one and the one that computes. */
const jailDepth = 3

/** Milliseconds of CPU time, to ten; wall time on systems without `/proc`. */
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
