/**
 * Executions for the API. Unfinished ones stand in `runs`, finished ones in `executions`; a page is read from both by
 * keyset on the id, which is time, and merged. No query counts.
 */
import { Clock, Duration, Effect, Layer, Option } from "effect"
import { type ExecutionHome, ExecutionReads, type ExecutionQuery } from "../../actors/ports/ExecutionReads.js"
import type { RetentionClass, RunRecord } from "../../actors/ports/Journal.js"
import { isTerminal, type ExecutionStatus, type Tier, type Waiting } from "../../domain/Execution.js"
import type { ExecutionDetail, ExecutionView, LogLine } from "../../domain/ExecutionView.js"
import { Unavailable } from "../../domain/Failure.js"
import {
  type BlobId,
  type CustomerId,
  type ExecutionId,
  type OrganisationId,
  timeOfId,
  ulidTime,
  type WorkflowId
} from "../../domain/Ids.js"
import { isObject, type Json } from "../../domain/Json.js"
import { AppSql } from "./Pools.js"

interface Row {
  readonly id: ExecutionId
  readonly class: RetentionClass
  readonly status: ExecutionStatus
  readonly workflow_id: WorkflowId
  readonly customer_id: CustomerId | null
  readonly record: RunRecord & { readonly [more: string]: unknown }
  readonly tier: Tier
  readonly priority: number
  readonly attempt: number
  readonly waiting: Waiting | null
  readonly created_at: number
  readonly started_at: number | null
  readonly finished_at: number | null
  readonly deadline_at: number
  readonly input?: Json
  readonly output?: Json
}

const millis = (column: string) => `floor(extract(epoch FROM ${column}) * 1000)::float8`
const runColumns = `id, class, status, workflow_id, customer_id, record, tier, priority::int, attempt, waiting,
  ${millis("created_at")} AS created_at, ${millis("started_at")} AS started_at, NULL::float8 AS finished_at, ${millis("deadline_at")} AS deadline_at`
const finishedColumns = `id, class, status, workflow_id, customer_id, record, record->>'tier' AS tier, (record->>'priority')::int AS priority,
  (record->>'attempt')::int AS attempt, NULL::json AS waiting, (record->>'createdAt')::float8 AS created_at,
  (record->>'startedAt')::float8 AS started_at, ${millis("finished_at")} AS finished_at, (record->>'deadlineAt')::float8 AS deadline_at`

const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

const viewOf = (row: Row): ExecutionView => {
  const { record } = row
  return {
    id: row.id,
    workflowId: row.workflow_id,
    workflowName: record.workflowName,
    workflowVersion: record.workflowVersion,
    environment: record.environment,
    tier: row.tier,
    status: row.status,
    statusReason: typeof record["statusReason"] === "string" ? record["statusReason"] : null,
    customerId: row.customer_id,
    customerRef: record.customerRef,
    installationId: record.installationId,
    userId: record.userId,
    trigger: record.trigger,
    priority: row.priority,
    attempt: row.attempt,
    maxAttempts: record.maxAttempts,
    parentId: record.parentId,
    error: json(record["error"]),
    waiting: row.waiting === null ? null : { ...row.waiting, until: iso(row.waiting.until) },
    metrics: json(record["metrics"]),
    metadata: record.metadata,
    createdAt: new Date(row.created_at).toISOString(),
    startedAt: iso(row.started_at),
    finishedAt: iso(row.finished_at),
    deadlineAt: new Date(row.deadline_at).toISOString(),
    durationMs:
      row.started_at === null || row.finished_at === null ? null : Math.max(0, row.finished_at - row.started_at)
  }
}

/** The record is JSON that this service wrote. */
const json = (value: unknown): Json => (value ?? null) as Json

/** A step as it is shown: one that was under way when its run was ended from outside has failed. */
const closeStep = (step: Json, terminal: boolean): Json =>
  terminal &&
  isObject(step) &&
  (step["status"] === "running" || step["status"] === "waiting" || step["status"] === "pending")
    ? {
        ...step,
        status: "failed",
        error: { name: "Cancelled", message: "the run ended while this step ran", category: "cancelled" }
      }
    : step

/** The periods, newest first, that are read for a page before all of time is. */
const nearPeriods = [Duration.days(2), Duration.days(16)]

const unavailable = () => new Unavailable({ reason: "the database cannot be reached", retryAfterSeconds: 1 })

/** Rows of one workflow come from their index in the order of the page; those of several do not. */
const workflowCondition = (ids: ReadonlyArray<string>, add: (value: unknown) => string): string =>
  ids.length === 1 ? `workflow_id = ${add(ids[0])}` : `workflow_id = ANY(${add(ids)})`

const conditions = (query: ExecutionQuery, add: (value: unknown) => string): ReadonlyArray<string> => [
  ...(query.before === undefined ? [] : [`id < ${add(query.before)}`]),
  ...(query.from === undefined ? [] : [`id >= ${add(`exec_${ulidTime(query.from)}`)}`]),
  ...(query.to === undefined ? [] : [`id < ${add(`exec_${ulidTime(query.to)}`)}`]),
  ...(query.workflowIds === undefined ? [] : [workflowCondition(query.workflowIds, add)]),
  ...(query.environments === undefined ? [] : [`record->>'environment' = ANY(${add(query.environments)})`]),
  ...(query.triggerType === undefined ? [] : [`trigger_type = ${add(query.triggerType)}`]),
  ...(query.customerIds === undefined ? [] : [`customer_id = ANY(${add(query.customerIds)})`]),
  ...(query.status === undefined
    ? []
    : [
        `status = ${add(query.status)}`,
        ...(isTerminal(query.status) && query.status !== "completed" ? ["status <> 'completed'"] : [])
      ]),
  ...(query.text === undefined
    ? []
    : [
        `(record->>'workflowName' ILIKE ${add(`%${query.text.replace(/[\\%_]/g, "\\$&")}%`)} OR id = ${add(query.text)} OR record->'error'->>'message' ILIKE ${add(`%${query.text.replace(/[\\%_]/g, "\\$&")}%`)})`
      ])
]

export const layer = Layer.effect(
  ExecutionReads,
  Effect.gen(function* () {
    const sql = yield* AppSql

    /** As the request role: row-level security needs the organisation, and so do the indexes. */
    const scoped = <A>(organisation: OrganisationId, body: Effect.Effect<A, unknown>): Effect.Effect<A, Unavailable> =>
      sql.withTransaction(Effect.zipRight(sql`SELECT set_config('svc.org', ${organisation}, true)`, body)).pipe(
        Effect.tapErrorCause((cause) => Effect.logError("executions.read_failed", cause)),
        Effect.mapError(unavailable)
      )

    const page = ({ organisationId, spaceId }: ExecutionHome, query: ExecutionQuery) => {
      const values: Array<unknown> = [organisationId, spaceId]
      const add = (value: unknown) => `$${values.push(value)}`
      const where = [`org = $1`, `space = $2`, ...conditions(query, add)].join(" AND ")
      const limit = add(query.limit)
      const unfinished = `(SELECT ${runColumns} FROM runs WHERE ${where} ORDER BY id DESC LIMIT ${limit})`
      const finished = `(SELECT ${finishedColumns} FROM executions WHERE ${where} ORDER BY id DESC LIMIT ${limit})`
      const parts =
        query.status === undefined ? [unfinished, finished] : [isTerminal(query.status) ? finished : unfinished]
      return sql.unsafe<Row>(
        `SELECT * FROM (${parts.join(" UNION ALL ")}) AS page ORDER BY id DESC LIMIT ${limit}`,
        values
      )
    }

    /**
     * A page nearly always lies within a few days, that is in a few partitions; opening all partitions costs several times
     * what reading the page does. Earlier days are read only where the page is not full.
     */
    const list = Effect.fnUntraced(function* (home: ExecutionHome, query: ExecutionQuery) {
      const newest = query.before === undefined ? yield* Clock.currentTimeMillis : timeOfId(query.before)
      for (const period of nearPeriods) {
        const since = Math.min(newest, query.to ?? newest) - Duration.toMillis(period)
        if (since <= (query.from ?? 0)) break
        const near = yield* page(home, { ...query, from: since })
        if (near.length === query.limit) return near
      }
      return yield* page(home, query)
    })

    const find = ({ organisationId, spaceId }: ExecutionHome, id: ExecutionId) =>
      sql.unsafe<Row>(
        `SELECT ${runColumns}, input, NULL::json AS output FROM runs WHERE org = $1 AND space = $2 AND id = $3
       UNION ALL SELECT ${finishedColumns}, input, output FROM executions WHERE org = $1 AND space = $2 AND id = $3 LIMIT 1`,
        [organisationId, spaceId, id]
      )

    const steps = (organisation: OrganisationId, row: Row) =>
      sql<{ status: string; record: { readonly [member: string]: Json } }>`
      SELECT status, record FROM steps WHERE org = ${organisation} AND id = ${row.id} AND class = ${row.class} ORDER BY index`.pipe(
        Effect.map((rows) => rows.map(({ record, status }) => closeStep({ ...record, status }, isTerminal(row.status))))
      )

    const detail = Effect.fnUntraced(function* (home: ExecutionHome, id: ExecutionId) {
      const [row] = yield* find(home, id)
      if (row === undefined) return Option.none()
      const view: ExecutionDetail = {
        ...viewOf(row),
        input: row.input ?? null,
        output: row.output ?? null,
        steps: yield* steps(home.organisationId, row)
      }
      return Option.some({ view, record: row.record as RunRecord, retention: row.class })
    })

    const logs = (organisation: OrganisationId, id: ExecutionId, after: number, limit: number) =>
      sql<{ seq: number; lines: ReadonlyArray<Omit<LogLine, "seq">> }>`
      SELECT seq, lines FROM logs WHERE org = ${organisation} AND id = ${id} AND seq + json_array_length(lines) > ${after + 1}
      ORDER BY seq LIMIT ${limit}`.pipe(
        Effect.map((chunks) =>
          chunks
            .flatMap((chunk) => chunk.lines.map((line, i) => ({ seq: chunk.seq + i, ...line })))
            .filter((line) => line.seq > after)
            .slice(0, limit)
        )
      )

    return ExecutionReads.of({
      list: (home, query) =>
        scoped(home.organisationId, list(home, query)).pipe(Effect.map((rows) => rows.map(viewOf))),
      get: (home, id) =>
        scoped(home.organisationId, detail(home, id)).pipe(Effect.map(Option.map((found) => found.view))),
      rerunnable: (home, id) => scoped(home.organisationId, detail(home, id)),
      logs: (organisation, id, after, limit) => scoped(organisation, logs(organisation, id, after, limit)),
      blob: (organisation, id, blob: BlobId) =>
        scoped(
          organisation,
          sql<{
            content: Json
          }>`SELECT content FROM blobs WHERE org = ${organisation} AND id = ${id} AND blob_id = ${blob}`
        ).pipe(Effect.map(([row]) => Option.map(Option.fromNullable(row), (found) => found.content)))
    })
  })
)
