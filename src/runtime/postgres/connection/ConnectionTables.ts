/** Table descriptions of connections and their credentials, as requests read them, and of installations. */
import type { Connection, CredentialRecord } from "../../../domain/connection/Connection.js"
import { Installation } from "../../../domain/organisation/Installation.js"
import { type Table, tableOf } from "../record/Table.js"

export const connections: Table<Connection> = {
  name: "connections",
  members: [
    "id",
    "organisationId",
    "connector",
    "connectorVersion",
    "customerId",
    "userId",
    "label",
    "accountLabel",
    "authMethod",
    "authProvider",
    "status",
    "health",
    "config",
    "scopes",
    "isDefault",
    "expiresAt",
    "lastRefreshAt",
    "refreshFailedAt",
    "lastUsedAt",
    "metadata",
    "tags",
    "credentialFingerprint",
    "createdBy",
    "createdAt",
    "updatedAt",
    "version"
  ],
  json: ["health", "config", "metadata", "tags"],
  key: ["id"],
  createdMember: "createdAt",
  isVersioned: true
}

/** Without the sealed column, which the request role may not select. */
export const credentials: Table<CredentialRecord> = {
  name: "credentials",
  members: ["id", "organisationId", "connectionId", "members", "fingerprint", "expiresAt", "createdAt", "rotatedAt"],
  key: ["id"],
  createdMember: "createdAt",
  isVersioned: false
}

export const installations = tableOf("installations", Installation.stored, {
  json: ["connections", "config", "configSchema"]
})
