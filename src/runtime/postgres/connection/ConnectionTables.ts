/** Table descriptions of connections and their credentials, as requests read them, and of installations. */
import { Connection, CredentialRecord } from "../../../domain/connection/Connection.js"
import { Installation } from "../../../domain/organisation/Installation.js"
import { tableOf } from "../record/Table.js"

export const connections = tableOf("connections", Connection.stored, { json: ["health", "config", "metadata", "tags"] })

/** Without the sealed column, which the request role may not select. */
export const credentials = tableOf("credentials", CredentialRecord)

export const installations = tableOf("installations", Installation.stored, {
  json: ["connections", "config", "configSchema"]
})
