/**
 * Open transactions of `svc.db`. Each holds a connection and belongs to one run; it has an idle and a total timeout.
 */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import {
  type DbCaller,
  type DbRefused,
  type DbTransaction,
  transactionLost,
  type WorkspaceDb
} from "../../actors/ports/run/WorkspaceDb.js"
import { workspaceDb } from "../../domain/Limits.js"
import { dbRefusal } from "./Refusals.js"
import type { DatabaseSession } from "./DatabaseSession.js"
import type { Release, TurnKind } from "./Turns.js"
import type { WorkspaceDatabases } from "./WorkspaceDatabases.js"

/** A connection that a call or a transaction uses. */
export interface LeasedSession {
  readonly session: DatabaseSession
  readonly spaceId: string
  readonly release: Release
}

export interface Transactions {
  readonly begin: WorkspaceDb["Type"]["begin"]
  readonly commit: WorkspaceDb["Type"]["commit"]
  readonly rollback: WorkspaceDb["Type"]["rollback"]
  /** Runs one statement at a time; fails if the transaction is no longer open. */
  readonly use: <A>(
    caller: DbCaller,
    transaction: DbTransaction,
    body: (held: LeasedSession) => Effect.Effect<A, DbRefused>
  ) => Effect.Effect<A, DbRefused>
  /** Rolls all of them back. */
  readonly stop: Effect.Effect<void>
}

export interface TransactionsOptions {
  readonly take: (
    caller: DbCaller,
    kind: TurnKind,
    restore: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
  ) => Effect.Effect<LeasedSession, DbRefused>
  readonly giveBack: (held: LeasedSession) => Effect.Effect<void>
  readonly run: <A>(session: DatabaseSession, body: () => Promise<A>) => Effect.Effect<A, DbRefused>
  readonly attempt: <A>(body: (workspaces: WorkspaceDatabases) => Promise<A>) => Effect.Effect<A, DbRefused>
}

interface OpenTransaction {
  readonly held: LeasedSession
  readonly executionId: string
  readonly gate: Effect.Semaphore
  readonly deadline: NodeJS.Timeout
  idle: NodeJS.Timeout | undefined
}

export const makeTransactions = ({ attempt, giveBack, run, take }: TransactionsOptions): Transactions => {
  /** Open transactions by id. */
  const open = new Map<string, OpenTransaction>()

  /** Closes a transaction and returns its connection. */
  const end = (id: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      const found = open.get(id)
      if (found === undefined) return Effect.void
      open.delete(id)
      clearTimeout(found.idle)
      clearTimeout(found.deadline)
      return giveBack(found.held)
    })

  const expire = (id: string): void => {
    open.get(id)?.held.session.abort(lost())
    Effect.runFork(end(id))
  }

  const restIdle = (id: string, transaction: OpenTransaction): void => {
    if (open.has(id)) transaction.idle = setTimeout(() => expire(id), workspaceDb.idleMillis).unref()
  }

  const use: Transactions["use"] = (caller, { id }, body) =>
    Effect.suspend(() => {
      const found = open.get(id)
      if (found?.executionId !== caller.executionId) return lost()
      return found.gate.withPermits(1)(
        Effect.suspend(() => {
          if (!open.has(id)) return lost()
          clearTimeout(found.idle)
          return body(found.held)
        }).pipe(
          Effect.ensuring(
            Effect.suspend(() => {
              if (!found.held.session.isUsable()) return end(id)
              restIdle(id, found)
              return Effect.void
            })
          )
        )
      )
    })

  const begin: Transactions["begin"] = (caller) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const held = yield* take(caller, "transaction", restore)
        const { session } = held
        const xid = yield* restore(
          run(session, async () => {
            await session.control("BEGIN")
            return (await session.query("SELECT pg_current_xact_id()::text", [])).rows[0]?.[0] ?? "0"
          })
        ).pipe(Effect.onError(() => giveBack(held)))
        const id = randomUUID()
        const deadline = setTimeout(() => expire(id), workspaceDb.transactionMillis).unref()
        const transaction: OpenTransaction = {
          held,
          executionId: caller.executionId,
          gate: Effect.unsafeMakeSemaphore(1),
          deadline,
          idle: undefined
        }
        open.set(id, transaction)
        restIdle(id, transaction)
        return { id, xid }
      })
    )

  const isOpen = (caller: DbCaller, { id }: DbTransaction) => open.get(id)?.executionId === caller.executionId

  const commit: Transactions["commit"] = (caller, transaction) =>
    Effect.suspend(() => {
      if (!isOpen(caller, transaction))
        return Effect.flatMap(
          attempt((workspaces) => workspaces.outcome(transaction.xid)),
          (status) => (status === "committed" ? Effect.void : lost())
        )
      return use(caller, transaction, ({ session }) => run(session, () => session.query("COMMIT", []))).pipe(
        Effect.ensuring(end(transaction.id)),
        // After a failed statement Postgres rolls back at COMMIT.
        Effect.flatMap(({ command }) =>
          command === "COMMIT"
            ? Effect.void
            : dbRefusal("a statement of the transaction failed: nothing is kept", "25P02")
        )
      )
    })

  const rollback: Transactions["rollback"] = (caller, transaction) =>
    Effect.suspend(() =>
      isOpen(caller, transaction)
        ? Effect.ignore(
            use(caller, transaction, ({ session }) => run(session, () => session.control("ROLLBACK")))
          ).pipe(Effect.ensuring(end(transaction.id)))
        : Effect.void
    )

  return {
    begin,
    commit,
    rollback,
    use,
    stop: Effect.suspend(() =>
      Effect.forEach([...open.keys()], (id) => end(id), { concurrency: "unbounded", discard: true })
    )
  }
}

const lost = (): DbRefused =>
  dbRefusal("the transaction is no longer open, and what it did is undone: begin it again", transactionLost, {
    transient: true
  })
