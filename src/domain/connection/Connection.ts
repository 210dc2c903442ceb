/** Records of customers' connections to connectors, which never have the credential. Contract: connection record. */
import type { ConnectionId, CredentialId, CustomerId, OrganisationId } from "../Ids.js"
import type { JsonObject } from "../Json.js"

/** Only an `active` connection is used for calls. `expired`, `failed`: the customer must connect again. */
export const connectionStatuses = ["pending", "active", "inactive", "expired", "failed", "disconnected"] as const
export type ConnectionStatus = (typeof connectionStatuses)[number]

/** The statuses of connections that are not disconnected. */
export const liveStatuses = connectionStatuses.filter((status) => status !== "disconnected")

/** The outcome of the last checks. `lastError`: the provider's last error, or the reason for the status. */
export interface ConnectionHealth {
  readonly state: "ok" | "degraded"
  readonly lastCheckedAt: string | null
  readonly lastError: string | null
  readonly consecutiveFailures: number
}

/** The stored connection. Times are RFC 3339. */
export interface Connection {
  readonly id: ConnectionId
  readonly organisationId: OrganisationId
  readonly connector: string
  readonly connectorVersion: string
  readonly customerId: CustomerId
  readonly userId: string | null
  readonly label: string
  readonly accountLabel: string | null
  readonly authMethod: string
  readonly authProvider: string | null
  readonly status: ConnectionStatus
  readonly health: ConnectionHealth
  readonly config: JsonObject
  readonly scopes: ReadonlyArray<string>
  readonly isDefault: boolean
  /** When the access token expires; `null`: never. */
  readonly expiresAt: string | null
  readonly lastRefreshAt: string | null
  /** Since when refreshes fail; `null` while they succeed. */
  readonly refreshFailedAt: string | null
  readonly lastUsedAt: string | null
  readonly metadata: JsonObject
  readonly tags: { readonly [name: string]: string }
  readonly credentialFingerprint: string | null
  readonly createdBy: string
  readonly createdAt: string
  readonly updatedAt: string
  /** Incremented by changes of a client and of the status, not by refreshes. */
  readonly version: number
}

/** The record of a stored credential, without its values. */
export interface CredentialRecord {
  readonly id: CredentialId
  readonly organisationId: OrganisationId
  readonly connectionId: ConnectionId
  /** The names of its members. */
  readonly members: ReadonlyArray<string>
  readonly fingerprint: string
  readonly expiresAt: string | null
  readonly createdAt: string
  readonly rotatedAt: string | null
}

/** The facts of a credential that the connection's record takes over. */
export interface CredentialFacts {
  readonly authMethod: string
  readonly authProvider: string | null
  readonly connectorVersion: string
  readonly accountLabel: string | null
  readonly config: JsonObject
  readonly scopes: ReadonlyArray<string>
  readonly expiresAt: string | null
  readonly fingerprint: string
}

/** The connection as the API shows it. */
export const connectionView = ({ health, organisationId: _organisation, ...connection }: Connection) => ({
  ...connection,
  health: { ...health }
})
