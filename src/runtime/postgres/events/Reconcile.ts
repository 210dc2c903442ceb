/**
 * Counts what became of accepted events, and finds those that nothing accounts for. An accepted event is open or recorded.
 * Unaccounted are: an open event without its place in the start queue, a place without its event, a claim whose event is
 * gone, and a delivered event whose run is neither open nor recorded. The period is walked in pages of bounded cost.
 */
import { Clock, Effect } from "effect"
import type { Reconciliation } from "../../../domain/EventView.js"
import { timeOfId, ulidTime } from "../../../domain/Ids.js"

/** Events that one statement looks at. */
const pageEvents = 10_000
/** Ids that one answer names. */
const named = 1_000
/** By how much the clocks of two nodes may differ: a run's id may seem older than that of its event. */
const clockDifferenceMillis = 3_600_000

/** Which rows count. Conditions for a table's alias; places and claims belong to no workspace. */
export interface ReconcileScope {
  readonly ofOrganisation: (table: string) => string
  readonly ofWorkspace: (table: string) => string
  /** The values of the parameters `$4` and following of the conditions. */
  readonly values: ReadonlyArray<unknown>
}

/** `$1` and `$2`: ids, from and to. `$3`: where the next page begins after so many events. */
const pageEndSql = ({ ofWorkspace }: ReconcileScope): string => {
  const ids = (table: string) =>
    `(SELECT t.id FROM ${table} t WHERE t.id >= $1 AND t.id < $2 AND ${ofWorkspace("t")} ORDER BY t.id LIMIT $3::int + 1)`
  return `SELECT id FROM (${ids("events")} UNION ALL ${ids("event_records")}) one ORDER BY id OFFSET $3::int LIMIT 1`
}

/** `$1` and `$2`: ids, from and to. `$3`: no run of these events has a lower id. */
const pageSql = ({ ofOrganisation, ofWorkspace }: ReconcileScope): string => `
  WITH open AS MATERIALIZED (
    SELECT e.id, e.status FROM events e WHERE e.id >= $1 AND e.id < $2 AND ${ofWorkspace("e")}
  ), settled AS MATERIALIZED (
    SELECT r.id, r.status, r.deliveries FROM event_records r WHERE r.id >= $1 AND r.id < $2 AND ${ofWorkspace("r")}
  ), places AS MATERIALIZED (
    SELECT q.id FROM start_queue q WHERE q.id >= $1 AND q.id < $2 AND ${ofOrganisation("q")}
  ), claimed AS MATERIALIZED (
    SELECT c.target_id AS id FROM claims c WHERE c.scope IN ('event', 'tick')
      AND c.target_id >= $1 AND c.target_id < $2 AND ${ofOrganisation("c")}
  ), started AS MATERIALIZED (
    SELECT s.id, d->>'executionId' AS run FROM settled s, json_array_elements(s.deliveries) d
    WHERE s.status = 'delivered' AND d->>'executionId' IS NOT NULL
  ), known AS MATERIALIZED (
    SELECT r.id FROM runs r WHERE r.id = ANY (ARRAY(SELECT run FROM started))
    UNION ALL
    SELECT x.id FROM executions x WHERE x.id >= $3 AND x.id = ANY (ARRAY(SELECT run FROM started))
  ), suspects AS (
    (SELECT id FROM open EXCEPT SELECT id FROM places)
    UNION
    (SELECT id FROM places UNION SELECT id FROM claimed EXCEPT (SELECT id FROM open UNION ALL SELECT id FROM settled))
    UNION
    SELECT s.id FROM started s WHERE s.run IN (SELECT run FROM started EXCEPT SELECT id FROM known)
  ), missing AS (
    -- An event of another workspace is not missing.
    SELECT m.id FROM suspects m WHERE m.id IN (SELECT id FROM open) OR m.id IN (SELECT id FROM settled)
      OR (NOT EXISTS (SELECT FROM events e WHERE e.id = m.id) AND NOT EXISTS (SELECT FROM event_records r WHERE r.id = m.id))
  ), counted AS (
    SELECT status, count(*)::int AS n FROM (SELECT status FROM open UNION ALL SELECT status FROM settled) one GROUP BY status
  )
  SELECT COALESCE((SELECT json_object_agg(status, n) FROM counted), '{}') AS counts,
    ARRAY(SELECT id FROM missing ORDER BY id LIMIT ${named}) AS missing,
    (SELECT count(*)::int FROM missing m WHERE m.id NOT IN (SELECT id FROM open) AND m.id NOT IN (SELECT id FROM settled)) AS gone`

interface PageRow {
  readonly counts: { readonly [status: string]: number }
  readonly missing: ReadonlyArray<string>
  /** Unaccounted events without any row. */
  readonly gone: number
}

interface Totals {
  readonly counts: Map<string, number>
  readonly missing: Array<string>
  gone: number
}

const add = (totals: Totals, { counts, gone, missing }: PageRow): void => {
  for (const [status, n] of Object.entries(counts)) totals.counts.set(status, (totals.counts.get(status) ?? 0) + n)
  totals.missing.push(...missing.slice(0, named - totals.missing.length))
  totals.gone += gone
}

const reconciliationOf = (
  { counts, gone, missing }: Totals,
  period: { readonly from: number; readonly to: number },
  complete: boolean
): Reconciliation => {
  const n = (status: string) => counts.get(status) ?? 0
  const known = ["delivered", "ignored", "held", "received", "dead", "duplicate"].reduce((sum, one) => sum + n(one), 0)
  return {
    from: new Date(period.from).toISOString(),
    to: new Date(period.to).toISOString(),
    complete,
    accepted: known + gone,
    executed: n("delivered"),
    ignored: n("ignored"),
    held: n("held"),
    waiting: n("received"),
    dead: n("dead"),
    duplicate: n("duplicate"),
    unaccounted: missing
  }
}

/** Runs one statement, in a transaction of its own. */
export type RunStatement<E> = <Row extends object>(
  sql: string,
  values: ReadonlyArray<unknown>
) => Effect.Effect<ReadonlyArray<Row>, E>

/**
 * Reconciles the events of a period, times in Unix milliseconds. After `mostMillis` it ends where it is: `to` of the answer
 * says how far it came, and `complete` is false.
 */
export const reconcile = Effect.fnUntraced(function* <E>(
  run: RunStatement<E>,
  scope: ReconcileScope,
  { from, mostMillis, to }: { readonly from: number; readonly to: number; readonly mostMillis: number }
): Effect.fn.Return<Reconciliation, E> {
  const began = yield* Clock.currentTimeMillis
  const totals: Totals = { counts: new Map(), missing: [], gone: 0 }
  const [pageEnd, page] = [pageEndSql(scope), pageSql(scope)]
  const end = `evt_${ulidTime(to)}`
  for (let start = `evt_${ulidTime(from)}`; ;) {
    const [next] = yield* run<{ id: string }>(pageEnd, [start, end, pageEvents, ...scope.values])
    const firstRun = `exec_${ulidTime(Math.max(0, timeOfId(start) - clockDifferenceMillis))}`
    const [row] = yield* run<PageRow>(page, [start, next?.id ?? end, firstRun, ...scope.values])
    if (row !== undefined) add(totals, row)
    if (next === undefined) return reconciliationOf(totals, { from, to }, true)
    start = next.id
    if ((yield* Clock.currentTimeMillis) - began >= mostMillis)
      return reconciliationOf(totals, { from, to: timeOfId(start) }, false)
  }
})
