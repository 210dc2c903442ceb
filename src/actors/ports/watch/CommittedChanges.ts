/** What was committed, on any node, since a position: the source of clients' watches. */
import { Context, type Effect } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { ExecutionId, OrganisationId, SessionId, UserId } from "../../../domain/Ids.js"
import type { ExecutionStatus } from "../../../domain/run/Execution.js"
import type { WatchPosition } from "../../../domain/watch/WatchPosition.js"
import type { RecordChange, RecordTopic } from "../../../domain/watch/WatchTopic.js"

/** Whose changes are read. */
export interface ChangeQuery {
  readonly since: WatchPosition
  readonly topics: ReadonlyArray<RecordTopic>
  readonly organisations: ReadonlyArray<OrganisationId>
  /** Every change; else of those that reach the same watchers as many as are told one by one, and how many more there are. */
  readonly isEach: boolean
}

/** A change with the transaction that committed it, by the lower 53 bits of its id. */
export interface CommittedChange extends RecordChange {
  readonly transaction: number
  /** Further changes that are not named, which reach the same watchers. */
  readonly more: number
}

/** What a read of changes found. */
export interface CommittedPart {
  /** All changes before it were read. */
  readonly position: WatchPosition
  /** One at most of each record, in no order. */
  readonly changes: ReadonlyArray<CommittedChange>
  /** There were more than can be read at once. */
  readonly isCut: boolean
}

/** The last commit of a run: `sign` differs after each further one. */
export interface RunSign {
  readonly id: ExecutionId
  readonly status: ExecutionStatus
  readonly sign: string
}

/** Whose rights are read: a key by its id, a person by session and user. */
export interface WatchedCredential {
  readonly keyId: string | null
  readonly sessionId: SessionId | null
  readonly userId: UserId | null
}

/** What callers may do, and the position, of one snapshot. */
export interface CurrentRights {
  readonly position: WatchPosition
  /** For each credential, in their order, differs after each change of what its caller may do; `null`: in force no more. */
  readonly texts: ReadonlyArray<string | null>
}

export class CommittedChanges extends Context.Tag("svc/CommittedChanges")<
  CommittedChanges,
  {
    readonly since: (query: ChangeQuery) => Effect.Effect<CommittedPart, Unavailable>
    /** Of the runs that exist. */
    readonly runs: (ids: ReadonlyArray<ExecutionId>) => Effect.Effect<ReadonlyArray<RunSign>, Unavailable>
    readonly rights: (credentials: ReadonlyArray<WatchedCredential>) => Effect.Effect<CurrentRights, Unavailable>
  }
>() {}
