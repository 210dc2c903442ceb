/**
 * Where connections, their sealed credentials, refresh intents and connect sessions are kept. The connection's actor
 * alone writes here. Every write names the revision that it was decided on: `Stale` means that somebody else wrote
 * since, and nothing was written.
 */
import type { Effect, Option } from "effect"
import { Context, Data } from "effect"
import type { AuditEntry } from "../../domain/Audit.js"
import type { AuthorizationRequest } from "../../domain/connection/Callback.js"
import type { Connection } from "../../domain/connection/Connection.js"
import type { RefreshIntent } from "../../domain/connection/Refresh.js"
import type { Unavailable } from "../../domain/Failure.js"
import type { ConnectionId, ConnectSessionId, CredentialId, EventId, OrganisationId } from "../../domain/Ids.js"
import type { JsonObject } from "../../domain/Json.js"

export class Stale extends Data.TaggedError("Stale")<{}> {}

/** `number`: how often the credential was replaced; part of the place where it is sealed. */
export interface SealedCredential {
  readonly id: CredentialId
  readonly number: number
  readonly sealed: Uint8Array
}

/** With what may be shown of it. `rotated`: it replaces one on somebody's order, not by a refresh. */
export interface CredentialRow extends SealedCredential {
  readonly members: ReadonlyArray<string>
  readonly fingerprint: string
  readonly expiresAt: string | null
  readonly rotated: boolean
}

export interface OwnedConnection {
  readonly connection: Connection
  readonly revision: number
  readonly credential: SealedCredential | null
  readonly intent: RefreshIntent | null
}

/** Where a person gives or renews the credential. Its token is known to whoever has its link; stored is a hash. */
export interface ConnectSession {
  readonly id: ConnectSessionId
  readonly organisationId: OrganisationId
  readonly connectionId: ConnectionId
  readonly tokenHash: string
  readonly authMethod: string
  readonly authProvider: string | null
  readonly config: JsonObject
  readonly redirectUrl: string | null
  /** The connection was there before; it stays as it is when this comes to nothing. */
  readonly reconnects: boolean
  readonly status: "open" | "completed" | "failed" | "expired"
  readonly error: string | null
  readonly createdBy: string
  /** RFC 3339. */
  readonly expiresAt: string
}

/** A session on its way to the provider and back. */
export interface AuthorizingSession extends ConnectSession {
  /** The PKCE verifier, sealed. */
  readonly verifier: Uint8Array | null
  /** What the provider was asked for; `null` before, and of sessions that are older than this record. */
  readonly asked: AuthorizationRequest | null
  /** Its connection is older than the connector's own callback. */
  readonly commonCallback: boolean
}

/** Something that the world is told; without secrets. */
export interface DomainEvent {
  readonly id: EventId
  readonly organisationId: OrganisationId
  readonly type: string
  readonly subject: string
  readonly customerId: string | null
  readonly payload: JsonObject
  /** RFC 3339. */
  readonly at: string
}

interface Told {
  readonly events: ReadonlyArray<DomainEvent>
  readonly audit: ReadonlyArray<AuditEntry>
}

export interface NewConnection extends Told {
  /** Its `isDefault` is settled here: the first of its kind becomes the default. */
  readonly connection: Connection
  readonly credential: CredentialRow | null
  readonly session: ConnectSession | null
  readonly nextLookAt: number | null
}

/** `connection` as it is to be; the writes of a change commit together. */
export interface ConnectionChange extends Told {
  readonly connection: Connection
  readonly revision: number
  readonly credential: CredentialRow | "keep" | "wipe"
  readonly nextLookAt: number | null
  /** Becomes the default in the place of another. */
  readonly makesDefault?: boolean
  readonly session?: {
    readonly id: ConnectSessionId
    readonly status: "completed" | "failed"
    readonly error: string | null
  }
}

export class ConnectionStore extends Context.Tag("svc/ConnectionStore")<
  ConnectionStore,
  {
    readonly load: (id: ConnectionId) => Effect.Effect<Option.Option<OwnedConnection>, Unavailable>
    /** Answers the connection as it was written; a connection of that id that is there already stays. */
    readonly insert: (made: NewConnection) => Effect.Effect<Connection, Unavailable>
    /** Also ends the refresh intent: whatever it was about is settled. Answers the new revision. */
    readonly save: (change: ConnectionChange) => Effect.Effect<number, Stale | Unavailable>
    /** Writes the intent ahead of the request. Answers the new revision. */
    readonly intend: (
      held: { readonly connection: Connection; readonly revision: number },
      intent: RefreshIntent
    ) => Effect.Effect<number, Stale | Unavailable>
    /** Removes a pending connection that nobody completed. */
    readonly abandon: (
      held: { readonly connection: Connection; readonly revision: number },
      told: Told
    ) => Effect.Effect<void, Stale | Unavailable>

    readonly openSession: (
      session: ConnectSession,
      audit: ReadonlyArray<AuditEntry>
    ) => Effect.Effect<void, Unavailable>
    /** Sends the session to the provider: from now on it is known by its state. */
    readonly authorizeSession: (
      id: ConnectSessionId,
      change: {
        readonly stateHash: string
        readonly verifier: Uint8Array | null
        readonly config: JsonObject
        readonly asked: AuthorizationRequest
      }
    ) => Effect.Effect<void, Unavailable>
    /** Takes the session's state away: `false` when it was taken before. A person comes back once. */
    readonly redeemSession: (id: ConnectSessionId) => Effect.Effect<boolean, Unavailable>
    readonly failSession: (id: ConnectSessionId, error: string) => Effect.Effect<void, Unavailable>
    readonly session: (
      by: { readonly tokenHash: string } | { readonly stateHash: string } | { readonly id: ConnectSessionId }
    ) => Effect.Effect<Option.Option<AuthorizingSession>, Unavailable>
  }
>() {}
