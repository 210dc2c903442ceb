/** Inserts many connections into the database at a time, without the service. */
import { Effect, Redacted } from "effect"
import { Vault } from "../../src/actors/ports/Vault.js"
import { credentialText } from "../../src/domain/connection/Credential.js"
import { connectionOrigins } from "../../src/domain/connector/request/BaseUrl.js"
import { catalogue } from "../../src/domain/connectors/index.js"
import type { ConnectionId } from "../../src/domain/Ids.js"
import { WriterSql } from "../../src/runtime/postgres/database/Pools.js"

/** Finds a connector of the catalogue with API keys and a fixed address. */
export const findKeyConnector = () => {
  for (const definition of catalogue()) {
    const method = definition.auth.find((one) => one.type === "api_key")
    const origins = connectionOrigins(definition, {})
    if (method !== undefined && origins._tag === "Right") {
      const [origin] = origins.right
      if (origin !== undefined) return { slug: definition.slug, version: definition.version, method: method.id, origin }
    }
  }
  throw new Error("no connector of the catalogue is called with a key")
}

/** The part of an id after its prefix. */
export const idNumber = (i: number) => String(i).padStart(26, "0")
// A literal in the form of an id.
export const connectionId = (i: number) => `conn_${idNumber(i)}` as ConnectionId
const credentialId = (i: number) => `cred_${idNumber(i)}`

/**
 * Inserts active connections of one customer with the numbers from `from` up to `to`, each with a sealed credential.
 */
export const storeConnections = (
  owner: { readonly organisationId: string; readonly customerId: string },
  connector: ReturnType<typeof findKeyConnector>,
  from: number,
  to: number
) =>
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const vault = yield* (yield* Vault).of(owner.organisationId)
    const text = Redacted.value(credentialText({ _tag: "Fields", fields: { apiKey: Redacted.make("k".repeat(40)) } }))
    const ids = Array.from({ length: to - from }, (_, i) => from + i)
    yield* sql.unsafe(
      `INSERT INTO connections (id, org, customer_id, connector, connector_version, label, auth_method, status, health, created_by)
       SELECT id, $2, $3, $4, $5, id, $6, 'active', '{"state":"ok","lastCheckedAt":null,"lastError":null,"consecutiveFailures":0}', 'bench'
       FROM unnest($1::text[]) AS t(id)`,
      [
        ids.map(connectionId),
        owner.organisationId,
        owner.customerId,
        connector.slug,
        connector.version,
        connector.method
      ]
    )
    yield* sql.unsafe(
      `INSERT INTO credentials (id, org, connection_id, number, sealed, members, fingerprint)
       SELECT id, $4, connection, 1, sealed, '{apiKey}', '00000000' FROM unnest($1::text[], $2::text[], $3::bytea[]) AS t(id, connection, sealed)`,
      [
        ids.map(credentialId),
        ids.map(connectionId),
        ids.map((i) =>
          Buffer.from(vault.seal({ table: "credentials", column: "sealed", row: `${credentialId(i)}/1` }, text))
        ),
        owner.organisationId
      ]
    )
  })
