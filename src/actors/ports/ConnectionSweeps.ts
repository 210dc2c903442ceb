/** What time does to connections: which of them somebody must look at. Every time is Postgres' own. */
import type { Effect } from "effect"
import { Context } from "effect"
import type { Unavailable } from "../../domain/Failure.js"
import type { ConnectionId, OrganisationId } from "../../domain/Ids.js"

export interface Due {
  readonly id: ConnectionId
  readonly organisationId: OrganisationId
}

export class ConnectionSweeps extends Context.Tag("svc/ConnectionSweeps")<
  ConnectionSweeps,
  {
    /** Active ones to renew, or that have ended; longest due first. */
    readonly toRenew: (limit: number) => Effect.Effect<ReadonlyArray<Due>, Unavailable>
    /** Pending ones whose last connect session has ended. */
    readonly toAbandon: (limit: number) => Effect.Effect<ReadonlyArray<Due>, Unavailable>
    /** Those of customers that were deleted. */
    readonly toDisconnect: (limit: number) => Effect.Effect<ReadonlyArray<Due>, Unavailable>
    /** Ends sessions whose time is over, and removes what is kept no longer. */
    readonly tidy: Effect.Effect<void, Unavailable>
    /** Notes that connections were used, RFC 3339. */
    readonly used: (uses: ReadonlyMap<ConnectionId, string>) => Effect.Effect<void, Unavailable>
  }
>() {}
