/**
 * A workspace's own database, for `svc.db`. Each workspace has a Postgres role that owns one schema and can access nothing
 * else. At least once: a statement may have run although its answer was lost; a repeated commit is recognised.
 * Specification: Runtime calls.
 */
import { type Effect, Context, Data } from "effect"
import type { ExecutionId, SpaceId } from "../../../domain/Ids.js"
import type { Json } from "../../../domain/Json.js"
import type { OrganisationOwner } from "../../../domain/share/ShareOwner.js"
import type { AnswerHolding } from "../HeldBytes.js"

/** What a statement returned. `rowCount`: also of rows that it changed without returning them. */
export interface DbResult {
  readonly rows: ReadonlyArray<Json>
  readonly rowCount: number
  /** `type`: the OID of the column's type. */
  readonly fields: ReadonlyArray<{ readonly name: string; readonly type: number }>
}

/** An open transaction. `xid` shows after a crash whether it was committed. */
export interface DbTransaction {
  readonly id: string
  readonly xid: string
}

/** The database, or this service, refused the statement. */
export class DbRefused extends Data.TaggedError("DbRefused")<{
  readonly message: string
  /** SQLSTATE, or a code of this service. */
  readonly code: string
  readonly detail: string | null
  readonly hint: string | null
  readonly position: number | null
  /** A retry may succeed. */
  readonly transient: boolean
}> {}

/** The run that a statement is for. */
export interface DbCaller {
  /** Whose share of the connections is used. */
  readonly owner: OrganisationOwner
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
    ) => Effect.Effect<DbResult, DbRefused, AnswerHolding>
    readonly begin: (caller: DbCaller) => Effect.Effect<DbTransaction, DbRefused>
    /** Also succeeds when an earlier commit of the transaction succeeded but its answer was lost. */
    readonly commit: (caller: DbCaller, transaction: DbTransaction) => Effect.Effect<void, DbRefused>
    readonly rollback: (caller: DbCaller, transaction: DbTransaction) => Effect.Effect<void>
    /** Bytes that these workspaces store; those without a database are left out. */
    readonly sizes: (spaceIds: ReadonlyArray<SpaceId>) => Effect.Effect<ReadonlyMap<SpaceId, number>, DbRefused>
    /** Whether the database can be used; `detail` says why not. */
    readonly status: Effect.Effect<{ readonly ok: boolean; readonly detail: string }>
  }
>() {}

/** The code of a transaction that was rolled back because its connection was lost. */
export const transactionLost = "TRANSACTION_LOST"
