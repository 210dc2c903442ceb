/**
 * Sums of ended runs, by minute, hour and day, which a task makes of what was committed since its last pass. `''` stands for
 * all workflows or customers, so that no answer adds up more rows than it has buckets; a run without a customer is in those only.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

/** Minutes that a sum spans; days that a partition spans, and that sums are kept. */
const statsUnits = [
  [1, 1, 2],
  [60, 2, 35],
  [1440, 14, 400]
] as const
const failureUnits = [
  [60, 2, 14],
  [1440, 14, 100]
] as const

const partitions = (table: string, units: ReadonlyArray<readonly [number, number, number]>) =>
  units.flatMap(([unit]) => [
    `CREATE TABLE ${table}_${unit} PARTITION OF ${table} FOR VALUES IN (${unit}) PARTITION BY RANGE (minute)`,
    `CREATE TABLE ${table}_${unit}_rest PARTITION OF ${table}_${unit} DEFAULT`
  ])

const tables = script(
  // minute: since 1970, the first of the sum. slot: of durations, see `durationSlots`; -1: it never began.
  `CREATE TABLE execution_stats (org text COLLATE "C" NOT NULL, space text COLLATE "C" NOT NULL, unit smallint NOT NULL,
     workflow_id text COLLATE "C" NOT NULL, customer_id text COLLATE "C" NOT NULL, minute int NOT NULL, status text NOT NULL,
     slot smallint NOT NULL, n int NOT NULL,
     PRIMARY KEY (org, space, unit, workflow_id, customer_id, minute, status, slot)) PARTITION BY LIST (unit)`,
  `CREATE INDEX execution_stats_customer ON execution_stats (customer_id) WHERE customer_id <> ''`,
  `CREATE TABLE execution_failures (org text COLLATE "C" NOT NULL, space text COLLATE "C" NOT NULL, unit smallint NOT NULL,
     customer_id text COLLATE "C" NOT NULL, minute int NOT NULL, workflow_id text COLLATE "C" NOT NULL, step text NOT NULL,
     error text NOT NULL, n int NOT NULL, examples text[] NOT NULL, last_at timestamptz NOT NULL,
     PRIMARY KEY (org, space, unit, customer_id, minute, workflow_id, step, error)) PARTITION BY LIST (unit)`,
  `CREATE INDEX execution_failures_customer ON execution_failures (customer_id) WHERE customer_id <> ''`,
  ...partitions("execution_stats", statsUnits),
  ...partitions("execution_failures", failureUnits),
  // Up to where ended runs were added: the next transaction, and those that were open.
  `CREATE TABLE execution_stats_position (one boolean PRIMARY KEY DEFAULT true CHECK (one), ended xid8 NOT NULL,
     open xid8[] NOT NULL)`,
  `INSERT INTO execution_stats_position (ended, open) VALUES (pg_snapshot_xmax(pg_current_snapshot()),
     ARRAY(SELECT pg_snapshot_xip(pg_current_snapshot())))`,
  "GRANT SELECT, UPDATE ON execution_stats_position TO svc_writer",
  "ALTER FUNCTION svc_partitions() RENAME TO svc_event_partitions",
  "REVOKE ALL ON FUNCTION svc_event_partitions() FROM svc_writer",
  `CREATE FUNCTION svc_partitions() RETURNS int
   LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     RETURN svc_event_partitions() ${[
       ...statsUnits.map((one) => ["execution_stats", ...one] as const),
       ...failureUnits.map((one) => ["execution_failures", ...one] as const)
     ]
       .map(([table, unit, span, keep]) => `+ svc_partition_range('${table}_${unit}', ${span}, 2, ${keep}, NULL)`)
       .join(" ")}; END $$`,
  "REVOKE ALL ON FUNCTION svc_partitions() FROM PUBLIC",
  "GRANT EXECUTE ON FUNCTION svc_partitions() TO svc_writer",
  "SELECT svc_partitions()"
)

const unitsOf = (units: ReadonlyArray<readonly [number, number, number]>) =>
  `(VALUES ${units.map(([unit]) => `(${unit}::smallint)`).join(", ")}) AS u (unit)`

/** Ended runs that one pass adds. */
const most = 200_000
/** Kinds of failures that a minute has of an organisation and customer; the others are added as one. */
const mostKinds = 100

const milliseconds = "extract(epoch FROM e.finished_at) * 1000 - (e.record->>'startedAt')::float8"

/** Adds each ended run once, whenever its transaction commits. Returns how many; -1: another node is at it. */
const summing = script(
  `CREATE FUNCTION svc_sum_executions() RETURNS int LANGUAGE plpgsql
   SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
   DECLARE before execution_stats_position; reached pg_snapshot; upper xid8; cut xid8; added int; BEGIN
     SELECT * INTO before FROM execution_stats_position FOR UPDATE SKIP LOCKED;
     IF NOT FOUND THEN RETURN -1; END IF;
     reached := pg_current_snapshot(); upper := pg_snapshot_xmax(reached);
     -- Otherwise the database was restored from a dump, and counts its transactions anew.
     IF before.ended <= upper THEN
       SELECT e.changed INTO cut FROM executions e WHERE e.changed >= before.ended AND e.changed < upper
         ORDER BY e.changed OFFSET ${most} LIMIT 1;
       upper := COALESCE(cut, upper);
       WITH batch AS MATERIALIZED (
         SELECT e.org, e.space, e.workflow_id, e.customer_id, e.status, e.id, e.finished_at,
           floor(extract(epoch FROM e.finished_at) / 60)::int AS minute,
           CASE WHEN e.record->>'startedAt' IS NULL THEN -1 WHEN ${milliseconds} < 1 THEN 0
             ELSE least(140, 1 + floor(4 * ln(${milliseconds}) / ln(2))) END::smallint AS slot,
           COALESCE(e.record->'error'->>'step', '') AS step,
           COALESCE(e.record->'error'->>'code', e.record->'error'->>'name', e.status) AS error
         FROM executions e WHERE (e.changed >= before.ended AND e.changed < upper OR e.changed = ANY(before.open))
           AND pg_visible_in_snapshot(e.changed, reached)
       ), sums AS (
         SELECT org, space, minute, status, slot, COALESCE(workflow_id, '') AS workflow_id,
           COALESCE(customer_id, '') AS customer_id, count(*)::int AS n
         FROM batch GROUP BY org, space, minute, status, slot,
           GROUPING SETS ((), (workflow_id), (customer_id), (workflow_id, customer_id))
         HAVING GROUPING(customer_id) = 1 OR customer_id IS NOT NULL
       ), stats AS (
         INSERT INTO execution_stats AS t (org, space, unit, workflow_id, customer_id, minute, status, slot, n)
         SELECT org, space, unit, workflow_id, customer_id, minute - minute % unit, status, slot, sum(n)
         FROM sums, ${unitsOf(statsUnits)} GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
         ON CONFLICT (org, space, unit, workflow_id, customer_id, minute, status, slot) DO UPDATE SET n = t.n + excluded.n
       ), failed AS (
         SELECT b.org, b.space, b.minute, c.customer, b.workflow_id, left(b.step, 200) AS step, left(b.error, 200) AS error,
           count(*)::int AS n, (array_agg(b.id ORDER BY b.id DESC))[1:3] AS examples, max(b.finished_at) AS last_at,
           row_number() OVER (PARTITION BY b.org, b.space, c.customer ORDER BY count(*) DESC) AS nth
         FROM batch b CROSS JOIN LATERAL (SELECT '' AS customer UNION ALL SELECT b.customer_id WHERE b.customer_id IS NOT NULL) c
         WHERE b.status IN ('failed', 'timed_out') GROUP BY 1, 2, 3, 4, 5, 6, 7
       ), kinds AS (
         SELECT org, space, minute, customer, CASE WHEN nth <= ${mostKinds} THEN workflow_id ELSE '' END AS workflow_id,
           CASE WHEN nth <= ${mostKinds} THEN step ELSE '' END AS step,
           CASE WHEN nth <= ${mostKinds} THEN error ELSE 'OTHER' END AS error, n, examples, last_at FROM failed
       ), failures AS (
         INSERT INTO execution_failures AS t (org, space, unit, customer_id, minute, workflow_id, step, error, n, examples, last_at)
         SELECT k.org, k.space, u.unit, k.customer, k.minute - k.minute % u.unit, k.workflow_id, k.step, k.error,
           sum(k.n) FILTER (WHERE x.nth = 1),
           (array_agg(x.id ORDER BY x.id DESC))[1:3], max(k.last_at)
         FROM kinds k CROSS JOIN ${unitsOf(failureUnits)}
           CROSS JOIN LATERAL unnest(k.examples) WITH ORDINALITY AS x (id, nth)
         GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
         ON CONFLICT (org, space, unit, customer_id, minute, workflow_id, step, error) DO UPDATE
         SET n = t.n + excluded.n, examples = (excluded.examples || t.examples)[1:3],
           last_at = greatest(t.last_at, excluded.last_at)
       ) SELECT count(*) INTO added FROM batch;
     END IF;
     UPDATE execution_stats_position SET ended = upper,
       open = ARRAY(SELECT x FROM pg_snapshot_xip(reached) x WHERE x < upper);
     RETURN COALESCE(added, 0); END $$`,
  "REVOKE ALL ON FUNCTION svc_sum_executions() FROM PUBLIC",
  "GRANT EXECUTE ON FUNCTION svc_sum_executions() TO svc_writer"
)

const all = "SELECT, INSERT, UPDATE, DELETE"

export default tables.pipe(
  Effect.zipRight(summing),
  Effect.zipRight(tenantTable("execution_stats", { app: "SELECT", writer: all })),
  Effect.zipRight(tenantTable("execution_failures", { app: "SELECT", writer: all }))
)
