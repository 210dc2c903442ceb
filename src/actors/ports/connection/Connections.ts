/** Customers' connections: what calls, pages and the API request from their actors. Contract: connection record and states. */
import { type Effect, type Redacted, Context, Schema } from "effect"
import { AuditActor } from "../../../domain/audit/Audit.js"
import { connectionStatuses } from "../../../domain/connection/Connection.js"
import type { ProviderQuota } from "../../../domain/connection/CallLimits.js"
import type { Conflict, InvalidState, NotFound, Unavailable, ValidationFailed } from "../../../domain/Failure.js"
import { ConnectionId, type ConnectSessionId, type CustomerId, type OrganisationId } from "../../../domain/Ids.js"
import type { JsonObject } from "../../../domain/Json.js"
import type { SignableRequest } from "../../../domain/connector/request/Signing.js"

/** The connection cannot be used until it is reconnected or enabled. */
export class ConnectionNotActive extends Schema.TaggedError<ConnectionNotActive>()("ConnectionNotActive", {
  connectionId: ConnectionId,
  status: Schema.Literal(...connectionStatuses),
  message: Schema.String
}) {}

/** Names a connection and the organisation that the request is for. */
export interface ConnectionAddress {
  readonly organisationId: OrganisationId
  readonly connectionId: ConnectionId
}

/** The right to one call within the provider's limits. */
export const CallPermit = Schema.Struct({
  /** The number of the credential that it was given for; 0: the connection has none that is stored. */
  credential: Schema.Number,
  /** The lease of the limit that it was taken from, which any owner can return; `null`: the provider has no limit. */
  lease: Schema.NullOr(Schema.String)
})
export type CallPermit = typeof CallPermit.Type

/** A call that asks for the credential. */
export interface GrantRequest {
  readonly organisationId: string
  /** Scheme, host and port that the request goes to: one of the connector's. */
  readonly origin: string
  /** The caller may read the credential: it is given for other origins than the connector's, too. Absent: it is not. */
  readonly anyOrigin?: boolean | undefined
  readonly executionId: string | null
  /** How long the call may take; its permit expires then. */
  readonly timeoutMillis: number
}

/** The answer to a request for a credential. */
export type GrantAnswer =
  /** `grant`: the credential for one request, sealed so that only the egress can open it. Return `permit` with `settle`. */
  | { readonly _tag: "Granted"; readonly grant: Uint8Array; readonly permit: CallPermit }
  /** `at`: Unix milliseconds. `rate_limit`: the provider's limit is reached. `connection`: no usable token. */
  | { readonly _tag: "WaitUntil"; readonly at: number; readonly why: "rate_limit" | "connection" }

/** How a call ended. `status`: `null` when there was no answer. */
export interface GrantSettlement {
  readonly permit: CallPermit
  readonly status: number | null
  /** By the connector's definition, no other credential would help against this refusal. */
  readonly final?: boolean | undefined
  readonly reading: ProviderQuota | null
}

/** Who initiated a change, for the audit trail. */
export const Initiator = Schema.Struct({ actor: AuditActor, requestId: Schema.NullOr(Schema.String) })
export type Initiator = typeof Initiator.Type

/** The fields of a credential as a person or a client entered them, by their names. */
export type CredentialSecrets = { readonly [name: string]: Redacted.Redacted }

/** A connection to be made, with its credential or a connect session for it. */
export interface ConnectRequest {
  readonly organisationId: OrganisationId
  readonly connector: string
  readonly customerId: CustomerId
  readonly userId: string | null
  /** `null`: the connector's default method. */
  readonly authMethod: string | null
  readonly authProvider: string | null
  readonly label: string | null
  readonly config: JsonObject
  readonly tags: { readonly [name: string]: string }
  readonly metadata: JsonObject
  /** `null`: a person enters it in a connect session. */
  readonly credential: CredentialSecrets | null
  readonly redirectUrl: string | null
  readonly by: Initiator
}

/** A connect session's link. Anyone who has the token can complete the session. */
export interface OpenedSession {
  readonly id: ConnectSessionId
  readonly token: Redacted.Redacted
  /** RFC 3339. */
  readonly expiresAt: string
}

/** A request to change or test one connection. */
export interface ConnectionRequest extends ConnectionAddress {
  readonly by: Initiator
}

/** Why a connection was not made or changed. */
export type ConnectionRequestFailure = NotFound | InvalidState | ValidationFailed | Conflict | Unavailable

/** The outcome of a test request with the connection. `message`: why it failed, without a secret. */
export interface ConnectionTestResult {
  readonly ok: boolean
  readonly message: string | null
  readonly accountLabel: string | null
}

/** The outcome of a step of a connect session, for the person's page. */
export type SessionOutcome =
  | { readonly _tag: "Connected"; readonly connectionId: ConnectionId }
  /** The person must sign in at the provider. */
  | { readonly _tag: "Redirect"; readonly url: string }

/** A command to a connection. */
type Command<More = unknown, A = void> = (order: ConnectionRequest & More) => Effect.Effect<A, ConnectionRequestFailure>
/** A step of a connect session. */
type Step<More> = (
  request: ConnectionAddress & { readonly sessionId: ConnectSessionId } & More
) => Effect.Effect<SessionOutcome, ConnectionRequestFailure>
/** What a call through the connection needs. */
type CallStep<Request, A> = (
  request: ConnectionAddress & Request
) => Effect.Effect<A, ConnectionNotActive | NotFound | Unavailable>

export class Connections extends Context.Tag("svc/Connections")<
  Connections,
  {
    /** Never waits for a permit; waits for a refresh only if no usable token is stored. */
    readonly authorize: CallStep<GrantRequest, GrantAnswer>
    /** Returns the permit, counts refusals, applies the provider's quota. Never fails. */
    readonly settle: (settlement: ConnectionAddress & GrantSettlement) => Effect.Effect<void>
    /**
     * Renews the credential that the provider refused under a permit, unless another request has renewed it since.
     * Returns whether a newer credential is stored.
     */
    readonly renewRefused: CallStep<Pick<GrantSettlement, "permit">, boolean>
    /** Headers that sign a request by the connection's own scheme. `challenge`: `WWW-Authenticate` of a 401. */
    readonly sign: CallStep<SignableRequest, ReadonlyArray<readonly [string, string]>>

    /** Creates a connection: active if its credential passes the test, else pending with a connect session. */
    readonly connect: (
      request: ConnectRequest
    ) => Effect.Effect<{ readonly id: ConnectionId; readonly session: OpenedSession | null }, ConnectionRequestFailure>
    /**
     * Replaces the credential once the new one has passed its test. `authMethod`: the new credential's method; `null`: the
     * method that the connection has.
     */
    readonly storeCredential: Command<{
      readonly authMethod: string | null
      readonly credential: CredentialSecrets
      readonly config: JsonObject | null
      readonly skipTest: boolean
    }>
    readonly reconnect: Command<
      { readonly redirectUrl: string | null; readonly authMethod: string | null; readonly config: JsonObject | null },
      OpenedSession
    >
    readonly test: Command<unknown, ConnectionTestResult>
    readonly refresh: Command
    /** Like `refresh`, if the credential is due; a refresh that fails is recorded, and no failure. */
    readonly refreshDue: Command
    readonly enable: Command
    readonly disable: Command
    readonly edit: Command<{
      readonly label: string | null
      readonly tags: { readonly [name: string]: string } | null
      readonly isDefault: boolean
      /** Fails with `Conflict` unless the connection has this version. */
      readonly version: number | null
    }>
    /** The credential in the clear. The caller must check the permission. */
    readonly reveal: Command<unknown, CredentialSecrets>
    /** `revokes`: whether the token is revoked at the provider. */
    readonly disconnect: Command<{ readonly version: number | null; readonly revokes?: boolean }>

    /** Takes the fields that a person entered in a connect session: completes it, or redirects to the provider. */
    readonly submit: Step<{ readonly fields: CredentialSecrets; readonly config: JsonObject }>
    /** Completes a session after the provider's redirect. `params`: the callback's query. */
    readonly complete: Step<{ readonly params: { readonly [name: string]: string } }>
  }
>() {}
