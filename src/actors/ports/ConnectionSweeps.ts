/** Finds connections that need maintenance. All times are Postgres' own. */
import type { Effect } from "effect"
import { Context } from "effect"
import type { Unavailable } from "../../domain/Failure.js"
import type { ConnectionId } from "../../domain/Ids.js"
import type { DueWork } from "../PlacedWork.js"
import type { Room } from "../Places.js"

/** Its partner is the connection itself. */
export interface DueConnection extends DueWork {
  readonly id: ConnectionId
}

export class ConnectionSweeps extends Context.Tag("svc/ConnectionSweeps")<
  ConnectionSweeps,
  {
    // Each finds connections of those who would get a place.
    /** Active connections whose credential is due or has ended, the longest due first. */
    readonly findToRenew: (room: Room) => Effect.Effect<ReadonlyArray<DueConnection>, Unavailable>
    /** Pending connections whose last connect session has ended. */
    readonly findToAbandon: (room: Room) => Effect.Effect<ReadonlyArray<DueConnection>, Unavailable>
    /** Connections of deleted customers. */
    readonly findToDisconnect: (room: Room) => Effect.Effect<ReadonlyArray<DueConnection>, Unavailable>
    /** Expires sessions and deletes records past their retention. */
    readonly tidy: Effect.Effect<void, Unavailable>
    /** Records when connections were last used, in RFC 3339. */
    readonly recordUses: (uses: ReadonlyMap<ConnectionId, string>) => Effect.Effect<void, Unavailable>
  }
>() {}
