/**
 * Limits the size of the workspaces. A measured size is valid for a while if no statement ran since; while statements
 * run, sizes are polled, and a statement that writes beyond the limit is stopped.
 */
export interface WatchedStatement {
  /** The statement frees space: it may run in a full workspace, and grow it a little. */
  readonly frees: boolean
  readonly stop: () => void
}

interface Known {
  readonly bytes: number
  readonly at: number
  /** A statement has ended since the measurement. */
  stale: boolean
}

/** How long a size is valid if no statement ran since. */
const restMillis = 10_000
/** Interval of polls of a workspace with running statements. */
const watchMillis = 500
/** Bytes that a statement that frees space may write: for example rows that a foreign key sets to a default. */
const freeingBytes = 64 * 1024 * 1024

/** `limit`: bytes of a workspace. */
export const makeSizes = (
  limit: number,
  measure: (workspaces: ReadonlyArray<string>) => Promise<ReadonlyMap<string, number>>,
  now: () => number
) => {
  const known = new Map<string, Known>()
  const watched = new Map<string, Set<{ readonly statement: WatchedStatement; readonly most: number }>>()
  let timer: NodeJS.Timeout | undefined
  let measuring = false

  const remember = (sizes: ReadonlyMap<string, number>): void => {
    const at = now()
    for (const [workspace, bytes] of sizes) known.set(workspace, { bytes, at, stale: watched.has(workspace) })
    for (const [workspace, size] of known) if (at - size.at > 2 * restMillis) known.delete(workspace)
  }

  const inspect = async (): Promise<void> => {
    if (measuring) return
    measuring = true
    try {
      remember(await measure([...watched.keys()]))
      for (const [workspace, statements] of watched)
        for (const { most, statement } of statements) if ((known.get(workspace)?.bytes ?? 0) > most) statement.stop()
    } catch {
      // The server does not answer: its statements fail as well.
    } finally {
      measuring = false
    }
  }

  const bytesOf = (workspace: string): number => known.get(workspace)?.bytes ?? 0

  return {
    isFull: async (workspace: string) => {
      const size = known.get(workspace)
      const age = size === undefined ? Infinity : now() - size.at
      if (age > (size?.stale === true ? watchMillis : restMillis)) remember(await measure([workspace]))
      return bytesOf(workspace) > limit
    },
    /** Watches a statement until the returned function is called. Calls `stop` if it writes beyond the limit. */
    watch: (workspace: string, statement: WatchedStatement) => {
      const most = statement.frees ? Math.max(limit, bytesOf(workspace)) + freeingBytes : limit
      const entry = { statement, most }
      const statements = watched.get(workspace) ?? new Set()
      statements.add(entry)
      watched.set(workspace, statements)
      timer ??= setInterval(() => void inspect(), watchMillis).unref()
      return () => {
        statements.delete(entry)
        if (statements.size === 0) watched.delete(workspace)
        const size = known.get(workspace)
        if (size !== undefined) size.stale = true
        if (watched.size === 0 && timer !== undefined) {
          clearInterval(timer)
          timer = undefined
        }
      }
    },
    close: () => clearInterval(timer)
  }
}
