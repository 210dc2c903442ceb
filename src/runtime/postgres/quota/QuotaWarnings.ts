/**
 * Tells of quotas that are used to 80 per cent, and of those that are used up, once a day for each: one statement every
 * minute. A claim for the day makes each announcement unique on any number of nodes.
 */
import { Duration, Effect, Layer } from "effect"
import { backgroundTask, repeatEvery } from "../../../actors/BackgroundTask.js"
import { plans } from "../../../domain/organisation/Plan.js"
import { WriterSql } from "../database/Pools.js"

const interval = Duration.minutes(1)
const warnAt = 0.8
const bytesPerMegabyte = 1024 * 1024

const rows = Object.entries(plans).map(([plan, { eventsPerDay, storageMb }]) => ({ plan, eventsPerDay, storageMb }))

/** `$1`: the plans with their limits as JSON. `granted` counts tokens that nodes have leased and not used, at most 20 each. */
const announceSql = `
  WITH plan AS (SELECT * FROM json_to_recordset($1::json) AS p (plan text, "eventsPerDay" int, "storageMb" int)),
  today AS (SELECT date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' AS day),
  used AS (
    SELECT w.org, NULL::text AS customer, 'events_per_day' AS dimension, w.granted::float8 AS used, p."eventsPerDay"::float8 AS most
    FROM rate_windows w JOIN organisations o ON o.id = w.org JOIN plan p ON p.plan = o.plan, today
    WHERE w.bucket LIKE 'starts%' AND w.bucket = 'starts' AND w.minute = today.day
    UNION ALL
    SELECT c.org, c.id, 'events_per_day', w.granted, COALESCE((c.limits->>'events_per_day')::float8, p."eventsPerDay")
    FROM rate_windows w JOIN customers c ON c.id = substr(w.bucket, 8) LEFT JOIN plan p ON p.plan = c.plan, today
    WHERE w.bucket LIKE 'starts%' AND w.bucket <> 'starts' AND w.minute = today.day
    UNION ALL
    SELECT COALESCE(o.parent_id, o.id), NULL, 'storage_mb', floor(sum(s.bytes + s.workspace_bytes) / ${bytesPerMegabyte}.0), p."storageMb"
    FROM storage_usage s JOIN organisations o ON o.id = s.org JOIN plan p ON p.plan = o.plan GROUP BY 1, o.plan, p."storageMb"
  ), reached AS (
    SELECT u.*, t.type FROM used u JOIN (VALUES ('quota.warning', ${warnAt}), ('quota.exceeded', 1.0)) AS t (type, part)
      ON u.most IS NOT NULL AND u.used >= u.most * t.part
  ), told AS (
    INSERT INTO claims (org, scope, key, target_id, expires_at)
    SELECT org, type, day::text || '|' || dimension || '|' || COALESCE(customer, ''), org, day + interval '2 days' FROM reached, today
    ON CONFLICT DO NOTHING RETURNING org, scope, key
  )
  INSERT INTO domain_events (id, org, type, subject, customer_id, payload)
  SELECT svc_new_id('evt'), r.org, r.type, r.dimension || COALESCE('|' || r.customer, ''), r.customer,
    jsonb_build_object('dimension', r.dimension, 'scope', CASE WHEN r.customer IS NULL THEN 'organisation' ELSE 'customer' END,
      'customerId', r.customer, 'used', r.used, 'limit', r.most)
  FROM reached r CROSS JOIN today JOIN told t
    ON t.org = r.org AND t.scope = r.type AND t.key = today.day::text || '|' || r.dimension || '|' || COALESCE(r.customer, '')`

/**
 * One pass.
 * @internal Tests run it.
 */
export const announceQuotas = Effect.flatMap(WriterSql, (sql) => sql.unsafe(announceSql, [JSON.stringify(rows)]))

export const layer = Layer.scopedDiscard(
  Effect.flatMap(backgroundTask("quota.announce", announceQuotas), ({ run }) => repeatEvery(interval, run))
)
