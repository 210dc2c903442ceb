/**
 * Stores connections, their sealed credentials, refresh intents and connect sessions. Only the connection's actor writes.
 * Every write names the revision on which it was decided.
 */
import { type Effect, type Option, Context, Data } from "effect"
import type { AuditEntry } from "../../../domain/audit/Audit.js"
import type { AuthorizationRequest } from "../../../domain/connection/Callback.js"
import type { Connection } from "../../../domain/connection/Connection.js"
import type { RefreshIntent } from "../../../domain/connection/Refresh.js"
import type { Unavailable } from "../../../domain/Failure.js"
import type { ConnectionId, ConnectSessionId, CredentialId, EventId, OrganisationId } from "../../../domain/Ids.js"
import type { JsonObject } from "../../../domain/Json.js"
import type { AuthorizingSession, ConnectSession } from "../../../domain/connection/ConnectSession.js"

/** Another owner wrote since the revision that was read; nothing was written. */
export class Stale extends Data.TaggedError("Stale")<{}> {}

/** `number`: how often the credential was replaced; part of the associated data of its seal. */
export interface SealedCredential {
  readonly id: CredentialId
  readonly number: number
  readonly sealed: Uint8Array
}

/** A credential with the facts that the API shows. `rotated`: a user replaced it; a refresh did not. */
export interface CredentialRow extends SealedCredential {
  readonly members: ReadonlyArray<string>
  readonly fingerprint: string
  readonly expiresAt: string | null
  readonly rotated: boolean
}

/** All that the owner of a connection loads. A write with an older `revision` is refused. */
export interface OwnedConnection {
  readonly connection: Connection
  readonly revision: number
  readonly credential: SealedCredential | null
  readonly intent: RefreshIntent | null
}

/** An event for subscribers, without secrets. */
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

/** Events and audit entries that commit with a change. */
interface ChangeRecords {
  readonly events: ReadonlyArray<DomainEvent>
  readonly audit: ReadonlyArray<AuditEntry>
}

export interface NewConnection extends ChangeRecords {
  /** The store sets `isDefault`: the first connection of its kind becomes the default. */
  readonly connection: Connection
  readonly credential: CredentialRow | null
  readonly session: ConnectSession | null
  readonly nextLookAt: number | null
}

/** A change; all its writes commit together. `connection`: the state after it. */
export interface ConnectionChange extends ChangeRecords {
  readonly connection: Connection
  readonly revision: number
  readonly credential: CredentialRow | "keep" | "wipe"
  readonly nextLookAt: number | null
  /** Removes the refresh intent: the change is the end of the refresh, or replaces or wipes the credential. */
  readonly endsRefresh: boolean
  /** Makes the connection the default instead of another. */
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
    /** Returns the connection as stored; an existing connection with this id stays unchanged. */
    readonly insert: (made: NewConnection) => Effect.Effect<Connection, Unavailable>
    /** Returns the new revision. */
    readonly save: (change: ConnectionChange) => Effect.Effect<number, Stale | Unavailable>
    /** Commits a refresh intent, before the request is sent, or gives it back. Returns the new revision. */
    readonly intend: (
      held: { readonly connection: Connection; readonly revision: number },
      intent: RefreshIntent
    ) => Effect.Effect<number, Stale | Unavailable>
    /** Removes a pending connection that was not completed. */
    readonly abandon: (
      held: { readonly connection: Connection; readonly revision: number },
      changes: ChangeRecords
    ) => Effect.Effect<void, Stale | Unavailable>

    readonly openSession: (
      session: ConnectSession,
      audit: ReadonlyArray<AuditEntry>
    ) => Effect.Effect<void, Unavailable>
    /** Stores the authorization request; from then on the session is found by its state, too. */
    readonly authorizeSession: (
      id: ConnectSessionId,
      change: {
        readonly stateHash: string
        readonly verifier: Uint8Array | null
        readonly config: JsonObject
        readonly asked: AuthorizationRequest
      }
    ) => Effect.Effect<void, Unavailable>
    /** Removes the session's state, so that a callback works once; `false` when it was removed before. */
    readonly redeemSession: (id: ConnectSessionId) => Effect.Effect<boolean, Unavailable>
    readonly failSession: (id: ConnectSessionId, error: string) => Effect.Effect<void, Unavailable>
    readonly session: (
      by: { readonly tokenHash: string } | { readonly stateHash: string } | { readonly id: ConnectSessionId }
    ) => Effect.Effect<Option.Option<AuthorizingSession>, Unavailable>
  }
>() {}
