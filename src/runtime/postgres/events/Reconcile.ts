/**
 * Counts what became of accepted events, and finds those that nothing accounts for. An accepted event is open or recorded.
 * Unaccounted are: an open event without its place in the start queue, a place without its event, a claim whose event is
 * gone, and a delivered event whose run is neither open nor recorded.
 */

/** Ids that one answer names. */
const named = 1_000

/** The conditions on the rows that are reconciled. Places and claims belong to no workspace. */
export interface ReconciledRows {
  readonly events: (table: string) => string
  readonly places: (table: string) => string
  readonly claims: (table: string) => string
}

/** `$1` and `$2`: ids of events, from and to. */
export const reconcileSql = (only: ReconciledRows): string => `
  WITH open AS MATERIALIZED (
    SELECT e.id, e.status FROM events e WHERE e.id >= $1 AND e.id < $2 AND ${only.events("e")}
  ), settled AS MATERIALIZED (
    SELECT r.id, r.status, r.deliveries FROM event_records r WHERE r.id >= $1 AND r.id < $2 AND ${only.events("r")}
  ), missing AS (
    SELECT o.id FROM open o WHERE NOT EXISTS (SELECT FROM start_queue q WHERE q.id = o.id)
    UNION
    SELECT q.id FROM start_queue q WHERE q.id >= $1 AND q.id < $2 AND ${only.places("q")}
      AND NOT EXISTS (SELECT FROM events e WHERE e.id = q.id)
    UNION
    SELECT c.target_id FROM claims c
    WHERE c.scope IN ('event', 'tick') AND c.target_id >= $1 AND c.target_id < $2
      AND ${only.claims("c")}
      AND NOT EXISTS (SELECT FROM events e WHERE e.id = c.target_id)
      AND NOT EXISTS (SELECT FROM event_records r WHERE r.id = c.target_id)
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
