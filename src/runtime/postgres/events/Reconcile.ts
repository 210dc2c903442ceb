/**
 * Counts what became of accepted events, and finds those that nothing accounts for. An accepted event is open or recorded.
 * Unaccounted are: an open event without its place in the start queue, a place, a claim or a run without its event, a
 * delivered event whose run is neither open nor recorded, and a dead event or a failed run without its dead letter.
 */

/** Ids that one answer names. */
const named = 1_000

/** Claims and runs may outlive the record of their event: they account for events within its shortest retention. */
const recorded = (id: string) => `${id} >= svc_ulid_bound('evt', now() - interval '3 days')`

/** Dead letters are kept for 30 days. */
const hasLetter = (finishedAt: string, condition: string) =>
  `(${finishedAt} < now() - interval '29 days' OR EXISTS (SELECT FROM letters l WHERE ${condition}))`

const isKept = (id: string) =>
  `(EXISTS (SELECT FROM events e WHERE e.id = ${id}) OR EXISTS (SELECT FROM event_records r WHERE r.id = ${id}))`

/**
 * `$1` and `$2`: ids of events, from and to. `ofOrganisation` and `ofWorkspace` limit the rows of a table; places and
 * claims belong to no workspace.
 */
export const reconcileSql = (
  ofOrganisation: (table: string) => string,
  ofWorkspace: (table: string) => string
): string => `
  WITH open AS MATERIALIZED (
    SELECT e.id, e.status FROM events e WHERE e.id >= $1 AND e.id < $2 AND ${ofWorkspace("e")}
  ), settled AS MATERIALIZED (
    SELECT r.id, r.status, r.deliveries, r.finished_at FROM event_records r WHERE r.id >= $1 AND r.id < $2 AND ${ofWorkspace("r")}
  ), letters AS MATERIALIZED (
    SELECT l.event_id, l.execution_id FROM dead_letters l WHERE l.event_id >= $1 AND l.event_id < $2 AND ${ofWorkspace("l")}
  ), started AS MATERIALIZED (
    SELECT (x.record->'trigger'->>'eventId') COLLATE "C" AS event FROM executions x
    WHERE x.id >= 'exec_' || substr($1, 5) AND x.record->'trigger'->>'eventId' IS NOT NULL AND ${ofWorkspace("x")}
  ), missing AS (
    SELECT o.id FROM open o WHERE NOT EXISTS (SELECT FROM start_queue q WHERE q.id = o.id)
    UNION
    SELECT q.id FROM start_queue q WHERE q.id >= $1 AND q.id < $2 AND ${ofOrganisation("q")}
      AND NOT EXISTS (SELECT FROM events e WHERE e.id = q.id)
    UNION
    SELECT c.target_id FROM claims c
    WHERE c.scope IN ('event', 'tick') AND c.target_id >= $1 AND c.target_id < $2
      AND ${recorded("c.target_id")} AND ${ofOrganisation("c")} AND NOT ${isKept("c.target_id")}
    UNION
    SELECT s.event FROM started s WHERE s.event >= $1 AND s.event < $2 AND ${recorded("s.event")} AND NOT ${isKept("s.event")}
    UNION
    SELECT s.id FROM settled s WHERE s.status = 'dead' AND NOT ${hasLetter("s.finished_at", "l.event_id = s.id")}
    UNION
    SELECT s.id FROM settled s, json_array_elements(s.deliveries) d JOIN executions x ON x.id = d->>'executionId'
    WHERE x.status IN ('failed', 'timed_out') AND NOT ${hasLetter("x.finished_at", "l.execution_id = x.id")}
    UNION
    SELECT s.id FROM settled s, json_array_elements(s.deliveries) d
    WHERE s.status = 'delivered' AND d->>'executionId' IS NOT NULL
      AND NOT EXISTS (SELECT FROM runs r WHERE r.id = d->>'executionId')
      AND NOT EXISTS (SELECT FROM executions x WHERE x.id = d->>'executionId')
  ), counted AS (
    SELECT status, count(*)::int AS n FROM (SELECT status FROM open UNION ALL SELECT status FROM settled) one GROUP BY status
  )
  SELECT COALESCE((SELECT json_object_agg(status, n) FROM counted), '{}') AS counts,
    ARRAY(SELECT id FROM missing ORDER BY id LIMIT ${named}) AS missing,
    (SELECT count(*)::int FROM missing m WHERE NOT EXISTS (SELECT FROM open o WHERE o.id = m.id)
       AND NOT EXISTS (SELECT FROM settled s WHERE s.id = m.id)) AS gone`

export interface ReconcileRow {
  readonly counts: { readonly [status: string]: number }
  readonly missing: ReadonlyArray<string>
  /** Unaccounted events without any row. */
  readonly gone: number
}
