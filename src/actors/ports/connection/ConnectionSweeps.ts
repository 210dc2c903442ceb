/** Finds connections that need maintenance. All times are Postgres' own. */
import { type Effect, Context } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { ConnectionId } from "../../../domain/Ids.js"
import type { FindWork } from "../LeasedWork.js"

export class ConnectionSweeps extends Context.Tag("svc/ConnectionSweeps")<
  ConnectionSweeps,
  {
    // Each finds connections of this node's shards, of those who would get a place. The partner of a connection is itself.
    /** Active connections whose credential is due or has ended, the longest due first. */
    readonly findToRenew: FindWork
    /** Pending connections whose last connect session has ended. */
    readonly findToAbandon: FindWork
    /** Connections of deleted customers. */
    readonly findToDisconnect: FindWork
    /** Expires sessions and deletes records past their retention. */
    readonly tidy: Effect.Effect<void, Unavailable>
    /** Records when connections were last used, in RFC 3339. */
    readonly recordUses: (uses: ReadonlyMap<ConnectionId, string>) => Effect.Effect<void, Unavailable>
  }
>() {}
