/** The port `Polls`. */
import { Effect, Layer, Schema } from "effect"
import { type DuePoll, Polls } from "../../../actors/pipeline/PollSweep.js"
import { outwardPlaces } from "../../../domain/Limits.js"
import { databaseUnavailable, execute } from "../database/DatabaseUnavailable.js"
import {
  endFormerLeases,
  keyOf,
  makeFind,
  makeLeasedWork,
  type PlacedKind,
  settleSql,
  type WorkKind
} from "../LeasedWork.js"
import { WriterSql } from "../database/Pools.js"
import { rowDecoder } from "../record/Table.js"

/** The triggers `t` on polled events, with the connections `c` that they are for. */
const polledBy = (triggers: string): string => `triggers t JOIN connections c ON c.org = t.org
  AND c.connector = t.app_event->>'connector' AND c.disconnected_at IS NULL
  AND (t.app_event->>'connectionId' IS NULL OR t.app_event->>'connectionId' = c.id)
  AND (t.customer_id IS NULL OR t.customer_id = c.customer_id)
  WHERE t.type = 'app_event' AND t.app_event->>'delivery' = 'poll' AND t.deleted_at IS NULL AND ${triggers}`

/** Polls of connections: those with an active trigger and an active connection. */
const kind = {
  task: "events.poll",
  table: "polls",
  key: ["connection_id", "event"],
  isDue: "w.next_at <= now()",
  isWanted: `EXISTS (SELECT FROM ${polledBy(
    "t.status = 'active' AND c.status = 'active' AND c.id = w.connection_id AND t.app_event->>'event' = w.event"
  )})`,
  dueAt: "w.next_at",
  lease: { seconds: 60 },
  columns: `w.connection_id AS "connectionId", w.connector, w.event, w.seq, w.failures`,
  partner: "w.connection_id",
  bounds: outwardPlaces.polls
} as const satisfies WorkKind & PlacedKind

/** No other node has committed the poll since. */
const isCurrent = "w.seq = $3"

const isPolled = "t.status = 'active' AND c.status = 'active'"
const createSql = `INSERT INTO polls (connection_id, event, org, connector)
  SELECT DISTINCT c.id, t.app_event->>'event', c.org, c.connector FROM ${polledBy(isPolled)}
  ON CONFLICT DO NOTHING`

// A disabled trigger keeps its poll, so that enabling it finds what changed meanwhile.
const isOrphan = `NOT EXISTS (SELECT FROM ${polledBy("c.id = p.connection_id AND t.app_event->>'event' = p.event")})`
const deleteSql = `DELETE FROM polls p WHERE ${isOrphan}`

const isMissing = "NOT EXISTS (SELECT FROM polls p WHERE p.connection_id = c.id AND p.event = t.app_event->>'event')"
/** Whether `reconcile` would change something. */
const areStale = `EXISTS (SELECT FROM ${polledBy(`${isPolled} AND ${isMissing}`)})
  OR EXISTS (SELECT FROM polls p WHERE ${isOrphan})`

export const work = [kind, areStale] as const

const commitSql = `WITH mine AS (
    ${settleSql(
      kind,
      "seq = seq + 1, failures = 0, last_error = NULL, polled_at = now(), next_at = now() + make_interval(secs => $4::float8)",
      isCurrent
    )} RETURNING w.connection_id, w.event, w.org
  ), gone AS (
    DELETE FROM poll_items i USING mine
    WHERE i.connection_id = mine.connection_id AND i.event = mine.event AND i.key = ANY($5::text[])
  )
  INSERT INTO poll_items (connection_id, event, org, key, hash)
    SELECT mine.connection_id, mine.event, mine.org, t.key, t.hash
    FROM json_to_recordset($6::json) AS t(key text, hash text), mine
    ON CONFLICT (connection_id, event, key) DO UPDATE SET hash = excluded.hash`

const failSql = settleSql(
  kind,
  "failures = failures + 1, last_error = $4, next_at = now() + make_interval(secs => $5::float8)",
  isCurrent
)
const postponeSql = settleSql(kind, "next_at = now() + make_interval(secs => $4::float8)", isCurrent)

const decodeItem = rowDecoder("poll_items", { key: Schema.String, hash: Schema.String })

export const layer = Layer.effect(
  Polls,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    yield* endFormerLeases(sql, kind)
    const { lease, renew } = makeLeasedWork<DuePoll>(sql, kind)

    const settle = (text: string, { id, seq }: DuePoll, ...values: ReadonlyArray<unknown>) =>
      execute(sql.unsafe(text, [...keyOf(kind, id), seq, ...values]))

    return Polls.of({
      find: makeFind(sql, kind),
      lease,
      renew,
      reconcile: execute(Effect.zipRight(sql.unsafe(createSql), sql.unsafe(deleteSql))),
      seen: ({ connectionId, event }) =>
        sql`SELECT key, hash FROM poll_items
          WHERE connection_id = ${connectionId} AND event = ${event}`.pipe(
          Effect.map((rows) => new Map(rows.map(decodeItem).map(({ hash, key }) => [key, hash]))),
          Effect.mapError(databaseUnavailable)
        ),
      commit: (poll, { pauseSeconds, removed, stored }) =>
        settle(commitSql, poll, pauseSeconds, removed, JSON.stringify(stored)),
      fail: (poll, error, pauseSeconds) => settle(failSql, poll, error.slice(0, 500), pauseSeconds),
      postpone: (poll, pauseSeconds) => settle(postponeSql, poll, pauseSeconds)
    })
  })
)
