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
import { RecordTopic } from "../../../domain/watch/WatchTopic.js"
import { databaseUnavailable } from "../database/DatabaseUnavailable.js"
import { WriterSql } from "../database/Pools.js"
import { rowDecoder } from "../record/Table.js"

/** Changes of one read, of each table: more are not told one by one anyway. */
const most = 10_000

const positionColumns = `pg_current_snapshot()::text AS position,
  floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`

/** One row at least, which has the position. Without commits since the position nothing is read. */
const sinceSql = `SELECT ${positionColumns}, c.topic, c.id, c.status, c.org, c.space, c.customer_id AS "customerId",
    c.workflow_id AS "workflowId", c.environment, c.connector, c.reader, c.changed::text::float8 AS transaction, floor(extract(epoch FROM c.at) * 1000)::float8 AS at
  FROM (SELECT) AS one LEFT JOIN svc_committed_changes($1::text[], $2::text::xid8, $3::text[]::xid8[], $4::text[], ${most}) AS c
    ON pg_current_snapshot()::text <> $5 ORDER BY c.n`

/** Each commit of a run locks its row, if it does not write it. */
const openRunsSql = "SELECT id, status, xmin::text || ' ' || xmax::text AS sign FROM runs WHERE id = ANY($1::text[])"
const endedRunsSql = "SELECT id, status, 'ended' AS sign FROM executions WHERE id = ANY($1::text[])"

const idleSeconds = Duration.toSeconds(sessionLimits.idle)

const rightsSql = `SELECT k.id AS credential,
    concat_ws('|', k.version, k.hash, k.before_until IS NULL OR k.before_until > now(), o.status, o.plan) AS rights
  FROM api_keys k JOIN organisations o ON o.id = k.org
  WHERE k.id = ANY($1::text[]) AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
  UNION ALL
  SELECT s.id || ' ' || u.id, concat_ws('|', u.version, r.version, u.role_id, r.permissions, u.customer_ids, o.status)
  FROM sessions s JOIN users u ON u.identity_id = s.identity_id JOIN roles r ON r.id = u.role_id
    JOIN organisations o ON o.id = u.org
  WHERE s.id = ANY($2::text[]) AND u.id = ANY($3::text[]) AND u.status = 'active' AND s.expires_at > now()
    AND s.last_seen_at > now() - ${idleSeconds} * interval '1 second'`

const decodePosition = rowDecoder("of positions", { position: Schema.String, now: Schema.Number })
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
  transaction: Schema.Number
})
const decodeSign = rowDecoder("runs", { id: ExecutionId, status: ExecutionStatus, sign: Schema.String })
const decodeRights = rowDecoder("of rights", { credential: Schema.String, rights: Schema.String })

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

    const position = Effect.flatMap(sql.unsafe(`SELECT ${positionColumns}`), ([row]) =>
      Effect.sync(() => positionOf(row ?? {}))
    ).pipe(Effect.mapError(databaseUnavailable))

    const since = Effect.fn("CommittedChanges.since")(function* ({ organisations, since, topics }: ChangeQuery) {
      const { commits } = since
      const values = [topics, commits.end, commits.open, organisations, positionText(commits)]
      const rows = yield* sql.unsafe(sinceSql, values)
      const reached = positionOf(rows[0] ?? {})
      const found = rows.filter(isChange)
      const latest = new Map(found.map((row) => [`${Reflect.get(row, "topic")} ${Reflect.get(row, "id")}`, row]))
      return {
        position: reached,
        changes: [...latest.values()].map(changeOf),
        isCut: found.length > most || isBehind(reached.commits, commits)
      }
    }, Effect.mapError(databaseUnavailable))

    const runs = Effect.fn("CommittedChanges.runs")(function* (ids: ReadonlyArray<ExecutionId>) {
      if (ids.length === 0) return []
      const open = (yield* sql.unsafe(openRunsSql, [ids])).map((row) => decodeSign(row))
      const others = ids.filter((id) => !open.some((one) => one.id === id))
      if (others.length === 0) return open
      return [...open, ...(yield* sql.unsafe(endedRunsSql, [others])).map((row): RunSign => decodeSign(row))]
    }, Effect.mapError(databaseUnavailable))

    const rights: CommittedChanges["Type"]["rights"] = Effect.fn("CommittedChanges.rights")(function* (credentials) {
      if (credentials.length === 0) return []
      const listed = (member: "keyId" | "sessionId" | "userId") => [
        ...new Set(credentials.flatMap((one) => one[member] ?? []))
      ]
      const rows = yield* sql.unsafe(rightsSql, [listed("keyId"), listed("sessionId"), listed("userId")])
      const found = new Map(
        rows.map((row) => {
          const { credential, rights: text } = decodeRights(row)
          return [credential, text] as const
        })
      )
      return credentials.map(
        ({ keyId, sessionId, userId }) => found.get(keyId ?? `${sessionId ?? ""} ${userId ?? ""}`) ?? null
      )
    }, Effect.mapError(databaseUnavailable))

    return CommittedChanges.of({ position, since, runs, rights })
  })
)
