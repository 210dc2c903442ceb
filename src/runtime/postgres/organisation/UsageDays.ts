/** The ports `UsageReads` and `UsageMeter`, and the hourly count of events and executions. */
import { Duration, Effect, Layer, Schema } from "effect"
import { backgroundTask, repeatEvery } from "../../../actors/BackgroundTask.js"
import { UsageMeter, UsageReads } from "../../../actors/ports/organisation/UsageReads.js"
import { CustomerId, type OrganisationId } from "../../../domain/Ids.js"
import { UsageDay } from "../../../domain/organisation/Usage.js"
import { WriterSql } from "../database/Pools.js"
import { databaseUnavailable, recordsOf } from "../database/DatabaseUnavailable.js"
import { countOf, rowDecoder } from "../record/Table.js"

const decodeTop = rowDecoder("rate_windows", { customerId: CustomerId, used: Schema.Number })
const decodeDay = rowDecoder("usage_days", UsageDay)

const flushInterval = Duration.seconds(10)

const reads = Layer.effect(
  UsageReads,
  Effect.gen(function* () {
    const sql = yield* WriterSql

    return UsageReads.of({
      granted: (organisation, bucket, start) =>
        sql`SELECT granted AS n FROM rate_windows
          WHERE org = ${organisation} AND bucket = ${bucket} AND minute = ${new Date(start)}`.pipe(
          Effect.map(countOf),
          Effect.mapError(databaseUnavailable)
        ),
      topCustomers: ({ accountId, organisationId }, start) =>
        recordsOf(
          sql`SELECT c.id AS "customerId", w.granted AS used FROM rate_windows w
          JOIN customers c ON c.id = substr(w.bucket, 8) AND c.org = ${organisationId}
          WHERE w.org = ${accountId} AND w.bucket LIKE 'starts|%' AND w.minute = ${new Date(start)}
          ORDER BY w.granted DESC, w.bucket LIMIT 20`,
          decodeTop
        ),
      days: (organisation, from, to) =>
        recordsOf(
          sql`SELECT to_char(day, 'YYYY-MM-DD') AS date, events::int AS events, api_calls::int AS "apiCalls", executions::int AS executions,
            0 AS "agentSessions", 0 AS "llmTokens"
          FROM usage_days WHERE org = ${organisation} AND day BETWEEN ${from}::date AND ${to}::date ORDER BY day`,
          decodeDay
        )
    })
  })
)

/** Calls since the last flush, by organisation. */
const meter = Layer.scoped(
  UsageMeter,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    const calls = new Map<OrganisationId, number>()
    const flush = Effect.suspend(() => {
      const counted = [...calls]
      calls.clear()
      return counted.length === 0
        ? Effect.void
        : sql`INSERT INTO usage_days (org, day, api_calls)
            SELECT c.org, (now() AT TIME ZONE 'UTC')::date, c.n
            FROM unnest(${counted.map(([org]) => org)}::text[], ${counted.map(([, n]) => n)}::int[]) AS c (org, n)
            ON CONFLICT (org, day) DO UPDATE SET api_calls = usage_days.api_calls + excluded.api_calls`.pipe(
            Effect.tapError(() =>
              Effect.sync(() => {
                for (const [org, n] of counted) calls.set(org, (calls.get(org) ?? 0) + n)
              })
            )
          )
    })
    const task = yield* backgroundTask("usage.flush", flush)
    yield* Effect.addFinalizer(() => Effect.ignore(flush))
    yield* repeatEvery(flushInterval, task.run, "later")

    return UsageMeter.of({
      countCall: (organisation) => void calls.set(organisation, (calls.get(organisation) ?? 0) + 1)
    })
  })
)

export const layer = Layer.merge(reads, meter)

const bound = (prefix: string, day: string) =>
  `'${prefix}_' || substr(svc_ulid_bound((${day})::timestamp AT TIME ZONE 'UTC'), 6)`
const ofDay = (column: string, prefix: string) =>
  `${column} >= ${bound(prefix, "d.day")} AND ${column} < ${bound(prefix, "d.day + 1")}`
/** Events of earlier releases have no units. */
const units = (event: string) =>
  `sum(COALESCE((${event}.record->>'units')::int, (${event}.source IN ('webhook', 'poll', 'app_event', 'manual'))::int))`

/** Part of the hourly maintenance: counts today and yesterday anew. Ids sort by time, so the primary keys find the rows. */
export const countDays = Effect.flatMap(WriterSql, (sql) =>
  sql.unsafe(`
    WITH d AS (SELECT (now() AT TIME ZONE 'UTC')::date - n AS day FROM generate_series(0, 1) n),
    counts AS (
      SELECT x.org, d.day, 0 AS events, count(*) AS executions, count(*) FILTER (WHERE x.trigger_type IN ('api', 'rerun')) AS starts
      FROM d JOIN executions x ON ${ofDay("x.id", "exec")} GROUP BY 1, 2
      UNION ALL
      SELECT e.org, d.day, ${units("e")}, 0, 0 FROM d JOIN events e ON ${ofDay("e.id", "evt")} GROUP BY 1, 2
      UNION ALL
      SELECT r.org, d.day, ${units("r")}, 0, 0 FROM d JOIN event_records r ON ${ofDay("r.id", "evt")}
      WHERE r.status IN ('delivered', 'dead') GROUP BY 1, 2
    )
    INSERT INTO usage_days (org, day, events, executions)
    SELECT org, day, sum(events + starts), sum(executions) FROM counts GROUP BY 1, 2
    ON CONFLICT (org, day) DO UPDATE SET events = excluded.events, executions = excluded.executions`)
)
