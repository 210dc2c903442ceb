/** Records of customers' connections to connectors, which never have the credential. Contract: connection record. */
import { Schema } from "effect"
import { NullableText } from "../Scalars.js"
import { ConnectionId, CredentialId, CustomerId, OrganisationId } from "../Ids.js"
import { derivedValue, generatedValue, optional, owner, recordOf } from "../Record.js"
import { AnsweredTime, NullableTime } from "../Time.js"
import { JsonObject } from "../Json.js"

/** Only an `active` connection is used for calls. `expired`, `failed`: the customer must connect again. */
export const connectionStatuses = ["pending", "active", "inactive", "expired", "failed", "disconnected"] as const
export type ConnectionStatus = (typeof connectionStatuses)[number]

/** The statuses of connections that are not disconnected. */
export const liveStatuses = connectionStatuses.filter((status) => status !== "disconnected")

/** The outcome of the last checks. `lastError`: the provider's last error, or the reason for the status. */
export const ConnectionHealth = Schema.Struct({
  state: Schema.Literal("ok", "degraded"),
  lastCheckedAt: NullableTime,
  lastError: NullableText,
  consecutiveFailures: Schema.Number
})
export type ConnectionHealth = typeof ConnectionHealth.Type

const text = (most: number) => Schema.String.pipe(Schema.maxLength(most))

/** What a connection is called in lists. */
export const ConnectionLabel = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))

/** What a client notes with a connection. */
export const ConnectionTags = Schema.Record({ key: text(64), value: text(200) }).pipe(
  Schema.filter((tags) => Object.keys(tags).length <= 50 || "must have at most 50 members")
)

/** A connection: its record, the body that changes it, and its view. Times are RFC 3339. */
export const Connection = recordOf("Connection", {
  id: generatedValue(ConnectionId),
  organisationId: owner(OrganisationId),
  connector: generatedValue(Schema.String),
  connectorVersion: generatedValue(Schema.String),
  customerId: generatedValue(CustomerId),
  userId: generatedValue(NullableText),
  scope: derivedValue(Schema.Literal("customer", "user")),
  label: optional(Schema.String, undefined, ConnectionLabel),
  accountLabel: generatedValue(NullableText),
  authMethod: generatedValue(Schema.String),
  authProvider: generatedValue(NullableText),
  status: generatedValue(Schema.Literal(...connectionStatuses)),
  health: generatedValue(ConnectionHealth),
  config: generatedValue(JsonObject),
  scopes: generatedValue(Schema.Array(Schema.String)),
  isDefault: optional(
    Schema.Boolean,
    undefined,
    Schema.Boolean.annotations({
      description: "true makes it the customer's default. It stays the default until another connection becomes it"
    })
  ),
  /** When the access token expires; `null`: never. */
  expiresAt: generatedValue(NullableTime),
  lastRefreshAt: generatedValue(NullableTime),
  /** Since when refreshes fail; `null` while they succeed. */
  refreshFailedAt: generatedValue(NullableTime),
  lastUsedAt: generatedValue(NullableTime),
  metadata: generatedValue(JsonObject),
  tags: optional(Schema.Record({ key: Schema.String, value: Schema.String }), {}, ConnectionTags),
  credentialFingerprint: generatedValue(NullableText),
  createdBy: generatedValue(Schema.String),
  createdAt: generatedValue(AnsweredTime),
  updatedAt: generatedValue(AnsweredTime),
  /** Incremented by changes of a client and of the status, not by refreshes. */
  version: generatedValue(Schema.Number)
})
/** The stored connection. */
export type Connection = typeof Connection.stored.Type
export type UpdateConnection = typeof Connection.Update.Type

/** The record of a stored credential, without its values. */
export const CredentialRecord = Schema.Struct({
  id: CredentialId,
  organisationId: OrganisationId,
  connectionId: ConnectionId,
  /** The names of its members. */
  members: Schema.Array(Schema.String),
  fingerprint: Schema.String,
  expiresAt: NullableTime,
  createdAt: AnsweredTime,
  rotatedAt: NullableTime
})
export type CredentialRecord = typeof CredentialRecord.Type

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

/** The members of a connection that the audit trail has. */
export const connectionView = ({ health, organisationId: _organisation, ...connection }: Connection) => ({
  ...connection,
  health: { ...health }
})
