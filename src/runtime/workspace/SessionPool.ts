/**
 * Pools the connections of all workspaces under one bound for the node. Idle ones are kept for the next statement of
 * their workspace; at the bound, the least recently used idle one is closed to make room.
 */
import type { ClientConfig } from "pg"
import { openSession, type DatabaseSession } from "./DatabaseSession.js"

export interface SessionPoolOptions {
  readonly most: number
  /** How long an idle connection is kept. */
  readonly idleMillis: number
  readonly reach: (workspace: string) => Promise<ClientConfig>
  /** Whether the failure means that the workspace's database or login has gone, so that both are looked up again. */
  readonly isGone: (workspace: string, cause: unknown) => boolean
  /** Ends the server processes of connections that were aborted. */
  readonly terminate: (pids: ReadonlyArray<number>) => Promise<void>
  readonly onDefect: (cause: unknown) => void
}

interface Idle {
  readonly workspace: string
  readonly session: DatabaseSession
  readonly timer: NodeJS.Timeout
}

/** The sessions of this node. */
interface Pool {
  readonly options: SessionPoolOptions
  /** Least recently used first. */
  readonly idle: Array<Idle>
  /** Sessions that are open or being opened. */
  open: number
  isClosed: boolean
}

const close = async (pool: Pool, session: DatabaseSession): Promise<void> => {
  await session.end()
  pool.open -= 1
}

const remove = ({ idle }: Pool, entry: Idle): void => {
  const at = idle.indexOf(entry)
  if (at >= 0) idle.splice(at, 1)
  clearTimeout(entry.timer)
}

/** Opens a session; once more if the workspace's database or login has gone. */
const connectTo = async ({ options }: Pool, workspace: string): Promise<DatabaseSession> => {
  try {
    return await openSession(await options.reach(workspace), options.onDefect)
  } catch (cause) {
    if (!options.isGone(workspace, cause)) throw cause
    return await openSession(await options.reach(workspace), options.onDefect)
  }
}

const take = async (pool: Pool, workspace: string): Promise<DatabaseSession> => {
  for (let found = lastOf(pool.idle, workspace); found !== undefined; found = lastOf(pool.idle, workspace)) {
    remove(pool, found)
    if (found.session.isUsable()) return found.session
    await close(pool, found.session)
  }
  pool.open += 1
  try {
    const oldest = pool.open > pool.options.most ? pool.idle[0] : undefined
    if (oldest !== undefined) {
      remove(pool, oldest)
      await close(pool, oldest.session)
    }
    return await connectTo(pool, workspace)
  } catch (cause) {
    pool.open -= 1
    throw cause
  }
}

const giveBack = async (pool: Pool, workspace: string, session: DatabaseSession): Promise<void> => {
  // DISCARD ALL fails inside a transaction: then the session is unusable.
  if (session.isUsable()) await session.control("DISCARD ALL").catch((cause: Error) => session.abort(cause))
  if (!session.isUsable()) {
    // The server checks for a closed connection only now and then: until then it would go on computing.
    await pool.options.terminate([session.pid]).catch(() => undefined)
    return close(pool, session)
  }
  if (pool.isClosed) return close(pool, session)
  const timer = setTimeout(() => {
    remove(pool, entry)
    void close(pool, session)
  }, pool.options.idleMillis).unref()
  const entry: Idle = { workspace, session, timer }
  pool.idle.push(entry)
}

export const makeSessionPool = (options: SessionPoolOptions) => {
  const pool: Pool = { options, idle: [], open: 0, isClosed: false }

  return {
    /** Takes a session for exclusive use. At most as many callers at once as there are connections. */
    take: (workspace: string) => take(pool, workspace),
    /** Returns a session after a reset; an unusable one is closed. Resolves when its place is free. */
    giveBack: (workspace: string, session: DatabaseSession) => giveBack(pool, workspace, session),
    usage: () => ({ open: pool.open, idle: pool.idle.length }),
    close: async () => {
      pool.isClosed = true
      const entries = [...pool.idle]
      for (const entry of entries) remove(pool, entry)
      await Promise.all(entries.map(({ session }) => close(pool, session)))
    }
  }
}

const lastOf = (idle: ReadonlyArray<Idle>, workspace: string): Idle | undefined =>
  idle.findLast((entry) => entry.workspace === workspace)
