/**
 * Counts what became of accepted events, and finds those that nothing accounts for. An accepted event is open or recorded.
 * Unaccounted are: an open event without its place in the start queue, a place, a claim or a run without its event, a
 * delivered event whose run is neither open nor recorded, and a dead event or a failed run without its dead letter. The
 * period is walked in pages of bounded cost. Events without any row are missed by their count.
 */
import { Clock, Effect, Schema } from "effect"
import type { Reconciliation } from "../../../domain/event/EventView.js"
import { timeOfId, ulidTime } from "../../../domain/Ids.js"
import { type CountScope, decodeMissing, type MissingEvents, missingSql } from "./EventCounts.js"
import { rowDecoder } from "../record/Table.js"

/** Events and runs that one statement looks at. */
const pageRows = 10_000
/** Ids that one answer names: with so many it ends. */
const named = 1_000
/** By how much the clocks of two nodes may differ: a run's id may seem older than that of its event. */
const clockDifferenceMillis = 3_600_000

/** Which rows count: conditions for a table's alias. Places and claims belong to no workspace. */
export interface ReconcileScope extends CountScope {
  /** The events and runs by whose number the period is cut into pages; at least those that count. */
  readonly paged: (table: string) => string
  /** The first of `values`, which `paged` needs. */
  readonly pagedValues: ReadonlyArray<unknown>
  readonly places: (table: string) => string
  readonly claims: (table: string) => string
}

/** The run's id in place of the event's: both begin with their time. */
const runId = (parameter: string) => `'exec_' || substr(${parameter}, 5)`

/** `$1` and `$2`: ids, from and to. `$3`: where the next page begins after so many events and runs. */
const pageEndSql = ({ paged }: ReconcileScope): string => {
  const ids = (table: string) =>
    `(SELECT t.id FROM ${table} t WHERE t.id >= $1 AND t.id < $2 AND ${paged("t")} ORDER BY t.id LIMIT $3::int + 1)`
  const runs = `(SELECT 'evt_' || substr(t.id, 6) FROM executions t WHERE t.id >= ${runId("$1")} AND t.id < ${runId("$2")}
    AND ${paged("t")} ORDER BY t.id LIMIT $3::int + 1)`
  return `SELECT id FROM (${ids("events")} UNION ALL ${ids("event_records")} UNION ALL ${runs}) one
    ORDER BY id COLLATE "C" OFFSET $3::int LIMIT 1`
}

/** Claims and runs may outlive the record of their event: they account for events within its shortest retention. */
const isRecorded = (id: string) => `${id} >= svc_ulid_bound('evt', now() - interval '3 days')`

/** Dead letters are kept for 30 days. */
const hasLetter = (finishedAt: string) => `${finishedAt} >= now() - interval '29 days'`

// A scalar subquery with a limit is looked up by index for each id, whatever the statistics say.
const isKept = (id: string) => `((SELECT 1 FROM events e WHERE e.id = ${id} LIMIT 1) IS NOT NULL
  OR (SELECT 1 FROM event_records r WHERE r.id = ${id} LIMIT 1) IS NOT NULL)`

/** `$1` and `$2`: ids, from and to. `$3`: no run of these events has a lower id. The last parameter: the period's first id. */
const pageSql = ({ claims, events, places, values }: ReconcileScope): string => `
  WITH open AS MATERIALIZED (
    SELECT e.id, e.status FROM events e WHERE e.id >= $1 AND e.id < $2 AND ${events("e", "events")}
  ), settled AS MATERIALIZED (
    SELECT r.id, r.status, r.deliveries, r.finished_at FROM event_records r WHERE r.id >= $1 AND r.id < $2 AND ${events("r", "event_records")}
  ), places AS MATERIALIZED (
    SELECT q.id FROM start_queue q WHERE q.id >= $1 AND q.id < $2 AND ${places("q")}
  ), claimed AS MATERIALIZED (
    SELECT c.target_id AS id FROM claims c WHERE c.scope IN ('event', 'tick')
      AND c.target_id >= $1 AND c.target_id < $2 AND ${isRecorded("c.target_id")} AND ${claims("c")}
  ), letters AS MATERIALIZED (
    SELECT l.event_id, l.execution_id FROM dead_letters l WHERE l.event_id >= $1 AND l.event_id < $2 AND ${events("l", "dead_letters")}
  ), caused AS MATERIALIZED (
    SELECT (x.record->'trigger'->>'eventId') COLLATE "C" AS id FROM executions x
    WHERE x.id >= ${runId("$1")} AND x.id < ${runId("$2")} AND x.record->'trigger'->>'eventId' IS NOT NULL AND ${events("x", "executions")}
  ), started AS MATERIALIZED (
    SELECT s.id, d->>'executionId' AS run FROM settled s, json_array_elements(s.deliveries) d
    WHERE s.status = 'delivered' AND d->>'executionId' IS NOT NULL
  ), known AS MATERIALIZED (
    SELECT r.id, false AS failed FROM runs r WHERE r.id = ANY (ARRAY(SELECT run FROM started))
    UNION ALL
    SELECT x.id, x.status IN ('failed', 'timed_out') AND ${hasLetter("x.finished_at")} FROM executions x
    WHERE x.id >= $3 AND x.id = ANY (ARRAY(SELECT run FROM started))
  ), suspects AS (
    (SELECT id FROM open EXCEPT SELECT id FROM places)
    UNION
    (SELECT id FROM places UNION SELECT id FROM claimed
      UNION SELECT id FROM caused WHERE id >= $${values.length + 4} AND ${isRecorded("id")}
      EXCEPT (SELECT id FROM open UNION ALL SELECT id FROM settled))
    UNION
    SELECT s.id FROM started s WHERE s.run IN (SELECT run FROM started EXCEPT SELECT id FROM known)
    UNION
    SELECT s.id FROM started s WHERE s.run IN (SELECT id FROM known WHERE failed EXCEPT SELECT execution_id FROM letters)
    UNION
    (SELECT id FROM settled WHERE status = 'dead' AND ${hasLetter("finished_at")} EXCEPT SELECT event_id FROM letters)
  ), missing AS MATERIALIZED (
    -- An event of another workspace is not missing.
    SELECT m.id, m.gone FROM (
      SELECT id, id NOT IN (SELECT id FROM open) AND id NOT IN (SELECT id FROM settled) AS gone FROM suspects) m
    WHERE NOT m.gone OR NOT ${isKept("m.id")} ORDER BY m.id LIMIT ${named}
  ), counted AS (
    SELECT status, count(*)::int AS n FROM (SELECT status FROM open UNION ALL SELECT status FROM settled) one GROUP BY status
  )
  SELECT COALESCE((SELECT json_object_agg(status, n) FROM counted), '{}') AS counts,
    ARRAY(SELECT id FROM missing) AS missing, ARRAY(SELECT id FROM missing WHERE gone) AS gone`

const decodeEnd = rowDecoder("of pages", { id: Schema.String })
const decodePage = rowDecoder("of pages", {
  counts: Schema.Record({ key: Schema.String, value: Schema.Number }),
  missing: Schema.Array(Schema.String),
  /** Those of them that have no row. */
  gone: Schema.Array(Schema.String)
})

/** An event may be missing on the page of its own time and on those of its runs. */
interface Totals {
  /** Accepted events without any row, by trigger and minute. */
  readonly withoutRow: Array<MissingEvents>
  readonly counts: Map<string, number>
  readonly missing: Set<string>
  readonly gone: Set<string>
}

const add = (totals: Totals, { counts, gone, missing }: ReturnType<typeof decodePage>): void => {
  for (const [status, n] of Object.entries(counts)) totals.counts.set(status, (totals.counts.get(status) ?? 0) + n)
  for (const id of missing) totals.missing.add(id)
  for (const id of gone) totals.gone.add(id)
}

const reconciliationOf = (
  { counts, gone, missing, withoutRow }: Totals,
  period: { readonly from: number; readonly to: number },
  complete: boolean
): Reconciliation => {
  const n = (status: string) => counts.get(status) ?? 0
  const known = ["delivered", "ignored", "held", "received", "dead", "duplicate"].reduce((sum, one) => sum + n(one), 0)
  return {
    from: new Date(period.from).toISOString(),
    to: new Date(period.to).toISOString(),
    complete,
    // Those that something else than their count remembers are counted, too.
    accepted:
      known +
      Math.max(
        gone.size,
        withoutRow.reduce((sum, { events }) => sum + events, 0)
      ),
    executed: n("delivered"),
    ignored: n("ignored"),
    held: n("held"),
    waiting: n("received"),
    dead: n("dead"),
    duplicate: n("duplicate"),
    unaccounted: [...missing].sort().slice(0, named),
    missing: withoutRow.map(({ events, minute, triggerId }) => ({
      triggerId,
      minute: new Date(minute * 60_000).toISOString(),
      events
    }))
  }
}

/** Runs one statement, in a transaction of its own. */
export type RunStatement<E> = (text: string, values: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<object>, E>

const minuteOf = (millis: number): number => Math.floor(millis / 60_000)

/**
 * Reconciles the events of a period, times in Unix milliseconds. After `mostMillis`, or with 1,000 unaccounted ones, it ends
 * where it is: `to` of the answer says how far it came, and `complete` is false.
 */
export const reconcile = Effect.fnUntraced(function* <E>(
  run: RunStatement<E>,
  scope: ReconcileScope,
  { from, mostMillis, to }: { readonly from: number; readonly to: number; readonly mostMillis: number }
): Effect.fn.Return<Reconciliation, E> {
  const began = yield* Clock.currentTimeMillis
  const totals: Totals = { counts: new Map(), missing: new Set(), gone: new Set(), withoutRow: [] }
  const [pageEnd, page, missing] = [pageEndSql(scope), pageSql(scope), missingSql(scope)]
  let minute = minuteOf(from)
  const end = `evt_${ulidTime(to)}`
  const first = `evt_${ulidTime(from)}`
  for (let start = first; ;) {
    const [next] = (yield* run(pageEnd, [start, end, pageRows, ...scope.pagedValues])).map(decodeEnd)
    const firstRun = `exec_${ulidTime(Math.max(0, timeOfId(start) - clockDifferenceMillis))}`
    const [row] = yield* run(page, [start, next?.id ?? end, firstRun, ...scope.values, first])
    if (row !== undefined) add(totals, decodePage(row))
    const before = next === undefined ? minuteOf(to) + 1 : minuteOf(timeOfId(next.id))
    if (minute < before)
      totals.withoutRow.push(...(yield* run(missing, [minute, before, named, ...scope.values])).map(decodeMissing))
    minute = before
    if (next === undefined) return reconciliationOf(totals, { from, to }, true)
    start = next.id
    if (
      Math.max(totals.missing.size, totals.withoutRow.length) >= named ||
      (yield* Clock.currentTimeMillis) - began >= mostMillis
    )
      return reconciliationOf(totals, { from, to: timeOfId(start) }, false)
  }
})
