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
import type { LeasedSession, SessionLeases } from "./SessionLeases.js"

interface OpenTransaction {
  readonly held: LeasedSession
  readonly executionId: string
  readonly gate: Effect.Semaphore
  readonly deadline: NodeJS.Timeout
  idle: NodeJS.Timeout | undefined
}

/** The open transactions of this node, over its sessions. */
export const makeTransactions = ({ askServer, returnSession, runInterruptible, takeSession }: SessionLeases) => {
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
      return returnSession(found.held)
    })

  const expire = (id: string): void => {
    open.get(id)?.held.session.abort(lost())
    Effect.runFork(end(id))
  }

  const restIdle = (id: string, transaction: OpenTransaction): void => {
    if (open.has(id)) transaction.idle = setTimeout(() => expire(id), workspaceDb.idleMillis).unref()
  }

  /** Runs one statement at a time; fails if the transaction is no longer open. */
  const use = <A>(
    caller: DbCaller,
    { id }: DbTransaction,
    body: (held: LeasedSession) => Effect.Effect<A, DbRefused>
  ): Effect.Effect<A, DbRefused> =>
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

  const begin: WorkspaceDb["Type"]["begin"] = (caller) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const held = yield* takeSession(caller, "transaction", restore)
        const { session } = held
        const xid = yield* restore(
          runInterruptible(session, async () => {
            await session.control("BEGIN")
            return (await session.query("SELECT pg_current_xact_id()::text", [])).rows[0]?.[0] ?? "0"
          })
        ).pipe(Effect.onError(() => returnSession(held)))
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

  const commit: WorkspaceDb["Type"]["commit"] = (caller, transaction) =>
    Effect.suspend(() => {
      if (!isOpen(caller, transaction))
        return Effect.flatMap(
          askServer((workspaces) => workspaces.outcome(transaction.xid)),
          (status) => (status === "committed" ? Effect.void : lost())
        )
      return use(caller, transaction, ({ session }) =>
        runInterruptible(session, () => session.query("COMMIT", []))
      ).pipe(
        Effect.ensuring(end(transaction.id)),
        // After a failed statement Postgres rolls back at COMMIT.
        Effect.flatMap(({ command }) =>
          command === "COMMIT"
            ? Effect.void
            : dbRefusal("a statement of the transaction failed: nothing is kept", "25P02")
        )
      )
    })

  const rollback: WorkspaceDb["Type"]["rollback"] = (caller, transaction) =>
    Effect.suspend(() =>
      isOpen(caller, transaction)
        ? Effect.ignore(
            use(caller, transaction, ({ session }) => runInterruptible(session, () => session.control("ROLLBACK")))
          ).pipe(Effect.ensuring(end(transaction.id)))
        : Effect.void
    )

  return {
    begin,
    commit,
    rollback,
    use,
    /** Rolls all of them back. */
    stop: Effect.suspend(() =>
      Effect.forEach([...open.keys()], (id) => end(id), { concurrency: "unbounded", discard: true })
    )
  }
}

const lost = (): DbRefused =>
  dbRefusal("the transaction is no longer open, and what it did is undone: begin it again", transactionLost, {
    transient: true
  })
