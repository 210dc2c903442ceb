/** The port `Polls`. */
import { Effect, Layer } from "effect"
import { type DuePoll, type FoundPoll, Polls } from "../../actors/ports/Polls.js"
import { outwardPlaces } from "../../domain/Limits.js"
import { notSetAside } from "./FailedJobs.js"
import { placedCtes, roomValues } from "./PlaceRoom.js"
import { WriterSql } from "./Pools.js"
import { databaseUnavailable } from "./DatabaseUnavailable.js"

export interface PollsOptions {
  /** No other node uses this database, so leases found at the start belong to a process that has ended. */
  readonly isOnlyNode: boolean
}

const leaseSeconds = 60

/** The triggers `t` on polled events, with the connections `c` that they are for. */
const polledBy = (triggers: string) => `triggers t JOIN connections c ON c.org = t.org
  AND c.connector = t.app_event->>'connector' AND c.disconnected_at IS NULL
  AND (t.app_event->>'connectionId' IS NULL OR t.app_event->>'connectionId' = c.id)
  AND (t.customer_id IS NULL OR t.customer_id = c.customer_id)
  WHERE t.type = 'app_event' AND t.app_event->>'delivery' = 'poll' AND t.deleted_at IS NULL AND ${triggers}`

const createSql = `INSERT INTO polls (connection_id, event, org, connector)
  SELECT DISTINCT c.id, t.app_event->>'event', c.org, c.connector FROM ${polledBy("t.status = 'active' AND c.status = 'active'")}
  ON CONFLICT DO NOTHING`

// A disabled trigger keeps its poll, so that enabling it finds what changed meanwhile.
const deleteSql = `DELETE FROM polls p WHERE NOT EXISTS (
  SELECT FROM ${polledBy("c.id = p.connection_id AND t.app_event->>'event' = p.event")})`

const isDue = "d.next_at <= now() AND (d.leased_until IS NULL OR d.leased_until < now())"
const id = "d.connection_id || '|' || d.event"

const findSql = `WITH ${placedCtes(
  `d.connection_id, d.event, ${id} AS id`,
  `polls d WHERE ${isDue} AND ${notSetAside("events.poll", id)}
    AND EXISTS (SELECT FROM ${polledBy("t.status = 'active' AND c.status = 'active' AND c.id = d.connection_id AND t.app_event->>'event' = d.event")})`,
  { org: "d.org", partner: "d.connection_id", at: "d.next_at" },
  outwardPlaces.polls
)} SELECT id, org AS "organisationId", partner, connection_id AS "connectionId", event FROM placed ORDER BY place, due_at`

const leaseSql = `UPDATE polls p SET leased_until = now() + interval '${leaseSeconds} seconds'
  FROM (SELECT d.connection_id, d.event FROM polls d
    WHERE (d.connection_id, d.event) IN (SELECT * FROM unnest($1::text[], $2::text[])) AND ${isDue}
    FOR UPDATE OF d SKIP LOCKED) due
  WHERE p.connection_id = due.connection_id AND p.event = due.event
  RETURNING p.org AS "organisationId", p.connection_id AS "connectionId", p.connector, p.event, p.seq, p.failures`

export const layer = ({ isOnlyNode }: PollsOptions) =>
  Layer.effect(
    Polls,
    Effect.gen(function* () {
      const sql = yield* WriterSql
      if (isOnlyNode) yield* sql`UPDATE polls SET leased_until = NULL WHERE leased_until IS NOT NULL`

      const reschedule = ({ connectionId, event, seq }: DuePoll, assignments: string, values: ReadonlyArray<unknown>) =>
        sql
          .unsafe(
            `UPDATE polls SET ${assignments}, leased_until = NULL WHERE connection_id = $1 AND event = $2 AND seq = $3`,
            [connectionId, event, seq, ...values]
          )
          .pipe(Effect.asVoid, Effect.mapError(databaseUnavailable))

      return Polls.of({
        reconcile: Effect.zipRight(sql.unsafe(createSql), sql.unsafe(deleteSql)).pipe(
          Effect.asVoid,
          Effect.mapError(databaseUnavailable)
        ),
        find: (room) => sql.unsafe<FoundPoll>(findSql, roomValues(room)).pipe(Effect.mapError(databaseUnavailable)),
        lease: (found) =>
          sql
            .unsafe<DuePoll>(leaseSql, [found.map(({ connectionId }) => connectionId), found.map(({ event }) => event)])
            .pipe(Effect.mapError(databaseUnavailable)),
        renew: ({ connectionId, event }) =>
          sql`UPDATE polls SET leased_until = now() + make_interval(secs => ${leaseSeconds})
          WHERE connection_id = ${connectionId} AND event = ${event}`.pipe(
            Effect.asVoid,
            Effect.mapError(databaseUnavailable)
          ),
        seen: ({ connectionId, event }) =>
          sql<{ readonly key: string; readonly hash: string }>`SELECT key, hash FROM poll_items
          WHERE connection_id = ${connectionId} AND event = ${event}`.pipe(
            Effect.map((rows) => new Map(rows.map(({ hash, key }) => [key, hash]))),
            Effect.mapError(databaseUnavailable)
          ),
        commit: ({ connectionId, event, organisationId, seq }, { pauseSeconds, removed, stored }) =>
          sql`WITH mine AS (UPDATE polls SET seq = seq + 1, failures = 0, last_error = NULL, polled_at = now(),
              leased_until = NULL, next_at = now() + make_interval(secs => ${pauseSeconds})
            WHERE connection_id = ${connectionId} AND event = ${event} AND seq = ${seq} RETURNING seq),
          gone AS (DELETE FROM poll_items i USING mine WHERE i.connection_id = ${connectionId} AND i.event = ${event}
            AND i.key = ANY(${removed}))
          INSERT INTO poll_items (connection_id, event, org, key, hash)
            SELECT ${connectionId}, ${event}, ${organisationId}, t.key, t.hash
            FROM json_to_recordset(${JSON.stringify(stored)}::json) AS t(key text, hash text), mine
            ON CONFLICT (connection_id, event, key) DO UPDATE SET hash = excluded.hash`.pipe(
            Effect.asVoid,
            Effect.mapError(databaseUnavailable)
          ),
        fail: (poll, error, pauseSeconds) =>
          reschedule(
            poll,
            "failures = failures + 1, last_error = $4, next_at = now() + make_interval(secs => $5::float8)",
            [error.slice(0, 500), pauseSeconds]
          ),
        postpone: (poll, pauseSeconds) =>
          reschedule(poll, "next_at = now() + make_interval(secs => $4::float8)", [pauseSeconds])
      })
    })
  )
