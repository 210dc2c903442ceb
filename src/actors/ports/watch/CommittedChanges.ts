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
}

/** A change with the transaction that committed it, by the lower 53 bits of its id. */
export interface CommittedChange extends RecordChange {
  readonly transaction: number
}

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

export class CommittedChanges extends Context.Tag("svc/CommittedChanges")<
  CommittedChanges,
  {
    readonly position: Effect.Effect<WatchPosition, Unavailable>
    readonly since: (query: ChangeQuery) => Effect.Effect<CommittedPart, Unavailable>
    /** Of the runs that exist. */
    readonly runs: (ids: ReadonlyArray<ExecutionId>) => Effect.Effect<ReadonlyArray<RunSign>, Unavailable>
    /**
     * A text for each credential, in their order, that differs after each change of what its caller may do; `null`: it is
     * in force no more.
     */
    readonly rights: (
      credentials: ReadonlyArray<WatchedCredential>
    ) => Effect.Effect<ReadonlyArray<string | null>, Unavailable>
  }
>() {}
