/**
 * A workspace's own database, for `svc.db`. Each workspace is a login of its own that owns one schema in one database and
 * can reach nothing else. At least once: a statement may have run although its answer was lost; a transaction's commit
 * is recognised. Specification: Runtime calls.
 */
import type { Effect } from "effect"
import { Context, Data } from "effect"
import type { ExecutionId, OrganisationId, SpaceId } from "../../domain/Ids.js"
import type { Json } from "../../domain/Json.js"

export interface DbResult {
  readonly rows: ReadonlyArray<Json>
  readonly rowCount: number
  /** `type`: the OID of the column's type. */
  readonly fields: ReadonlyArray<{ readonly name: string; readonly type: number }>
}

/** An open transaction. `xid` tells after a crash whether it was committed. */
export interface DbTransaction {
  readonly id: string
  readonly xid: string
}

/** What the database, or this service before it, says against the statement. */
export class DbRefused extends Data.TaggedError("DbRefused")<{
  readonly message: string
  /** SQLSTATE, or a code of this service. */
  readonly code: string
  readonly detail: string | null
  readonly hint: string | null
  readonly position: number | null
  /** Trying again may help. */
  readonly transient: boolean
}> {}

export interface DbCaller {
  /** Whose share of the connections it uses. */
  readonly organisationId: OrganisationId
  readonly spaceId: SpaceId
  readonly executionId: ExecutionId
}

export class WorkspaceDb extends Context.Tag("svc/WorkspaceDb")<
  WorkspaceDb,
  {
    readonly query: (
      caller: DbCaller,
      sql: string,
      params: ReadonlyArray<Json>,
      transaction: DbTransaction | null
    ) => Effect.Effect<DbResult, DbRefused>
    readonly begin: (caller: DbCaller) => Effect.Effect<DbTransaction, DbRefused>
    /** Succeeds also when the transaction was committed before and nobody heard of it. */
    readonly commit: (caller: DbCaller, transaction: DbTransaction) => Effect.Effect<void, DbRefused>
    readonly rollback: (caller: DbCaller, transaction: DbTransaction) => Effect.Effect<void>
    /** Whether it can be used, and why not. */
    readonly status: Effect.Effect<{ readonly ok: boolean; readonly detail: string }>
  }
>() {}

/** The transaction is no longer open: what it did is undone. */
export const transactionLost = "TRANSACTION_LOST"
