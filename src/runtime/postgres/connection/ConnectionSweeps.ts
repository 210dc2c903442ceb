/** The port `ConnectionSweeps` on the writer's pool: finds connections that are due for renewal or removal. */
import { Effect, Layer } from "effect"
import { ConnectionSweeps } from "../../../actors/ports/connection/ConnectionSweeps.js"
import { Ownership } from "../../../actors/ports/Ownership.js"
import { outwardPlaces } from "../../../domain/Limits.js"
import { databaseUnavailable, execute } from "../database/DatabaseUnavailable.js"
import { makeFind, type PlacedKind } from "../LeasedWork.js"
import { WriterSql } from "../database/Pools.js"

/** The owner of a connection does its work, one command at a time: it needs no lease. */
const connections = (isDue: string, dueAt: string): PlacedKind<"connections.renew"> & { readonly hasShards: true } => ({
  task: "connections.renew",
  table: "connections",
  key: ["id"],
  isDue,
  dueAt,
  hasShards: true,
  partner: "w.id",
  bounds: outwardPlaces.refreshes
})

const toRenew = connections("w.status = 'active' AND w.next_look_at <= now()", "w.next_look_at")

const toAbandon = connections(
  `w.status = 'pending' AND EXISTS (SELECT 1 FROM connect_sessions s WHERE s.connection_id = w.id)
    AND NOT EXISTS (SELECT 1 FROM connect_sessions s WHERE s.connection_id = w.id AND s.status = 'open' AND s.expires_at > now())`,
  "w.created_at"
)

const toDisconnect = connections(
  `w.disconnected_at IS NULL
    AND EXISTS (SELECT 1 FROM customers u WHERE u.id = w.customer_id AND u.deleted_at IS NOT NULL)`,
  "w.created_at"
)

export const work = [toRenew, toAbandon, toDisconnect] as const

/** How long a disconnected connection is kept as a tombstone, and a finished connect session for its outcome. */
const tombstoneRetention = "interval '30 days'"
const sessionRetention = "interval '1 day'"
const batchSize = 1_000

export const layer = Layer.effect(
  ConnectionSweeps,
  Effect.map(Effect.all([WriterSql, Ownership]), ([sql, { ownedShards }]) =>
    ConnectionSweeps.of({
      findToRenew: makeFind(sql, toRenew, ownedShards),
      findToAbandon: makeFind(sql, toAbandon, ownedShards),
      findToDisconnect: makeFind(sql, toDisconnect, ownedShards),
      tidy: Effect.gen(function* () {
        yield* sql`UPDATE connect_sessions SET status = 'expired', finished_at = now(), state_hash = NULL, verifier = NULL
          WHERE status = 'open' AND expires_at <= now()`
        yield* sql.unsafe(`DELETE FROM connect_sessions WHERE finished_at < now() - ${sessionRetention}`)
        yield* sql.unsafe(`DELETE FROM connections WHERE id IN
          (SELECT id FROM connections WHERE disconnected_at < now() - ${tombstoneRetention} LIMIT ${batchSize})`)
      }).pipe(Effect.mapError(databaseUnavailable)),
      recordUses: (uses) =>
        uses.size === 0
          ? Effect.void
          : execute(
              sql`UPDATE connections c SET last_used_at = u.at FROM json_to_recordset(${JSON.stringify(
                [...uses].map(([id, at]) => ({ id, at }))
              )}::json) AS u(id text, at timestamptz) WHERE c.id = u.id AND (c.last_used_at IS NULL OR c.last_used_at < u.at)`
            )
    })
  )
)
