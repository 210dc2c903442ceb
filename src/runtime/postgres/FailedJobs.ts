/** The port `FailedJobs` on the writer's pool, and the condition by which a lease leaves out what is set aside. */
import { Cause, Effect, Layer, Schema } from "effect"
import { FailedJobs } from "../../actors/ports/FailedJobs.js"
import { describe } from "../telemetry/SafeError.js"
import { WriterSql } from "./database/Pools.js"
import { execute, firstRow, recordsOf } from "./database/DatabaseUnavailable.js"
import { AnsweredTime } from "../../domain/Time.js"
import { rowDecoder } from "./record/Table.js"

/** Failures in a row after which a job is set aside. */
const tries = 3
/** The first time for which it is; each further failure doubles it, up to a day. */
const firstMinutes = 15
const longestMinutes = 24 * 60
/** Ids and reasons that `/readyz` names for each task. */
const named = 5

/** A condition of SQL: the job whose id the expression is, is not set aside. */
export const notSetAside = (task: string, id: string): string =>
  `NOT EXISTS (SELECT FROM failed_jobs f WHERE f.task = '${task}' AND f.job = ${id} AND f.set_aside_until > now())`

const isSetAside = `COALESCE(set_aside_until > now(), false) AS "isSetAside"`

/** Failures that are a day apart are not in a row. `$1`: task; `$2`: job; `$3`: organisation; `$4`: reason. */
const recordSql = `
  INSERT INTO failed_jobs AS f (task, job, org, failures, reason) VALUES ($1, $2, $3, 1, $4)
  ON CONFLICT (task, job) DO UPDATE SET
    failures = CASE WHEN GREATEST(f.failed_at, f.set_aside_until) < now() - interval '1 day' THEN 1 ELSE f.failures + 1 END,
    reason = excluded.reason, failed_at = now(),
    set_aside_until = CASE WHEN f.failures + 1 >= ${tries}
        AND GREATEST(f.failed_at, f.set_aside_until) >= now() - interval '1 day'
      THEN now() + LEAST(${firstMinutes} * 2 ^ LEAST(f.failures + 1 - ${tries}, 10), ${longestMinutes}) * interval '1 minute' END
  RETURNING job AS id, failures, ${isSetAside}`

const decodeJob = rowDecoder("failed_jobs", {
  id: Schema.String,
  failures: Schema.Number,
  isSetAside: Schema.Boolean
})
const decodeSetAside = rowDecoder("failed_jobs", {
  task: Schema.String,
  jobs: Schema.Number,
  since: AnsweredTime,
  ids: Schema.Array(Schema.String),
  reasons: Schema.Array(Schema.String)
})

export const layer = Layer.effect(
  FailedJobs,
  Effect.map(WriterSql, (sql) =>
    FailedJobs.of({
      record: (task, { id, organisationId }, cause) =>
        Effect.map(
          firstRow(
            sql.unsafe(recordSql, [task, id, organisationId, describe(Cause.squash(cause)).slice(0, 500)]),
            decodeJob
          ),
          (job) => job ?? { id, failures: 1, isSetAside: false }
        ),
      forget: (task, id) => execute(sql`DELETE FROM failed_jobs WHERE task = ${task} AND job = ${id}`),
      of: (task) =>
        recordsOf(
          sql.unsafe(`SELECT job AS id, failures, ${isSetAside} FROM failed_jobs WHERE task = $1`, [task]),
          decodeJob
        ),
      setAside: recordsOf(
        sql.unsafe(
          `SELECT task, count(*)::int AS jobs, min(first_at) AS since,
             (array_agg(job ORDER BY first_at, job))[1:${named}] AS ids,
             (array_agg(DISTINCT reason))[1:${named}] AS reasons
           FROM failed_jobs WHERE failures >= ${tries} GROUP BY task ORDER BY task`
        ),
        decodeSetAside
      )
    })
  )
)
