/** Which connection a call uses. The answer may be a second old; whether it may be used the connection's actor says. */
import type { Effect, Option } from "effect"
import { Context } from "effect"
import type { Connection } from "../../domain/connection/Connection.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { ConnectionId, CustomerId, OrganisationId } from "../../domain/Ids.js"

export interface ConnectionWanted {
  readonly organisationId: OrganisationId
  readonly customerId: CustomerId | null
  readonly userId: string | null
  readonly slug: string
  /** A label, or a connection's id; `null`: the default one. */
  readonly named: string | null
}

export type KnownConnection = Pick<
  Connection,
  "id" | "customerId" | "userId" | "label" | "status" | "connector" | "connectorVersion" | "config" | "isDefault"
>

export class ConnectionReads extends Context.Tag("svc/ConnectionReads")<
  ConnectionReads,
  {
    /**
     * The connection of this customer: the one that is named; else the user's default before the customer's, an active
     * one before others. Another customer's is never found, and one that is disconnected is none.
     */
    readonly find: (wanted: ConnectionWanted) => Effect.Effect<Option.Option<KnownConnection>, Unavailable>
    /** By its id, whoever's it is in the organisation. */
    readonly byId: (
      organisation: OrganisationId,
      id: ConnectionId
    ) => Effect.Effect<Option.Option<KnownConnection>, Unavailable>
  }
>() {}
