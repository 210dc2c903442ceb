/**
 * Pools the connections of all workspaces under one bound for the node. Idle ones are kept for the next statement of
 * their workspace; at the bound, the least recently used idle one is closed to make room.
 */
import type { ClientConfig } from "pg"
import { openSession, type DatabaseSession } from "./DatabaseSession.js"

export interface SessionPool {
  /** Takes a session for exclusive use. At most as many callers at once as there are connections. */
  readonly take: (workspace: string) => Promise<DatabaseSession>
  /** Returns a session after a reset; an unusable one is closed. Resolves when its place is free. */
  readonly giveBack: (workspace: string, session: DatabaseSession) => Promise<void>
  readonly usage: () => { readonly open: number; readonly idle: number }
  readonly close: () => Promise<void>
}

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

export const makeSessionPool = (options: SessionPoolOptions): SessionPool => {
  /** Least recently used first. */
  const idle: Array<Idle> = []
  let open = 0
  let closed = false

  const close = async (session: DatabaseSession): Promise<void> => {
    await session.end()
    open -= 1
  }

  const remove = (entry: Idle): void => {
    const at = idle.indexOf(entry)
    if (at >= 0) idle.splice(at, 1)
    clearTimeout(entry.timer)
  }

  const connectTo = async (workspace: string): Promise<DatabaseSession> => {
    try {
      return await openSession(await options.reach(workspace), options.onDefect)
    } catch (cause) {
      if (!options.isGone(workspace, cause)) throw cause
      return await openSession(await options.reach(workspace), options.onDefect)
    }
  }

  const take = async (workspace: string): Promise<DatabaseSession> => {
    for (let found = lastOf(idle, workspace); found !== undefined; found = lastOf(idle, workspace)) {
      remove(found)
      if (found.session.isUsable()) return found.session
      await close(found.session)
    }
    open += 1
    try {
      const oldest = open > options.most ? idle[0] : undefined
      if (oldest !== undefined) {
        remove(oldest)
        await close(oldest.session)
      }
      return await connectTo(workspace)
    } catch (cause) {
      open -= 1
      throw cause
    }
  }

  const giveBack = async (workspace: string, session: DatabaseSession): Promise<void> => {
    // DISCARD ALL fails inside a transaction: then the session is unusable.
    if (session.isUsable()) await session.control("DISCARD ALL").catch((cause: Error) => session.abort(cause))
    if (!session.isUsable()) {
      // The server checks for a closed connection only now and then: until then it would go on computing.
      await options.terminate([session.pid]).catch(() => undefined)
      return close(session)
    }
    if (closed) return close(session)
    const timer = setTimeout(() => {
      remove(entry)
      void close(session)
    }, options.idleMillis).unref()
    const entry: Idle = { workspace, session, timer }
    idle.push(entry)
  }

  return {
    take,
    giveBack,
    usage: () => ({ open, idle: idle.length }),
    close: async () => {
      closed = true
      const entries = [...idle]
      for (const entry of entries) remove(entry)
      await Promise.all(entries.map(({ session }) => close(session)))
    }
  }
}

const lastOf = (idle: ReadonlyArray<Idle>, workspace: string): Idle | undefined =>
  idle.findLast((entry) => entry.workspace === workspace)
