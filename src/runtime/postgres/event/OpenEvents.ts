/** The port `OpenEvents` on the writer's pool. */
import { Effect, Layer } from "effect"
import { OpenEvents, type PastLeases } from "../../../actors/ports/event/OpenEvents.js"
import { Vault } from "../../../actors/ports/Vault.js"
import { settleSql } from "../LeasedWork.js"
import { WriterSql } from "../database/Pools.js"
import { startQueue } from "../WorkKinds.js"
import { type EventRow, eventOfRow, selectEvent } from "./EventRows.js"
import { databaseUnavailable, execute } from "../database/DatabaseUnavailable.js"
import { castRows } from "../database/Sql.js"

const isCurrent = "w.claims = $2"

const later = "not_before = now() + $3 * interval '1 millisecond'"
const postponeSql = settleSql(startQueue, later, isCurrent)
const retrySql = settleSql(startQueue, `${later}, attempts = w.attempts + 1`, isCurrent)

const loadSql = `SELECT ${selectEvent("e")}, q.attempts, q.lost FROM events e JOIN start_queue q ON q.id = e.id
  WHERE e.id = ANY($1::text[])`

const holdSql = `WITH put AS (${settleSql(startQueue, "held = true", isCurrent)} RETURNING w.id)
  UPDATE events e SET status = 'held', record = (e.record::jsonb || jsonb_build_object('heldBecause', $3::text))::json
  FROM put WHERE e.id = put.id`

export const layer = Layer.effect(
  OpenEvents,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const vault = yield* Vault

    return OpenEvents.of({
      load: (ids) =>
        // Not decoded, since each event is read once between its arrival and its runs, with the columns of `EventRows.ts`.
        castRows<EventRow & PastLeases>(sql.unsafe(loadSql, [ids])).pipe(
          Effect.flatMap((rows) =>
            Effect.forEach(rows, ({ attempts, lost, ...row }) =>
              Effect.map(eventOfRow(vault, row), (event) => ({ event, past: { attempts, lost } }))
            )
          ),
          Effect.mapError(databaseUnavailable)
        ),
      postpone: ({ claims, id }, afterMillis) => execute(sql.unsafe(postponeSql, [id, claims, afterMillis])),
      retry: ({ claims, id }, afterMillis) => execute(sql.unsafe(retrySql, [id, claims, afterMillis])),
      hold: ({ claims, id }, reason) => execute(sql.unsafe(holdSql, [id, claims, reason]))
    })
  })
)
