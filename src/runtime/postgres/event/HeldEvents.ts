/** The port `HeldEvents` on the writer's pool. Each statement uses a partial index of the events that it looks for. */
import { Duration, Effect, Layer, Schema } from "effect"
import {
  type DueEvent,
  type HeldEvent,
  HeldEvents,
  type OverReason,
  type QuotaReason
} from "../../../actors/pipeline/HeldSweep.js"
import { EventId, OrganisationId } from "../../../domain/Ids.js"
import { longestHold } from "../../../domain/Limits.js"
import { notSetAside } from "../FailedJobs.js"
import { type DueKind, dueSql, takeFound } from "../LeasedWork.js"
import { keptEventColumns } from "../journal/EventRow.js"
import { allowanceRow, allowances, countersOf, decideCtes, openCountersSql } from "../quota/QuotaDecision.js"
import { WriterSql } from "../database/Pools.js"
import { databaseUnavailable, execute, recordsOf, rowsOf } from "../database/DatabaseUnavailable.js"
import { castRows } from "../database/Sql.js"
import { rowDecoder } from "../record/Table.js"

/** Events that were held for too long. One becomes a dead letter in the statement that locks it. */
const expiredHolds = {
  task: "events.release_held",
  table: "events",
  key: ["id"],
  isDue: `w.status = 'held'
    AND w.id < 'evt_' || substr(svc_ulid_bound(now() - interval '${Duration.toSeconds(longestHold)} seconds'), 6)`,
  dueAt: "w.received_at",
  orderBy: "w.id"
} as const satisfies DueKind

/** The condition as the indexes have it; a parameter would not match them. */
const heldBecause: { readonly [R in QuotaReason | "customer_suspended" | "connection_inactive"]: string } = {
  quota: "e.status = 'held' AND e.record->>'heldBecause' = 'quota'",
  storage: "e.status = 'held' AND e.record->>'heldBecause' = 'storage'",
  customer_suspended: "e.status = 'held' AND e.record->>'heldBecause' = 'customer_suspended'",
  connection_inactive: "e.status = 'held' AND e.record->>'heldBecause' = 'connection_inactive'"
}

/** Whether any event is held that may be released. */
const anyHeld = Object.values(heldBecause)
  .map((condition) => `EXISTS (SELECT FROM events e WHERE ${condition})`)
  .join(" OR ")

export const work = [anyHeld, expiredHolds] as const

const canBeReleased = notSetAside(expiredHolds.task, "e.id")

/** The values of a column among held events: reads one index entry for each. */
const distinctSql = (column: string, condition: string) => `
  WITH RECURSIVE found AS (
    (SELECT e.${column} AS value FROM events e WHERE ${condition} AND e.${column} IS NOT NULL ORDER BY e.${column} LIMIT 1)
    UNION ALL
    SELECT (SELECT e.${column} FROM events e WHERE ${condition} AND e.${column} > found.value ORDER BY e.${column} LIMIT 1)
    FROM found WHERE found.value IS NOT NULL
  ) SELECT value FROM found WHERE value IS NOT NULL`

/** Releases the events of a CTE. */
const release = (due: string) => `freed AS (
    UPDATE events e SET status = 'received', record = (e.record::jsonb - 'heldBecause')::json
    FROM ${due} due WHERE e.id = due.id AND e.status = 'held' RETURNING e.id
  ), placed AS (
    UPDATE start_queue q SET held = false FROM freed WHERE q.id = freed.id
  )`

/**
 * `$1`: the events with their allowances, as JSON. Locks them first, so that an event is counted by the node that releases
 * it.
 */
const releaseSql = `WITH held AS MATERIALIZED (
    SELECT e.id FROM events e WHERE e.id = ANY(ARRAY(SELECT t->>'id' FROM json_array_elements($1::json) t)) AND e.status = 'held'
    ORDER BY e.id FOR UPDATE
  ), ${decideCtes(`SELECT t.* FROM ${allowances("$1")} JOIN held ON held.id = t.id`).join(", ")}, ${release("(SELECT d.id FROM decided d WHERE d.runs)")}
  SELECT d.id, d.runs FROM decided d`

/** `owners`: selects the ids of the active records among the values of the column. `$1`: how many. */
const resolvedSql = (column: string, condition: string, owners: string) => `
  WITH active AS MATERIALIZED (SELECT o.id FROM (${distinctSql(column, condition)}) held JOIN LATERAL (${owners}) o ON true)
  SELECT e.id, e.org AS "organisationId" FROM active JOIN events e ON e.${column} = active.id
  WHERE ${condition} AND ${canBeReleased} ORDER BY e.id LIMIT $1`

const customersSql = resolvedSql(
  "customer_id",
  heldBecause.customer_suspended,
  "SELECT c.id FROM customers c WHERE c.id = held.value AND c.status = 'active' AND c.deleted_at IS NULL"
)
const connectionsSql = resolvedSql(
  "connection_id",
  heldBecause.connection_inactive,
  "SELECT c.id FROM connections c WHERE c.id = held.value AND c.status = 'active'"
)

const kept = keptEventColumns.join(", ")

const overSql: { readonly [R in OverReason]: string } = {
  customer_active: customersSql,
  connection_active: connectionsSql,
  expired: dueSql(expiredHolds, `w.id, w.org AS "organisationId"`)
}

/** `$1`: the ids. */
const freeSql = `WITH ${release("(SELECT unnest($1::text[]) AS id)")} SELECT id FROM freed`

/** `$1`: the ids. A dead event frees its lane, since its place in the queue is gone. */
const expireSql = `
  WITH old AS (
    ${takeFound(expiredHolds, "w.id")}
  ), gone AS (
    DELETE FROM start_queue q USING old WHERE q.id = old.id RETURNING q.id
  ), moved AS (
    DELETE FROM events e USING gone WHERE e.id = gone.id RETURNING ${keptEventColumns.map((name) => `e.${name}`).join(", ")}
  ), recorded AS (
    INSERT INTO event_records (${kept}, status, finished_at, attempts, deliveries)
    SELECT ${kept}, 'dead', now(), 0, '[]' FROM moved ON CONFLICT (id, class) DO NOTHING
  ), buried AS (
    INSERT INTO dead_letters (id, org, space, event_id, trigger_id, customer_id, connector, type, priority, source, connection_id,
      record, payload, sealed, error, context, retry_count, expires_at)
    SELECT svc_new_id('dlq'), org, space, id, trigger_id, customer_id, connector, type, priority, source, connection_id, record,
      payload, sealed,
      json_build_object('code', 'HELD_EXPIRED', 'message', 'the event was held for 30 days: ' || (record->>'heldBecause'),
        'category', 'quota', 'step', NULL, 'stack', NULL),
      json_build_object('heldBecause', record->>'heldBecause'), COALESCE((record->>'replays')::int, 0), now() + interval '30 days'
    FROM moved
  ) SELECT id FROM moved`

const decodeValue = rowDecoder("events", { value: OrganisationId })
const decodeDecided = rowDecoder("events", { id: EventId, runs: Schema.Boolean })

const unlimited = { day: 0, accountLimit: null, customerId: null, customerLimit: null, units: 1 }

export const layer = Layer.effect(
  HeldEvents,
  Effect.gen(function* () {
    const sql = yield* WriterSql

    return HeldEvents.of({
      organisations: (reason) =>
        recordsOf(sql.unsafe(distinctSql("org", heldBecause[reason])), (row) => decodeValue(row).value),
      // Not decoded, since one event that cannot be read would keep the others held.
      oldest: (organisation, reason, exceptOf, limit) =>
        rowsOf(
          castRows<HeldEvent>(
            sql.unsafe(
              `SELECT e.id, e.customer_id AS "customerId", COALESCE((e.record->>'units')::int, 1) AS units FROM events e WHERE ${heldBecause[reason]} AND e.org = $1
              AND COALESCE(NOT e.customer_id = ANY($2::text[]), true) AND ${canBeReleased} ORDER BY e.id LIMIT $3`,
              [organisation, exceptOf, limit]
            )
          )
        ),
      release: (organisation, events) => {
        const counted = events.map(({ allowance, id }) => ({
          id,
          allowance: allowance ?? { ...unlimited, accountId: organisation }
        }))
        const rows = counted.map(({ allowance, id }, nth) => allowanceRow(id, nth, allowance))
        const counters = counted.flatMap(({ allowance }) => countersOf(allowance))
        return sql.unsafe(openCountersSql, [JSON.stringify(counters)]).pipe(
          Effect.zipRight(sql.unsafe(releaseSql, [JSON.stringify(rows)])),
          Effect.map((found) => {
            const decided = found.map(decodeDecided)
            const beyond = new Set(decided.filter(({ runs }) => !runs).map(({ id }) => id))
            return { count: decided.length - beyond.size, beyond }
          }),
          Effect.mapError(databaseUnavailable)
        )
      },
      // Not decoded, for the same reason.
      due: (over, limit) => rowsOf(castRows<DueEvent>(sql.unsafe(overSql[over], [limit]))),
      settle: (over, events) => execute(sql.unsafe(over === "expired" ? expireSql : freeSql, [events]))
    })
  })
)
