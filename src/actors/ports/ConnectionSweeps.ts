/** Finds connections that need maintenance. All times are Postgres' own. */
import type { Effect } from "effect"
import { Context } from "effect"
import type { Unavailable } from "../../domain/Failure.js"
import type { ConnectionId, OrganisationId } from "../../domain/Ids.js"

export interface DueConnection {
  readonly id: ConnectionId
  readonly organisationId: OrganisationId
}

export class ConnectionSweeps extends Context.Tag("svc/ConnectionSweeps")<
  ConnectionSweeps,
  {
    /** Active connections whose credential is due or has ended, the longest due first. */
    readonly findToRenew: (limit: number) => Effect.Effect<ReadonlyArray<DueConnection>, Unavailable>
    /** Pending connections whose last connect session has ended. */
    readonly findToAbandon: (limit: number) => Effect.Effect<ReadonlyArray<DueConnection>, Unavailable>
    /** Connections of deleted customers. */
    readonly findToDisconnect: (limit: number) => Effect.Effect<ReadonlyArray<DueConnection>, Unavailable>
    /** Expires sessions and deletes records past their retention. */
    readonly tidy: Effect.Effect<void, Unavailable>
    /** Records when connections were last used, in RFC 3339. */
    readonly recordUses: (uses: ReadonlyMap<ConnectionId, string>) => Effect.Effect<void, Unavailable>
  }
>() {}
