/**
 * Connections of all workspaces under one bound for the node. Those that are idle are kept for the next statement of the
 * same workspace; when the bound is reached, the one that was used longest ago is closed for whoever needs one.
 */
import type { ClientConfig } from "pg"
import { openSession, type DatabaseSession } from "./DatabaseSession.js"

export interface SessionPool {
  /** A session that nobody else uses. At most as many callers at once as there are connections. */
  readonly take: (workspace: string) => Promise<DatabaseSession>
  /** Back, without anything of the session that was; an unusable one is closed. Resolves when its place is free. */
  readonly giveBack: (workspace: string, session: DatabaseSession) => Promise<void>
  readonly usage: () => { readonly open: number; readonly idle: number }
  readonly close: () => Promise<void>
}

export interface SessionPoolOptions {
  readonly most: number
  /** How long an idle connection is kept. */
  readonly idleMillis: number
  readonly reach: (workspace: string) => Promise<ClientConfig>
  /** The workspace could not be reached as it was known: whether to look again. */
  readonly isGone: (workspace: string, cause: unknown) => boolean
  /** Ends the server processes of connections that were cut. */
  readonly terminate: (pids: ReadonlyArray<number>) => Promise<void>
  readonly onDefect: (cause: unknown) => void
}

interface Idle {
  readonly workspace: string
  readonly session: DatabaseSession
  readonly timer: NodeJS.Timeout
}

export const makeSessionPool = (options: SessionPoolOptions): SessionPool => {
  /** The one that was used longest ago comes first. */
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
    // Refused inside a transaction, and then the connection is not what it was.
    if (session.isUsable()) await session.control("DISCARD ALL").catch((cause: Error) => session.abort(cause))
    if (!session.isUsable()) {
      // The server notices a cut connection only when it next looks: until then it would compute on.
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
