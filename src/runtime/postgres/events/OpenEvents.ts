/** The port `OpenEvents` on the writer's pool. */
import { Effect, Layer } from "effect"
import { OpenEvents } from "../../../actors/ports/OpenEvents.js"
import { Vault } from "../../../actors/ports/Vault.js"
import { WriterSql } from "../Pools.js"
import { type EventRow, eventOfRow, selectEvent } from "./EventRows.js"
import { databaseUnavailable } from "../DatabaseUnavailable.js"

export const layer = Layer.effect(
  OpenEvents,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const vault = yield* Vault

    return OpenEvents.of({
      load: (ids) =>
        sql.unsafe<EventRow>(`SELECT ${selectEvent("events")} FROM events WHERE id = ANY($1::text[])`, [ids]).pipe(
          Effect.flatMap((rows) => Effect.forEach(rows, (row) => eventOfRow(vault, row))),
          Effect.mapError(databaseUnavailable)
        ),
      postpone: ({ claims, id }, afterMillis) =>
        sql`UPDATE start_queue SET claimed_by = NULL, claimed_until = NULL,
          not_before = now() + ${afterMillis} * interval '1 millisecond' WHERE id = ${id} AND claims = ${claims}`.pipe(
          Effect.asVoid,
          Effect.mapError(databaseUnavailable)
        ),
      hold: ({ claims, id }, reason) =>
        sql`WITH put AS (UPDATE start_queue SET claimed_by = NULL, claimed_until = NULL, held = true
            WHERE id = ${id} AND claims = ${claims} RETURNING id)
          UPDATE events e SET status = 'held',
            record = (e.record::jsonb || jsonb_build_object('heldBecause', ${reason}::text))::json
          FROM put WHERE e.id = put.id`.pipe(Effect.asVoid, Effect.mapError(databaseUnavailable))
    })
  })
)
