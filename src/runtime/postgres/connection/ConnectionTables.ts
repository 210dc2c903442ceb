/** Table descriptions of connections, their credentials, as requests read them, their sessions, and of installations. */
import { Connection, CredentialRecord } from "../../../domain/connection/Connection.js"
import { ConnectSession } from "../../../domain/connection/ConnectSession.js"
import { Installation } from "../../../domain/organisation/Installation.js"
import { tableOf } from "../record/Table.js"

export const connections = tableOf("connections", Connection.stored, { json: ["health", "config", "metadata", "tags"] })

/** Without the sealed column, which the request role may not select. */
export const credentials = tableOf("credentials", CredentialRecord)

export const installations = tableOf("installations", Installation.stored, {
  json: ["connections", "config", "configSchema"]
})

export const connectSessions = tableOf("connect_sessions", ConnectSession.stored, { json: ["config"] })
