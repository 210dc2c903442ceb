/**
 * Counts of accepted events by trigger and minute. The statement that inserts events adds to the counts of its connection,
 * so that an event is missed of which every row is gone.
 */
import { Schema } from "effect"
import { rowDecoder } from "../record/Table.js"

/** What `addCounts` needs of an event's row. */
export const countedColumns = ["id", "class", "org", "space", "trigger_id", "status"] as const

const key = "org, minute, space, trigger_id, writer, class"

/** Adds the rows of events that `selected` gives, `times` each. Rejected ones were not accepted. */
export const addCounts = (selected: string, times: 1 | -1): string =>
  `INSERT INTO event_counts (${key}, n)
     SELECT a.org, svc_event_minute(a.id) AS minute, a.space, COALESCE(a.trigger_id, ''), pg_backend_pid(), a.class, ${times} * count(*)
     FROM (${selected}) a WHERE a.status <> 'rejected' GROUP BY 1, 2, 3, 4, 6
     ON CONFLICT (${key}) DO UPDATE SET n = event_counts.n + excluded.n`

/** Whether the events of a minute and retention, and so their counts, are all kept. */
export const areCountsKept = (minute: string, retention: string): string =>
  `${minute} >= extract(epoch FROM now() - ${retention} * interval '1 day') / 60`

/** Tables whose rows belong to a workspace. */
export type CountedTable = "events" | "event_records" | "executions" | "dead_letters"

/** Which rows count: conditions for a table's alias, and the values of their parameters `$4` and following. */
export interface CountScope {
  readonly events: (alias: string, table: CountedTable) => string
  readonly counts: (table: string) => string
  readonly values: ReadonlyArray<unknown>
}

/** Selects `MissingEvents`. `$1` and `$2`: minutes, from and to. `$3`: rows of the answer. */
export const missingSql = ({ counts, events }: CountScope): string => {
  const rows = (table: "events" | "event_records") =>
    `SELECT t.space, t.trigger_id, t.id, t.class FROM ${table} t WHERE t.id >= svc_ulid_bound('evt', to_timestamp($1::int * 60::bigint))
      AND t.id < svc_ulid_bound('evt', to_timestamp($2::int * 60::bigint)) AND t.status <> 'rejected' AND ${events("t", table)}`
  return `SELECT c.space AS "spaceId", NULLIF(c.trigger_id, '') AS "triggerId", c.minute, sum(c.n - COALESCE(k.n, 0))::int AS events
    FROM (SELECT c.space, c.trigger_id, c.minute, c.class, sum(c.n) AS n FROM event_counts c
      WHERE c.minute >= $1 AND c.minute < $2 AND ${areCountsKept("c.minute", "c.class")} AND ${counts("c")} GROUP BY 1, 2, 3, 4) c
    LEFT JOIN (SELECT r.space, COALESCE(r.trigger_id, '') AS trigger_id, svc_event_minute(r.id) AS minute, r.class, count(*) AS n
      FROM (${rows("events")} UNION ALL ${rows("event_records")}) r GROUP BY 1, 2, 3, 4) k USING (space, trigger_id, minute, class)
    WHERE c.n > COALESCE(k.n, 0) GROUP BY 1, 2, 3 ORDER BY c.minute, 2 LIMIT $3`
}

/** Decodes the accepted events of a trigger and a minute of which no row is left. */
export const decodeMissing = rowDecoder("event_counts", {
  spaceId: Schema.String,
  /** `null`: events that name no trigger, such as those of connectors. */
  triggerId: Schema.NullOr(Schema.String),
  /** Minutes since 1970. */
  minute: Schema.Number,
  events: Schema.Number
})
export type MissingEvents = ReturnType<typeof decodeMissing>
