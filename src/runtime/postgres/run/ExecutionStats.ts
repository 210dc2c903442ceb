/** The port `ExecutionStats`, and the task that adds the runs that ended since its last pass, each once. */
import { Duration, Effect, Layer, Schema } from "effect"
import { backgroundTask, repeatEvery } from "../../../actors/BackgroundTask.js"
import { ExecutionStats, type StatsQuery } from "../../../actors/ports/run/ExecutionStats.js"
import { bucketSizes, slotMillis, statsLimits } from "../../../domain/run/ExecutionStats.js"
import { NullableText } from "../../../domain/Scalars.js"
import { organisationReader } from "../database/OrganisationRole.js"
import { AppSql, WriterSql } from "../database/Pools.js"
import { countOf, rowDecoder } from "../record/Table.js"

const interval = Duration.minutes(1)
/** Runs that the function adds at most. */
const most = 200_000

const bucketsSql = `WITH s AS (
    SELECT minute, status, slot, sum(n) AS n FROM execution_stats
    WHERE org = $1 AND space = $2 AND unit = $3 AND minute >= $4 AND minute < $5 AND workflow_id = ANY($6::text[])
      AND customer_id = ANY($7::text[]) GROUP BY 1, 2, 3
  ), counts AS (
    SELECT minute, sum(n) AS total, sum(n) FILTER (WHERE status = 'completed') AS completed,
      sum(n) FILTER (WHERE status = 'failed') AS failed, sum(n) FILTER (WHERE status = 'cancelled') AS cancelled,
      sum(n) FILTER (WHERE status = 'timed_out') AS timed_out FROM s GROUP BY 1
  ), durations AS (
    SELECT minute, slot, sum(sum(n)) OVER (PARTITION BY minute ORDER BY slot) AS upto,
      sum(sum(n)) OVER (PARTITION BY minute) AS total FROM s WHERE slot >= 0 GROUP BY 1, 2
  ), percentiles AS (
    SELECT minute, min(slot) FILTER (WHERE upto >= 0.5 * total) AS p50, min(slot) FILTER (WHERE upto >= 0.95 * total) AS p95
    FROM durations GROUP BY 1
  )
  SELECT c.minute, c.total::float8, COALESCE(c.completed, 0)::float8 AS completed, COALESCE(c.failed, 0)::float8 AS failed,
    COALESCE(c.cancelled, 0)::float8 AS cancelled, COALESCE(c.timed_out, 0)::float8 AS "timedOut", p.p50, p.p95
  FROM counts c LEFT JOIN percentiles p USING (minute) ORDER BY c.minute`

/** Of `''` the sums of all. Examples that were erased are left out. */
const failuresSql = `WITH f AS (
    SELECT workflow_id, step, error, sum(n) AS n, max(last_at) AS last_at FROM execution_failures
    WHERE org = $1 AND space = $2 AND unit = $3 AND minute >= $4 AND minute < $5
      AND ($6::text[] IS NULL OR workflow_id = ANY($6)) AND customer_id = ANY($7::text[])
    GROUP BY 1, 2, 3 ORDER BY 4 DESC, 5 DESC LIMIT ${statsLimits.failures}
  )
  SELECT NULLIF(f.workflow_id, '') AS "workflowId", NULLIF(f.step, '') AS step, f.error, f.n::float8 AS count,
    to_char(f.last_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "lastAt",
    ARRAY(SELECT DISTINCT e.id FROM execution_failures x, unnest(x.examples) AS one JOIN executions e ON e.id = one AND e.org = $1
      WHERE x.org = $1 AND x.space = $2 AND x.unit = $3 AND x.minute >= $4 AND x.minute < $5 AND x.customer_id = ANY($7::text[])
        AND x.workflow_id = f.workflow_id AND x.step = f.step AND x.error = f.error ORDER BY 1 DESC LIMIT 3) AS examples
  FROM f ORDER BY f.n DESC, f.last_at DESC`

const decodeBucket = rowDecoder("execution_stats", {
  minute: Schema.Number,
  total: Schema.Number,
  completed: Schema.Number,
  failed: Schema.Number,
  cancelled: Schema.Number,
  timedOut: Schema.Number,
  p50: Schema.NullOr(Schema.Number),
  p95: Schema.NullOr(Schema.Number)
})
const decodeFailure = rowDecoder("execution_failures", {
  workflowId: NullableText,
  step: NullableText,
  error: Schema.String,
  count: Schema.Number,
  lastAt: Schema.String,
  examples: Schema.Array(Schema.String)
})

const percentile = (slot: number | null) => (slot === null ? null : slotMillis(slot))
const asOrganisation = organisationReader("executions.read_failed")
const dayMinutes = bucketSizes.day.minutes
const hourMinutes = bucketSizes.hour.minutes

const reads = Layer.effect(
  ExecutionStats,
  Effect.map(AppSql, (sql) => {
    const values = (
      unit: number,
      { customerIds = [""], from, to, workflowIds }: StatsQuery,
      all: ReadonlyArray<string> | null
    ) => [unit, from, to, workflowIds ?? all, customerIds]
    return ExecutionStats.of({
      buckets: ({ organisationId, spaceId }, size, query) =>
        asOrganisation(
          sql,
          organisationId,
          sql.unsafe(bucketsSql, [organisationId, spaceId, ...values(bucketSizes[size].minutes, query, [""])])
        ).pipe(
          Effect.map((rows) =>
            rows.map((row) => {
              const { minute, p50, p95, ...counts } = decodeBucket(row)
              const from = new Date(minute * 60_000).toISOString()
              return { from, ...counts, p50Ms: percentile(p50), p95Ms: percentile(p95) }
            })
          )
        ),
      failures: ({ organisationId, spaceId }, query) => {
        const unit = query.from % dayMinutes === 0 && query.to % dayMinutes === 0 ? dayMinutes : hourMinutes
        return asOrganisation(
          sql,
          organisationId,
          sql.unsafe(failuresSql, [organisationId, spaceId, ...values(unit, query, null)])
        ).pipe(Effect.map((rows) => rows.map(decodeFailure)))
      }
    })
  })
)

/**
 * Adds the runs that ended since the last pass, of any node.
 * @internal Tests run it.
 */
export const sumExecutions = Effect.flatMap(WriterSql, (sql) =>
  Effect.repeat(Effect.map(sql.unsafe("SELECT svc_sum_executions() AS n"), countOf), {
    while: (added) => added >= most
  })
)

/** The task. */
export const sums = Layer.scopedDiscard(
  Effect.flatMap(backgroundTask("executions.sum", sumExecutions), ({ run }) => repeatEvery(interval, run))
)

export const layer = reads
