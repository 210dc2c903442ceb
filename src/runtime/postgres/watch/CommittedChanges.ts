/**
 * The port `CommittedChanges` on the writer's pool, since one read serves the watchers of all organisations. Rows are found
 * by the transaction that wrote them: see `CommitPosition`.
 */
import { Duration, Effect, Layer, Option, Schema } from "effect"
import {
  type ChangeQuery,
  type CommittedChange,
  CommittedChanges,
  type RunSign
} from "../../../actors/ports/watch/CommittedChanges.js"
import { sessionLimits } from "../../../domain/access/Session.js"
import { ExecutionId } from "../../../domain/Ids.js"
import { ExecutionStatus } from "../../../domain/run/Execution.js"
import { NullableText } from "../../../domain/Scalars.js"
import { isBehind, positionText, readPosition } from "../../../domain/watch/CommitPosition.js"
import type { WatchPosition } from "../../../domain/watch/WatchPosition.js"
import { RecordTopic, watchLimits } from "../../../domain/watch/WatchTopic.js"
import { databaseUnavailable } from "../database/DatabaseUnavailable.js"
import { WriterSql } from "../database/Pools.js"
import { rowDecoder } from "../record/Table.js"

/** Changes of one read, of each table: more are not told one by one anyway. */
const most = 10_000

const positionColumns = `pg_current_snapshot()::text AS position,
  floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`

/** Changes of a topic that are equal in these columns are told to the same watchers: see `WatchReach`. */
const reachColumns =
  "org, space, customer_id, workflow_id, environment, connector, reader, CASE WHEN topic = 'connections' THEN id END"

/**
 * The last change of each record, and of those that reach the same watchers `$6` at most, the first with the number of the
 * others. One row at least, which has the position. Without commits since the position nothing is read.
 */
const sinceSql = `/* svc_changes_since */ WITH changes AS (SELECT DISTINCT ON (topic, id) *
    FROM svc_committed_changes($1::text[], $2::text::xid8, $3::text[]::xid8[], $4::text[], ${most})
    WHERE pg_current_snapshot()::text <> $5 ORDER BY topic, id, n DESC)
  SELECT ${positionColumns}, c.topic, c.id, c.status, c.org, c.space, c.customer_id AS "customerId",
    c.workflow_id AS "workflowId", c.environment, c.connector, c.reader, c.changed::text::float8 AS transaction,
    floor(extract(epoch FROM c.at) * 1000)::float8 AS at,
    CASE WHEN c.place = 1 THEN greatest(c.alike - $6::int, 0) ELSE 0 END::float8 AS more, COALESCE(c.found, 0)::float8 AS found
  FROM (SELECT) AS one LEFT JOIN (SELECT *, count(*) OVER () AS found, count(*) OVER (alike) AS alike,
      row_number() OVER (alike ORDER BY n, id) AS place
    FROM changes WINDOW alike AS (PARTITION BY topic, ${reachColumns})) AS c
    ON c.place <= $6::int ORDER BY c.n, c.id`

/** Each commit of a run locks its row, if it does not write it. */
const openRunsSql =
  "/* svc_open_runs */ SELECT id, status, xmin::text || ' ' || xmax::text AS sign FROM runs WHERE id = ANY($1::text[])"
const endedRunsSql =
  "/* svc_ended_runs */ SELECT id, status, 'ended' AS sign FROM executions WHERE id = ANY($1::text[])"

const idleSeconds = Duration.toSeconds(sessionLimits.idle)

/** One row at least, which has the position. */
const rightsSql = `/* svc_watch_rights */ SELECT one.*, found.* FROM (SELECT ${positionColumns}) AS one LEFT JOIN (
  SELECT k.id AS credential,
    concat_ws('|', k.version, k.hash, k.before_until IS NULL OR k.before_until > now(), o.status, o.plan) AS rights
  FROM api_keys k JOIN organisations o ON o.id = k.org
  WHERE k.id = ANY($1::text[]) AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
  UNION ALL
  SELECT s.id || ' ' || u.id, concat_ws('|', u.version, r.version, u.role_id, r.permissions, u.customer_ids, o.status)
  FROM sessions s JOIN users u ON u.identity_id = s.identity_id JOIN roles r ON r.id = u.role_id
    JOIN organisations o ON o.id = u.org
  WHERE s.id = ANY($2::text[]) AND u.id = ANY($3::text[]) AND u.status = 'active' AND s.expires_at > now()
    AND s.last_seen_at > now() - ${idleSeconds} * interval '1 second') AS found ON true`

const decodePosition = rowDecoder("of positions", { position: Schema.String, now: Schema.Number })
const decodeFound = rowDecoder("of changes", { found: Schema.Number })
const decodeChange = rowDecoder("of changes", {
  topic: RecordTopic,
  id: Schema.String,
  status: Schema.String,
  at: Schema.Number,
  org: Schema.String,
  space: NullableText,
  customerId: NullableText,
  workflowId: NullableText,
  environment: NullableText,
  connector: NullableText,
  reader: NullableText,
  transaction: Schema.Number,
  more: Schema.Number
})
const decodeSign = rowDecoder("runs", { id: ExecutionId, status: ExecutionStatus, sign: Schema.String })
const decodeRights = rowDecoder("of rights", { credential: NullableText, rights: NullableText })

const positionOf = (row: object): WatchPosition => {
  const { now, position } = decodePosition(row)
  const commits = Option.getOrThrowWith(readPosition(position), () => new Error("Postgres has no position of commits"))
  return { at: now, commits }
}

const changeOf = (row: object): CommittedChange => {
  const { org, space, ...change } = decodeChange(row)
  return { ...change, organisationId: org, spaceId: space }
}

const isChange = (row: object): boolean => Reflect.get(row, "topic") !== null

export const layer = Layer.effect(
  CommittedChanges,
  Effect.gen(function* () {
    const sql = yield* WriterSql

    const since = Effect.fnUntraced(function* (query: ChangeQuery) {
      const { commits } = query.since
      const named = query.isEach ? most : watchLimits.messagesPerSecond
      const values = [query.topics, commits.end, commits.open, query.organisations, positionText(commits), named]
      const rows = yield* sql.unsafe(sinceSql, values)
      const [first = {}] = rows
      const reached = positionOf(first)
      return {
        position: reached,
        changes: rows.filter(isChange).map(changeOf),
        isCut: decodeFound(first).found > most || isBehind(reached.commits, commits)
      }
    }, Effect.mapError(databaseUnavailable))

    const runs = Effect.fnUntraced(function* (ids: ReadonlyArray<ExecutionId>) {
      if (ids.length === 0) return []
      const open = (yield* sql.unsafe(openRunsSql, [ids])).map((row) => decodeSign(row))
      const others = ids.filter((id) => !open.some((one) => one.id === id))
      if (others.length === 0) return open
      return [...open, ...(yield* sql.unsafe(endedRunsSql, [others])).map((row): RunSign => decodeSign(row))]
    }, Effect.mapError(databaseUnavailable))

    const rights: CommittedChanges["Type"]["rights"] = Effect.fnUntraced(function* (credentials) {
      const listed = (member: "keyId" | "sessionId" | "userId") => [
        ...new Set(credentials.flatMap((one) => one[member] ?? []))
      ]
      const rows = yield* sql.unsafe(rightsSql, [listed("keyId"), listed("sessionId"), listed("userId")])
      const [first = {}] = rows
      const found = new Map(
        rows.flatMap((row) => {
          const { credential, rights: text } = decodeRights(row)
          return credential === null || text === null ? [] : [[credential, text] as const]
        })
      )
      return {
        position: positionOf(first),
        texts: credentials.map(
          ({ keyId, sessionId, userId }) => found.get(keyId ?? `${sessionId ?? ""} ${userId ?? ""}`) ?? null
        )
      }
    }, Effect.mapError(databaseUnavailable))

    return CommittedChanges.of({ since, runs, rights })
  })
)
