/**
 * The state of a connection in its owner's memory, a cache of the store, and what all parts of the actor use of it:
 * the lock of changes, refusals, the rules of renewal.
 */
import { type Deferred, Effect } from "effect"
import { NotFound, Unavailable, ValidationFailed } from "../../domain/Failure.js"
import { serviceActor } from "../../domain/access/Caller.js"
import type { Credential } from "../../domain/connection/Credential.js"
import type { CallLimits } from "../../domain/connection/CallLimits.js"
import type { AuthMethod } from "../../domain/connector/AuthMethod.js"
import type { ConnectorDefinition } from "../../domain/connector/Definition.js"
import type { ConnectionId, CredentialId } from "../../domain/Ids.js"
import type { Initiator } from "../ports/connection/Connections.js"
import type { ConnectionChange, OwnedConnection } from "../ports/connection/ConnectionStore.js"
import type { OrganisationVault } from "../ports/Vault.js"
import type { CallPermits } from "./CallPermits.js"
import type { CommandRefusal } from "./Protocol.js"

/** A connection with its credential in the clear (`plain`). */
export interface OpenConnection extends Omit<OwnedConnection, "credential"> {
  readonly credential: { readonly id: CredentialId; readonly number: number } | null
  readonly plain: Credential | null
}

/** The connector's parts that calls need. Cached until `until`, in Unix milliseconds. */
export interface CachedConnector {
  readonly until: number
  readonly definition: ConnectorDefinition
  readonly method: AuthMethod
  readonly origins: ReadonlyArray<string>
  /** Limits that the provider counts for this connection alone. */
  readonly limits: CallLimits
  /** Permits of limits that the provider counts over all connections of the connector. */
  readonly shared: CallPermits | null
  readonly vault: OrganisationVault
}

/** One connection's state on the node that owns its shard. */
export interface ConnectionOwner {
  readonly id: ConnectionId
  /** The cluster's shard that the connection is in. */
  readonly shard: number
  /** Held while a change is decided and committed, never during a request to a provider. Created on first use. */
  writeLock: Effect.Semaphore | undefined
  open: OpenConnection | undefined
  connector: CachedConnector | undefined
  /** Permits of the limits that count for this connection alone; `undefined`: there are none, or not yet. */
  permits: CallPermits | undefined
  /** The provider refuses calls before this time, in Unix milliseconds; of a connection without permits. */
  blockedUntil: number
  /** Completes with the refresh in progress, if there is one; all callers that need a new token wait for it. */
  pendingRefresh: Deferred.Deferred<void> | undefined
  /** Whether a call used the credential since the last refresh. */
  usedSinceRefresh: boolean
  /** Number of the last credential that the token endpoint issued to this owner. */
  issuedNumber: number | undefined
  /** How often in a row the provider refused the credential. */
  refusalsInARow: number
}

/** The owner of a connection that is not yet loaded. */
export const newOwner = (id: ConnectionId, shard: number): ConnectionOwner => ({
  id,
  shard,
  writeLock: undefined,
  open: undefined,
  connector: undefined,
  permits: undefined,
  blockedUntil: 0,
  pendingRefresh: undefined,
  usedSinceRefresh: false,
  issuedNumber: undefined,
  refusalsInARow: 0
})

/** Serialises changes of one connection. */
export const withWriteLock = <A, E, R>(self: ConnectionOwner, change: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => (self.writeLock ??= Effect.unsafeMakeSemaphore(1)).withPermits(1)(change))

/** The refusal of a command that may be sent again after so many seconds. */
export const busy = (reason: string, retryAfterSeconds = 1): Unavailable =>
  new Unavailable({ reason, retryAfterSeconds })
/** Maps a store that does not answer to `busy`. */
export const orBusy = <A>(effect: Effect.Effect<A, { readonly reason: string }>): Effect.Effect<A, Unavailable> =>
  Effect.mapError(effect, ({ reason }) => busy(reason))
/** The refusal of a command to a connection that does not exist, or belongs to another organisation. */
export const notFound = (): NotFound => new NotFound({ what: "connection" })
/** The refusal of a credential that the provider rejects, or that cannot be tested since the provider cannot be reached. */
export const credentialRefused = (message: string): ValidationFailed =>
  new ValidationFailed({
    code: "CREDENTIAL_TEST_FAILED",
    message,
    details: [{ path: "credential", code: "CREDENTIAL_TEST_FAILED", message }]
  })

/** The initiator of changes that the service makes by itself. */
export const system: Initiator = {
  actor: serviceActor,
  requestId: null
}

/** What is committed together with a change of a connection. */
export interface ChangeOptions {
  /** Replaces the credential. */
  readonly credential?: { readonly value: Credential; readonly rotated: boolean }
  readonly audit?: { readonly action: string; readonly by: Initiator }
  readonly session?: ConnectionChange["session"]
  readonly makesDefault?: boolean
  /** Called with the state on which the change is decided; a refusal stops the change. */
  readonly precondition?: (open: OpenConnection) => CommandRefusal | undefined
}

/** Whether the credential can be renewed without a person. */
export const isRenewable = (method: AuthMethod, credential: Credential | null): boolean =>
  method.type === "oauth2" &&
  credential?._tag === "Tokens" &&
  (credential.refreshToken !== null || method.grant === "client_credentials")

/** How long before its end a token is renewed, in seconds. */
export const marginOf = (method: AuthMethod) => (method.type === "oauth2" ? method.refresh.marginSeconds : 0)
