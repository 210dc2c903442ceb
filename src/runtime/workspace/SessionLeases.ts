/** How a call uses a session of its workspace: waits for its turn, takes the session, runs a statement, returns both. */
import { Effect } from "effect"
import type { Holding } from "../../actors/ports/HeldBytes.js"
import type { DbCaller, DbRefused, DbResult } from "../../actors/ports/run/WorkspaceDb.js"
import type { Json } from "../../domain/Json.js"
import { workspaceDb } from "../../domain/Limits.js"
import type { SqlCommand } from "../../domain/SqlCommand.js"
import { readResult } from "./StatementResult.js"
import { makeSessionPool } from "./SessionPool.js"
import type { SharedSessions } from "./SharedSessions.js"
import { Unsendable } from "./Parameters.js"
import { dbFull, dbRefusalOf, tooManyAtOnce, tooMuchMemory } from "./Refusals.js"
import { makeMemoryWatch } from "./Memory.js"
import type { WorkspaceDatabaseServer } from "./WorkspaceDatabaseServer.js"
import type { DatabaseSession } from "./DatabaseSession.js"
import { makeSizes } from "./Sizes.js"
import { makeTurns, type ReleaseTurn, type TurnKind } from "./Turns.js"
import type { WorkspaceDatabases } from "./WorkspaceDatabases.js"

/** A connection that a call or a transaction uses. */
export interface LeasedSession {
  readonly session: DatabaseSession
  readonly spaceId: string
  readonly release: ReleaseTurn
}

/** How long an idle connection is kept. */
const keepMillis = 10_000
/** There is no such database, or no such login: another process dropped them. */
const goneCodes: ReadonlySet<string> = new Set(["3D000", "28P01", "28000"])

/** A statement of a workflow. */
export interface TenantStatement {
  readonly command: SqlCommand
  readonly sql: string
  readonly params: ReadonlyArray<Json>
  readonly place: "alone" | "in a transaction"
  /** Counts the bytes of the answer. */
  readonly holding: Holding
}

export type SessionLeases = ReturnType<typeof makeSessionLeases>

/** The sessions of calls. `limit`: of a workspace, in bytes. `shared`: those of all nodes. */
export const makeSessionLeases = (
  server: WorkspaceDatabaseServer,
  limit: number,
  shared: SharedSessions["Type"],
  onDefect: (cause: unknown) => void
) => {
  const started = performance.now()
  const lastUse = new Map<string, number>()
  const turns = makeTurns({
    connections: workspaceDb.connectionsPerNode,
    connectionsPerAccount: workspaceDb.connectionsPerAccount,
    transactions: workspaceDb.transactionsPerNode,
    transactionsPerAccount: workspaceDb.transactionsPerAccount,
    waitingPerOrganisation: workspaceDb.waitingPerOrganisation,
    waitMillis: workspaceDb.waitMillis
  })
  const sizes = makeSizes(
    limit,
    async (spaceIds) => (await server.get()).sizes(spaceIds),
    () => performance.now()
  )
  const memory = makeMemoryWatch()
  const connections = makeSessionPool({
    most: workspaceDb.openPerNode,
    idleMillis: keepMillis,
    reach: async (spaceId) => (await server.get()).reach(spaceId),
    isGone: (spaceId, cause) => {
      const gone = typeof cause === "object" && cause !== null && "code" in cause && goneCodes.has(String(cause.code))
      if (gone) void server.get().then((workspaces) => workspaces.forget(spaceId))
      return gone
    },
    terminate: async (pids) => (await server.get()).terminate(pids, "all"),
    onDefect
  })

  /** Asks the server of the workspaces' databases. */
  const askServer = <A>(body: (workspaces: WorkspaceDatabases) => Promise<A>): Effect.Effect<A, DbRefused> =>
    Effect.tryPromise({
      try: async () => body(await server.get()),
      catch: (error) => dbRefusalOf(error, server.failure())
    })

  /** Returns a session, and then the turn. */
  const returnSession = ({ release, session, spaceId }: LeasedSession): Effect.Effect<void> =>
    Effect.promise(() => connections.giveBack(spaceId, session)).pipe(Effect.ensuring(Effect.sync(release)))

  /** First the turn, then the connection: who waits holds nothing. Interruptible only while it waits. */
  const takeSession = (
    { owner, spaceId }: DbCaller,
    kind: TurnKind,
    restore: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
  ): Effect.Effect<LeasedSession, DbRefused> =>
    restore(turns.acquire(owner, kind)).pipe(
      Effect.mapError(tooManyAtOnce),
      Effect.flatMap((releaseTurn) =>
        Effect.map(
          Effect.onError(restore(shared.acquire(owner)), () => Effect.sync(releaseTurn)),
          (releasePlace) => () => {
            releasePlace()
            releaseTurn()
          }
        )
      ),
      Effect.flatMap((release) =>
        askServer(async (workspaces) => {
          lastUse.set(workspaces.databaseOf(spaceId), performance.now())
          return { session: await connections.take(spaceId), spaceId, release }
        }).pipe(Effect.tapErrorCause(() => Effect.sync(release)))
      )
    )

  /** When the run stops waiting, the connection goes, and with it the statement. */
  const runInterruptible = <A>(session: DatabaseSession, body: () => Promise<A>): Effect.Effect<A, DbRefused> =>
    Effect.async((resume) => {
      body().then(
        (value) => resume(Effect.succeed(value)),
        (error: unknown) => resume(dbRefusalOf(error, server.failure()))
      )
      return Effect.sync(() => session.abort(new Error("the run no longer waits")))
    })

  /** Runs one statement. It is ended if the workspace or the server's memory is full. */
  const runStatement = async (
    { session, spaceId }: LeasedSession,
    { command, holding, params, place, sql }: TenantStatement
  ): Promise<DbResult> => {
    const workspaces = await server.get()
    const readsOnly = (await sizes.isFull(spaceId)) && !command.freesSpace
    let stopped: DbRefused | undefined
    const stop = (which: "all" | "writers", why: DbRefused) => {
      stopped ??= why
      workspaces.terminate([session.pid], which).catch(() => undefined)
    }
    const unwatchSize = sizes.watch(spaceId, { frees: command.freesSpace, stop: () => stop("writers", dbFull(limit)) })
    const unwatchMemory = memory.watch(session.pid, workspaces.databaseOf(spaceId), () => stop("all", tooMuchMemory()))
    try {
      if (readsOnly) await session.control(readOnly[place].before)
      const raw = await session.query(sql, params, holding)
      if (readsOnly) await session.control(readOnly[place].after)
      return await readResult(raw)
    } catch (error) {
      const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined
      // The statement was not run: its transaction is still open, and must not stay read-only.
      if (readsOnly && error instanceof Unsendable) await session.control(readOnly[place].after)
      if (readsOnly && code === "25006") throw dbFull(limit)
      throw stopped !== undefined && code === "57P01" ? stopped : error
    } finally {
      unwatchSize()
      unwatchMemory()
    }
  }

  const dropEmpty = askServer((workspaces) =>
    workspaces.dropEmpty((database) => performance.now() - (lastUse.get(database) ?? started) < workspaceDb.emptyMillis)
  )

  return {
    askServer,
    dropEmpty,
    returnSession,
    takeSession,
    runInterruptible,
    runStatement,
    stopWatching: () => {
      sizes.close()
      memory.close()
    },
    close: connections.close
  }
}

/** How the server is told that a statement may only read. No statement of a workflow can take it back. */
const readOnly = {
  alone: { before: "SET default_transaction_read_only = on", after: "SET default_transaction_read_only = off" },
  "in a transaction": {
    before: "SAVEPOINT svc_full; SET TRANSACTION READ ONLY",
    after: "RELEASE SAVEPOINT svc_full"
  }
} as const
