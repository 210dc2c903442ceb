/** Statements that must not join the caller's transaction. */
import { SqlClient } from "@effect/sql"
import { Context, Effect } from "effect"

/**
 * Runs a statement outside the caller's transaction, which may belong to another pool and role: the SQL library would use
 * its connection, and row-level security would hide what the statement's own role sees.
 */
export const outsideTransaction = <A, E>(statement: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.mapInputContext(statement, Context.omit(SqlClient.TransactionConnection))
