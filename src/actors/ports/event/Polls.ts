/** Stores polls and the items that they have seen. One node polls at a time, by a lease. */
import { Context, type Effect } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { ConnectionId, OrganisationId } from "../../../domain/Ids.js"
import type { StoredJob } from "../FailedJobs.js"
import type { FindWork, LeasedWork } from "../LeasedWork.js"

/** A poll that this node leased. Its partner is the connection. */
export interface DuePoll extends StoredJob {
  readonly organisationId: OrganisationId
  readonly connectionId: ConnectionId
  readonly connector: string
  /** The id of the connector's event. */
  readonly event: string
  /** How many polls were committed; 0: the next one is the baseline. */
  readonly seq: number
  readonly failures: number
}

export class Polls extends Context.Tag("svc/Polls")<
  Polls,
  Pick<LeasedWork<DuePoll>, "lease" | "renew"> & {
    readonly find: FindWork
    /** Creates the polls of new triggers and connections, and deletes those of deleted triggers. */
    readonly reconcile: Effect.Effect<void, Unavailable>
    /** The hashes of all seen items, by key. */
    readonly seen: (poll: DuePoll) => Effect.Effect<ReadonlyMap<string, string>, Unavailable>
    /** Stores what the poll saw, unless another node has committed it; the events of its changes were committed before. */
    readonly commit: (
      poll: DuePoll,
      change: {
        readonly stored: ReadonlyArray<{ readonly key: string; readonly hash: string }>
        readonly removed: ReadonlyArray<string>
        readonly pauseSeconds: number
      }
    ) => Effect.Effect<void, Unavailable>
    /** Notes that a poll failed. */
    readonly fail: (poll: DuePoll, error: string, pauseSeconds: number) => Effect.Effect<void, Unavailable>
    /** Puts a poll off that could not be made, without counting a failure. */
    readonly postpone: (poll: DuePoll, pauseSeconds: number) => Effect.Effect<void, Unavailable>
  }
>() {}
