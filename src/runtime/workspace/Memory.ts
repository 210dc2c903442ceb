/**
 * Limits the memory of the workspaces' server processes. One expression can take gigabytes, and no setting of Postgres
 * bounds it. If the server runs on this machine under Linux, a statement whose process exceeds the limit is stopped.
 */
import { readFileSync } from "node:fs"
import { workspaceDb } from "../../domain/Limits.js"

interface Watched {
  readonly pid: number
  readonly database: string
  readonly stop: () => void
}

/** A process can fill about 1 GB a second. */
const watchMillis = 50

export const makeMemoryWatch = () => {
  const watched = new Set<Watched>()
  let timer: NodeJS.Timeout | undefined

  const inspect = (): void => {
    for (const entry of watched) {
      const bytes = memoryOf(entry)
      if (bytes !== undefined && bytes <= workspaceDb.memoryBytes) continue
      watched.delete(entry)
      if (bytes !== undefined) entry.stop()
    }
    rest()
  }

  const rest = (): void => {
    if (watched.size > 0 || timer === undefined) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    /** Watches until the returned function is called. Calls `stop` once, if the session's process exceeds the limit. */
    watch: (pid: number, database: string, stop: () => void) => {
      const entry = { pid, database, stop }
      watched.add(entry)
      timer ??= setInterval(inspect, watchMillis).unref()
      return () => {
        watched.delete(entry)
        rest()
      }
    },
    close: () => clearInterval(timer)
  }
}

/**
 * Private memory in bytes, or `undefined` without such a process here. The title of a Postgres process has its
 * database.
 */
const memoryOf = ({ database, pid }: Watched): number | undefined => {
  try {
    if (!readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(` ${database} `)) return undefined
    const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
  } catch {
    return undefined
  }
}
