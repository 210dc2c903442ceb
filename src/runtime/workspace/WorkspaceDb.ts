/**
 * The port of `svc.db` over the workspaces' logins: one statement per call, with limits. A call waits for its
 * account's turn, then takes a connection of its workspace, and returns both together.
 */
import { Cause, Duration, Effect, Layer, Option, type Redacted, Runtime } from "effect"
import { type DbRefused, WorkspaceDb } from "../../actors/ports/run/WorkspaceDb.js"
import { AnswerHolding } from "../../actors/ports/HeldBytes.js"
import { backgroundTask, repeatEvery } from "../../actors/BackgroundTask.js"
import { type Json, findUnstorable, unstorableMessage } from "../../domain/Json.js"
import { workspaceDb } from "../../domain/Limits.js"
import { allowedCommands, sqlCommand } from "../../domain/SqlCommand.js"
import { dbRefusal, dbOff } from "./Refusals.js"
import { ConnectTimeout } from "../postgres/database/pool/ConnectTimeout.js"
import { OpenSockets } from "../postgres/database/pool/OpenSockets.js"
import { makeWorkspaceDatabaseServer, type WorkspaceDatabaseServer } from "./WorkspaceDatabaseServer.js"
import { makeTransactions } from "./Transactions.js"
import { SharedSessions } from "./SharedSessions.js"
import { makeSessionLeases } from "./SessionLeases.js"

export interface WorkspaceDbOptions {
  /** An administrator's login to the server; it manages the workspaces' databases from the database in its path. */
  readonly admin: Option.Option<Redacted.Redacted>
  readonly pepper: Redacted.Redacted
  /** The size limit of a workspace. */
  readonly bytes?: number
}

/** How long after its start the service opens the server of the workspaces, unless a call needs it earlier. */
const preparation = "2 seconds"
/** Interval of sweeps for databases that are empty and idle. */
const sweepInterval = Duration.minutes(10)
export const layer = (options: WorkspaceDbOptions) =>
  Layer.scoped(
    WorkspaceDb,
    Effect.gen(function* () {
      if (Option.isNone(options.admin)) return off("set SVC_WS_DATABASE_URL to an administrator's login")
      const sockets = Option.getOrUndefined(yield* Effect.serviceOption(OpenSockets))
      const server = makeWorkspaceDatabaseServer({
        admin: options.admin.value,
        pepper: options.pepper,
        connectTimeout: yield* ConnectTimeout,
        sockets
      })
      yield* Effect.addFinalizer(() => Effect.promise(server.close))
      const runtime = yield* Effect.runtime()
      const { db, dropEmpty, stop } = make(
        server,
        options.bytes ?? workspaceDb.bytes,
        yield* SharedSessions,
        (cause) => void Runtime.runFork(runtime)(logDefect(cause))
      )
      yield* Effect.addFinalizer(() => Effect.promise(stop))
      // Opened early, so that health checks know whether it works, but after the first requests of the service.
      yield* Effect.forkScoped(Effect.delay(Effect.ignore(Effect.tryPromise(server.get)), preparation))
      const dropping = yield* backgroundTask("workspaces.drop_empty", dropEmpty)
      yield* repeatEvery(sweepInterval, dropping.run, "later")
      return db
    })
  )

// --- Private ---

const off = (reason: string) =>
  WorkspaceDb.of({
    query: () => dbOff(reason),
    begin: () => dbOff(reason),
    commit: () => dbOff(reason),
    rollback: () => Effect.void,
    sizes: () => Effect.succeed(new Map()),
    status: Effect.succeed({ ok: false, detail: reason })
  })

const logDefect = (cause: unknown): Effect.Effect<void> =>
  Effect.logError("workspace_db.answer_failed", Cause.die(cause))

const make = (
  server: WorkspaceDatabaseServer,
  limit: number,
  shared: SharedSessions["Type"],
  onDefect: (cause: unknown) => void
) => {
  const sessions = makeSessionLeases(server, limit, shared, onDefect)
  const { askServer, dropEmpty, returnSession, runInterruptible, runStatement, takeSession } = sessions
  const transactions = makeTransactions(sessions)

  /** Runs one statement, alone or in an open transaction. */
  const query: WorkspaceDb["Type"]["query"] = Effect.fnUntraced(function* (caller, sql, params, transaction) {
    const command = sqlCommand(sql)
    if (command === undefined)
      return yield* dbRefusal(`svc.db.query takes one statement: ${allowedCommands}`, "COMMAND_NOT_ALLOWED")
    yield* checkRequest(sql, params)
    const holding = yield* AnswerHolding
    if (transaction !== null)
      return yield* transactions.use(caller, transaction, (held) =>
        runInterruptible(held.session, () =>
          runStatement(held, { command, sql, params, place: "in a transaction", holding })
        )
      )
    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(takeSession(caller, "statement", restore), (held) =>
        restore(
          runInterruptible(held.session, () => runStatement(held, { command, sql, params, place: "alone", holding }))
        ).pipe(Effect.ensuring(Effect.forkDaemon(returnSession(held))))
      )
    )
  })

  return {
    db: WorkspaceDb.of({
      query,
      begin: transactions.begin,
      commit: transactions.commit,
      rollback: transactions.rollback,
      sizes: (spaceIds) => askServer((workspaces) => workspaces.sizes(spaceIds)),
      status: Effect.sync(() => {
        if (server.isReady()) return { ok: true, detail: "" }
        // Nobody else may ask: after a failure it is tried again.
        server.get().catch(() => undefined)
        return { ok: false, detail: server.failure() || "is being made ready" }
      })
    }),
    dropEmpty,
    stop: async () => {
      sessions.stopWatching()
      await Effect.runPromise(transactions.stop)
      await sessions.close()
    }
  }
}

/** What the wire protocol could not carry, or a serialiser not bear. */
const checkRequest = (sql: string, params: ReadonlyArray<Json>): Effect.Effect<void, DbRefused> =>
  Effect.suspend(() => {
    const found = findUnstorable(sql) ?? findUnstorable(params)
    if (found !== undefined)
      return dbRefusal(`the statement or a value ${unstorableMessage[found.reason]}`, "NOT_STORABLE")
    if (params.length > workspaceDb.parameters)
      return dbRefusal(`a statement takes at most ${workspaceDb.parameters} values`, "TOO_LARGE")
    if (Buffer.byteLength(sql) + JSON.stringify(params).length > workspaceDb.requestBytes)
      return dbRefusal(`a statement and its values have at most ${workspaceDb.requestBytes} bytes`, "TOO_LARGE")
    return Effect.void
  })
