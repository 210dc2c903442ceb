/** The port `OpenEvents` on the writer's pool. */
import { Effect, Layer } from "effect"
import { OpenEvents } from "../../../actors/ports/OpenEvents.js"
import { Vault } from "../../../actors/ports/Vault.js"
import { Unavailable } from "../../../domain/Failure.js"
import { describe } from "../../telemetry/SafeError.js"
import { WriterSql } from "../Pools.js"
import { type EventRow, eventOfRow, selectEvent } from "./EventRows.js"

const unavailable = (error: unknown) => new Unavailable({ reason: describe(error), retryAfterSeconds: 1 })

/** Events that are held for this reason, by the index of theirs. */
const ofSuspended = "e.status = 'held' AND e.record->>'heldBecause' = 'customer_suspended'"

/** Reads one index entry for each customer with held events, however many events that are. */
const releaseOfCustomersSql = `
  WITH RECURSIVE held (customer) AS (
    (SELECT e.customer_id FROM events e WHERE ${ofSuspended} ORDER BY e.customer_id LIMIT 1)
    UNION ALL
    SELECT (SELECT e.customer_id FROM events e WHERE ${ofSuspended} AND e.customer_id > h.customer
      ORDER BY e.customer_id LIMIT 1) FROM held h WHERE h.customer IS NOT NULL
  ), due AS (
    SELECT one.id FROM held h JOIN customers c ON c.id = h.customer AND c.status = 'active'
      CROSS JOIN LATERAL (SELECT e.id FROM events e WHERE ${ofSuspended} AND e.customer_id = h.customer
        ORDER BY e.id LIMIT $1) one
    ORDER BY one.id LIMIT $1
  ), places AS (
    UPDATE start_queue q SET held = false FROM due WHERE q.id = due.id AND q.held RETURNING q.id
  ), released AS (
    UPDATE events e SET status = 'received', record = (e.record::jsonb - 'heldBecause')::json
    FROM places WHERE e.id = places.id RETURNING 1
  )
  SELECT count(*)::int AS n FROM released`

export const layer = Layer.effect(
  OpenEvents,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const vault = yield* Vault

    return OpenEvents.of({
      load: (ids) =>
        sql.unsafe<EventRow>(`SELECT ${selectEvent("events")} FROM events WHERE id = ANY($1::text[])`, [ids]).pipe(
          Effect.flatMap((rows) => Effect.forEach(rows, (row) => eventOfRow(vault, row))),
          Effect.mapError(unavailable)
        ),
      postpone: ({ claims, id }, afterMillis) =>
        sql`UPDATE start_queue SET claimed_by = NULL, claimed_until = NULL,
          not_before = now() + ${afterMillis} * interval '1 millisecond' WHERE id = ${id} AND claims = ${claims}`.pipe(
          Effect.asVoid,
          Effect.mapError(unavailable)
        ),
      releaseOfCustomers: (most) =>
        sql.unsafe<{ readonly n: number }>(releaseOfCustomersSql, [most]).pipe(
          Effect.map(([row]) => row?.n ?? 0),
          Effect.mapError(unavailable)
        ),
      hold: ({ claims, id }, reason) =>
        sql`WITH put AS (UPDATE start_queue SET claimed_by = NULL, claimed_until = NULL, held = true
            WHERE id = ${id} AND claims = ${claims} RETURNING id)
          UPDATE events e SET status = 'held',
            record = (e.record::jsonb || jsonb_build_object('heldBecause', ${reason}::text))::json
          FROM put WHERE e.id = put.id`.pipe(Effect.asVoid, Effect.mapError(unavailable))
    })
  })
)
