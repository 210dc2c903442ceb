/** The port `ConnectionSweeps` on the writer's pool: finds connections that are due for renewal or removal. */
import { Effect, Layer } from "effect"
import { ConnectionSweeps, type DueConnection } from "../../../actors/ports/ConnectionSweeps.js"
import type { Room } from "../../../actors/Places.js"
import { outwardPlaces } from "../../../domain/Limits.js"
import { notSetAside } from "../FailedJobs.js"
import { placedCtes, roomValues } from "../PlaceRoom.js"
import { WriterSql } from "../Pools.js"
import { databaseUnavailable } from "../DatabaseUnavailable.js"

/** How long a disconnected connection is kept as a tombstone, and a finished connect session for its outcome. */
const tombstoneRetention = "interval '30 days'"
const sessionRetention = "interval '1 day'"
const batchSize = 1_000

export const layer = Layer.effect(
  ConnectionSweeps,
  Effect.map(WriterSql, (sql) => {
    /** `at`: the time since which they are due. */
    const due = (condition: string, at: string) => {
      const findSql = `WITH ${placedCtes(
        "c.id",
        `connections c WHERE ${notSetAside("connections.renew", "c.id")} AND ${condition}`,
        { org: "c.org", partner: "c.id", at },
        outwardPlaces.refreshes
      )} SELECT id, org AS "organisationId", partner FROM placed ORDER BY place, due_at`
      return (room: Room) =>
        sql.unsafe<DueConnection>(findSql, roomValues(room)).pipe(Effect.mapError(databaseUnavailable))
    }

    return ConnectionSweeps.of({
      findToRenew: due("c.status = 'active' AND c.next_look_at <= now()", "c.next_look_at"),
      findToAbandon: due(
        `c.status = 'pending' AND EXISTS (SELECT 1 FROM connect_sessions s WHERE s.connection_id = c.id)
        AND NOT EXISTS (SELECT 1 FROM connect_sessions s WHERE s.connection_id = c.id AND s.status = 'open' AND s.expires_at > now())`,
        "c.created_at"
      ),
      findToDisconnect: due(
        `c.disconnected_at IS NULL
        AND EXISTS (SELECT 1 FROM customers u WHERE u.id = c.customer_id AND u.deleted_at IS NOT NULL)`,
        "c.created_at"
      ),
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
          : sql`UPDATE connections c SET last_used_at = u.at FROM json_to_recordset(${JSON.stringify(
              [...uses].map(([id, at]) => ({ id, at }))
            )}::json) AS u(id text, at timestamptz) WHERE c.id = u.id AND (c.last_used_at IS NULL OR c.last_used_at < u.at)`.pipe(
              Effect.asVoid,
              Effect.mapError(databaseUnavailable)
            )
    })
  })
)
