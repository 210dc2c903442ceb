/** Customers' connections: what calls, pages and the API ask of their actors. Contract: connection record and states. */
import type { Effect, Redacted } from "effect"
import { Context, Data } from "effect"
import type { AuditActor } from "../../domain/Audit.js"
import type { ConnectionStatus } from "../../domain/connection/Connection.js"
import type { ProviderQuota } from "../../domain/connection/RateLimiter.js"
import type { Conflict, InvalidState, NotFound, Unavailable, ValidationFailed } from "../../domain/Failure.js"
import type { ConnectionId, ConnectSessionId, CustomerId, ExecutionId, OrganisationId } from "../../domain/Ids.js"
import type { JsonObject } from "../../domain/Json.js"

/** The connection cannot be used until somebody acts: reconnects it, or enables it. */
export class ConnectionNotActive extends Data.TaggedError("ConnectionNotActive")<{
  readonly connectionId: ConnectionId
  readonly status: ConnectionStatus
  readonly message: string
}> {}

export interface Addressed {
  readonly organisationId: OrganisationId
  readonly connectionId: ConnectionId
}

export type Authorization =
  /** `grant`: the credential for one request, sealed; only the egress opens it. `permit` goes back with `settle`. */
  | { readonly _tag: "Granted"; readonly grant: Uint8Array; readonly permit: string }
  /** Unix milliseconds. `rate_limit`: the provider takes no more now. `connection`: no token can be had now. */
  | { readonly _tag: "WaitUntil"; readonly at: number; readonly why: "rate_limit" | "connection" }

export interface AuthorizeRequest extends Addressed {
  /** Scheme, host and port that the request goes to: one of the connector's. */
  readonly origin: string
  readonly executionId: ExecutionId | null
  /** How long the call may take; its permit ends then. Default 60 s. */
  readonly timeoutMillis?: number
}

/** How a call ended. `status`: `null` when nobody answered. */
export interface Settlement extends Addressed {
  readonly permit: string
  readonly status: number | null
  /** The definition says of the refusal that no other credential would do better. */
  readonly final?: boolean
  readonly reading: ProviderQuota | null
}

/** On whose order: what the audit trail says. */
export interface By {
  readonly actor: AuditActor
  readonly requestId: string | null
}

export type CredentialSecrets = { readonly [name: string]: Redacted.Redacted }

export interface Connect {
  readonly organisationId: OrganisationId
  readonly connector: string
  readonly customerId: CustomerId
  readonly userId: string | null
  /** Absent: the connector's default method. */
  readonly authMethod: string | null
  readonly authProvider: string | null
  readonly label: string | null
  readonly config: JsonObject
  readonly tags: { readonly [name: string]: string }
  readonly metadata: JsonObject
  /** Absent: a person gives it in a connect session. */
  readonly credential: CredentialSecrets | null
  readonly redirectUrl: string | null
  readonly by: By
}

/** Where a person connects. Whoever has the token may. */
export interface OpenedSession {
  readonly id: ConnectSessionId
  readonly token: Redacted.Redacted
  /** RFC 3339. */
  readonly expiresAt: string
}

/** Somebody's order about one connection. */
export interface ConnectionRequest extends Addressed {
  readonly by: By
}

export type ConnectionRequestFailure = NotFound | InvalidState | ValidationFailed | Conflict | Unavailable

export interface Tested {
  readonly ok: boolean
  readonly message: string | null
  readonly accountLabel: string | null
}

/** What a connect session came to, for the page that the person sees. */
export type SessionOutcome =
  | { readonly _tag: "Connected"; readonly connectionId: ConnectionId }
  /** The provider wants the person there. */
  | { readonly _tag: "Redirect"; readonly url: string }

export class Connections extends Context.Tag("svc/Connections")<
  Connections,
  {
    /** Never waits for a permit; waits for a token only where there is none that would do. */
    readonly authorize: (
      request: AuthorizeRequest
    ) => Effect.Effect<Authorization, ConnectionNotActive | NotFound | Unavailable>
    /** Gives the permit back; counts refusals; learns the provider's limits. Never fails. */
    readonly settle: (settlement: Settlement) => Effect.Effect<void>
    /**
     * The provider refused the credential of a permit: renews it where it can be and no other request has renewed it.
     * True where a call with a newer credential can be made.
     */
    readonly renewRefused: (
      refused: Addressed & { readonly permit: string }
    ) => Effect.Effect<boolean, ConnectionNotActive | NotFound | Unavailable>
    /** Headers that sign a request by the connection's own scheme. `challenge`: `WWW-Authenticate` of a 401. */
    readonly sign: (
      request: Addressed & {
        readonly method: string
        readonly url: string
        readonly body: string | Uint8Array | null
        readonly challenge: string | null
      }
    ) => Effect.Effect<ReadonlyArray<readonly [string, string]>, ConnectionNotActive | NotFound | Unavailable>

    /** A new connection: active where its credential is given and passes its test, else pending with its session. */
    readonly connect: (
      request: Connect
    ) => Effect.Effect<{ readonly id: ConnectionId; readonly session: OpenedSession | null }, ConnectionRequestFailure>
    /**
     * Replaces the credential; the one before stays until the new one has passed its test. `authMethod`: what it is of;
     * `null`: the method that the connection has.
     */
    readonly storeCredential: (
      order: ConnectionRequest & {
        readonly authMethod: string | null
        readonly credential: CredentialSecrets
        readonly config: JsonObject | null
        readonly skipTest: boolean
      }
    ) => Effect.Effect<void, ConnectionRequestFailure>
    readonly reconnect: (
      order: ConnectionRequest & {
        readonly redirectUrl: string | null
        readonly authMethod: string | null
        readonly config: JsonObject | null
      }
    ) => Effect.Effect<OpenedSession, ConnectionRequestFailure>
    readonly test: (order: ConnectionRequest) => Effect.Effect<Tested, ConnectionRequestFailure>
    readonly refresh: (order: ConnectionRequest) => Effect.Effect<void, ConnectionRequestFailure>
    readonly enable: (order: ConnectionRequest) => Effect.Effect<void, ConnectionRequestFailure>
    readonly disable: (order: ConnectionRequest) => Effect.Effect<void, ConnectionRequestFailure>
    readonly edit: (
      order: ConnectionRequest & {
        readonly label: string | null
        readonly tags: { readonly [name: string]: string } | null
        readonly isDefault: boolean
        /** Fails with `Conflict` when the connection is at another. */
        readonly version: number | null
      }
    ) => Effect.Effect<void, ConnectionRequestFailure>
    /** The credential in the clear: for those who may. */
    readonly reveal: (order: ConnectionRequest) => Effect.Effect<CredentialSecrets, ConnectionRequestFailure>
    readonly disconnect: (
      order: ConnectionRequest & { readonly version: number | null }
    ) => Effect.Effect<void, ConnectionRequestFailure>

    /** What a person entered in a connect session: completes it, or sends the person on to the provider. */
    readonly submit: (
      request: Addressed & {
        readonly sessionId: ConnectSessionId
        readonly fields: CredentialSecrets
        readonly config: JsonObject
      }
    ) => Effect.Effect<SessionOutcome, ConnectionRequestFailure>
    /** The person is back from the provider. `params`: the callback's query. */
    readonly complete: (
      request: Addressed & {
        readonly sessionId: ConnectSessionId
        readonly params: { readonly [name: string]: string }
      }
    ) => Effect.Effect<SessionOutcome, ConnectionRequestFailure>
  }
>() {}
