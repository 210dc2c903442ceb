/** Finds the connection that a call uses. The result may be one second old; the connection's actor checks its status. */
import { type Effect, type Option, Context } from "effect"
import type { Connection } from "../../../domain/connection/Connection.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { ConnectionId, CustomerId, OrganisationId } from "../../../domain/Ids.js"

/** The connection that a call names, for the customer and the user of its run. */
export interface ConnectionQuery {
  readonly organisationId: OrganisationId
  readonly customerId: CustomerId | null
  readonly userId: string | null
  readonly slug: string
  /** A label, or a connection's id; `null`: the default one. */
  readonly named: string | null
}

/** The members of a connection that a call needs. It carries no credential. */
export type CallableConnection = Pick<
  Connection,
  "id" | "customerId" | "userId" | "label" | "status" | "connector" | "connectorVersion" | "config" | "isDefault"
>

/** A connection whose values may name the account of a delivery. */
export type AccountConnection = Pick<Connection, "id" | "customerId" | "config" | "accountLabel">

export class ConnectionReads extends Context.Tag("svc/ConnectionReads")<
  ConnectionReads,
  {
    /**
     * The customer's connection with this label or id; if none is named, the user's default before the customer's, an
     * active one before others. Never a disconnected one, nor another customer's.
     */
    readonly find: (wanted: ConnectionQuery) => Effect.Effect<Option.Option<CallableConnection>, Unavailable>
    /**
     * The customer's active connections that the user may use, up to 200; the user's own first. `isFresh`: never older than
     * the call.
     */
    readonly activeOf: (
      organisation: OrganisationId,
      customer: CustomerId,
      userId: string | null,
      isFresh: boolean
    ) => Effect.Effect<ReadonlyArray<CallableConnection>, Unavailable>
    /** By its id, of any customer in the organisation. */
    readonly byId: (
      organisation: OrganisationId,
      id: ConnectionId
    ) => Effect.Effect<Option.Option<CallableConnection>, Unavailable>
    /**
     * The organisation's connections to the connector with this text or number in their config or as their account's
     * label. Only those whose credential the provider has accepted once, and never older than the call.
     */
    readonly withAccount: (
      organisation: OrganisationId,
      slug: string,
      account: string
    ) => Effect.Effect<ReadonlyArray<AccountConnection>, Unavailable>
  }
>() {}
