/**
 * The port `ExecutionReads`. Unfinished executions are rows of `runs`, finished ones of `executions`; a page is read
 * from both by keyset on the id, which sorts by time, and merged. No query counts rows.
 */
import type { Sql } from "../database/Sql.js"
import { Effect, Layer, Option, Schema } from "effect"
import {
  type ExecutionHome,
  ExecutionReads,
  type ExecutionQuery,
  type StepPage,
  type StepQuery
} from "../../../actors/ports/run/ExecutionReads.js"
import { type CommitPosition, firstPosition, isBehind } from "../../../domain/watch/CommitPosition.js"
import type { FinishedRun, OpenRun, RunRecord } from "../../../actors/ports/run/Journal.js"
import { type ExecutionStatus, isTerminal } from "../../../domain/run/Execution.js"
import { type ExecutionDetail, ExecutionView, type ExecutionWithValues } from "../../../domain/run/ExecutionView.js"
import { shownSteps } from "../../../domain/Limits.js"
import { type BlobId, type ExecutionId, type OrganisationId, ulidTime } from "../../../domain/Ids.js"
import { type JsonObject, StoredJson, StoredObject } from "../../../domain/Json.js"
import { isColumn, isTime, selectMembers, sharedColumn } from "../journal/RunColumns.js"
import { NullableText } from "../../../domain/Scalars.js"
import { AppSql } from "../database/Pools.js"
import { currentPosition, isCommittedAfter } from "../database/Positions.js"
import { castRows } from "../database/Sql.js"
import { rowDecoder } from "../record/Table.js"
import { organisationReader, pageReader, readRecentFirst } from "../database/OrganisationRole.js"

/** A run of either table under the names of its members; times are Unix milliseconds. */
interface Row extends Pick<OpenRun, "id" | "retention" | "waiting"> {
  readonly status: ExecutionStatus
  /** For a run that has ended it has also the members without a column in `executions`. */
  readonly record: RunRecord
  readonly [member: string]: unknown
}

const rfc3339 = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

/** Members of the view that are computed from the row. */
const computedMembers: {
  readonly [Member in Exclude<keyof ExecutionView, keyof OpenRun | keyof RunRecord | keyof FinishedRun> | "waiting"]: (
    row: Row,
    view: { readonly [member: string]: unknown }
  ) => ExecutionView[Member]
} = {
  waiting: ({ waiting }) => (waiting === null ? null : { ...waiting, until: rfc3339(waiting.until) }),
  durationMs: (_, { finishedAt, startedAt }) =>
    typeof startedAt === "string" && typeof finishedAt === "string"
      ? Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt))
      : null
}

const storedMembers = Object.keys(ExecutionView.fields).filter((member) => !Object.hasOwn(computedMembers, member))
const timeMembers = new Set(storedMembers.filter(isTime))
const hasColumn = (member: string) => isColumn("runs", member) || isColumn("executions", member)
/** Where each member of the view is stored: in a column, or in the document `record`. */
const sources = {
  runs: storedMembers.map((member) => ({ member, isColumn: isColumn("runs", member) })),
  executions: storedMembers.map((member) => ({ member, isColumn: isColumn("executions", member) }))
}

const viewOf = (row: Row): ExecutionView => {
  const document: { readonly [member: string]: unknown } = { ...row.record }
  const view: { [member: string]: unknown } = {}
  for (const { isColumn, member } of isTerminal(row.status) ? sources.executions : sources.runs) {
    const value = (isColumn ? row[member] : document[member]) ?? null
    view[member] = typeof value === "number" && timeMembers.has(member) ? rfc3339(value) : value
  }
  for (const [member, compute] of Object.entries(computedMembers)) view[member] = compute(row, view)
  // The members are those of the schema, and their columns have the types that the ports name.
  return view as ExecutionView
}

const listMembers = [...new Set([...storedMembers.filter(hasColumn), "id", "retention", "waiting", "record"])]
const detailMembers = [...listMembers, "input", "output"]
const tables = ["runs", "executions"] as const
const listSql = {
  runs: `SELECT ${selectMembers("runs", listMembers)} FROM runs`,
  executions: `SELECT ${selectMembers("executions", listMembers)} FROM executions`
}
const findSql = tables
  .map(
    (table) => `SELECT ${selectMembers(table, detailMembers)} FROM ${table} WHERE org = $1 AND space = $2 AND id = $3`
  )
  .join(" UNION ALL ")

const decodeStep = rowDecoder("steps", {
  index: Schema.Number,
  status: Schema.String,
  record: Schema.NullOr(StoredObject)
})
const decodeLines = rowDecoder("logs", {
  seq: Schema.Number,
  lines: Schema.Array(Schema.Struct({ at: Schema.String, level: Schema.String, message: Schema.String }))
})
const decodeBlob = rowDecoder("blobs", { content: StoredJson })

const openStatuses: ReadonlyArray<string> = ["pending", "running", "waiting"]

/** The statuses of rows that are shown as this one. */
const rowStatuses = (status: string, isEnded: boolean): ReadonlyArray<string> => {
  if (!isEnded) return [status]
  if (status === "failed") return [status, ...openStatuses]
  return openStatuses.includes(status) ? [] : [status]
}

const decodeStatus = rowDecoder("steps", {
  name: NullableText,
  call: NullableText,
  status: Schema.Literal("pending", "running", "waiting", "completed", "failed", "skipped")
})

/** Shows a step as failed if it was still open when its run was ended from outside. */
const closeStep = (step: JsonObject, isEnded: boolean): JsonObject =>
  isEnded && openStatuses.includes(String(step["status"]))
    ? {
        ...step,
        status: "failed",
        error: { name: "Cancelled", message: "the run ended while this step ran", category: "cancelled" }
      }
    : step

/** With one id an index yields the rows in the page's order; `ANY` of several does not. */
const anyOf = (
  member: "workflowId" | "customerId",
  ids: ReadonlyArray<string>,
  add: (value: unknown) => string
): string =>
  ids.length === 1 ? `${sharedColumn(member)} = ${add(ids[0])}` : `${sharedColumn(member)} = ANY(${add(ids)})`

const conditions = (query: ExecutionQuery, add: (value: unknown) => string): ReadonlyArray<string> => [
  ...(query.before === undefined ? [] : [`id < ${add(query.before)}`]),
  ...(query.from === undefined ? [] : [`id >= ${add(`exec_${ulidTime(query.from)}`)}`]),
  ...(query.to === undefined ? [] : [`id < ${add(`exec_${ulidTime(query.to)}`)}`]),
  ...(query.workflowIds === undefined ? [] : [anyOf("workflowId", query.workflowIds, add)]),
  ...(query.environments === undefined ? [] : [`record->>'environment' = ANY(${add(query.environments)})`]),
  ...(query.triggerType === undefined ? [] : [`${sharedColumn("triggerType")} = ${add(query.triggerType)}`]),
  // As the index on it says.
  ...(query.parentId === undefined
    ? []
    : [`${sharedColumn("triggerType")} = 'rerun'`, `record->>'parentId' = ${add(query.parentId)}`]),
  ...(query.customerIds === undefined ? [] : [anyOf("customerId", query.customerIds, add)]),
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

const asOrganisation = organisationReader("executions.read_failed")
const forPage = pageReader("executions.read_failed")
/** Of several customers or workflows, no index has the rows in the order of the page. */
const readerOf = ({ customerIds, workflowIds }: ExecutionQuery) =>
  (customerIds?.length ?? 1) === 1 && (workflowIds?.length ?? 1) === 1 ? forPage : asOrganisation

const page = (sql: Sql, { organisationId, spaceId }: ExecutionHome, query: ExecutionQuery) => {
  const values: Array<unknown> = [organisationId, spaceId]
  const add = (value: unknown) => `$${values.push(value)}`
  const where = [`org = $1`, `space = $2`, ...conditions(query, add)].join(" AND ")
  const limit = add(query.limit)
  const queriedTables =
    query.status === undefined ? tables : isTerminal(query.status) ? (["executions"] as const) : (["runs"] as const)
  const parts = queriedTables.map((table) => `(${listSql[table]} WHERE ${where} ORDER BY id DESC LIMIT ${limit})`)
  // Not decoded, since the reply's schema checks each value that is shown.
  return castRows<Row>(
    sql.unsafe(`SELECT * FROM (${parts.join(" UNION ALL ")}) AS page ORDER BY id DESC LIMIT ${limit}`, values)
  )
}

const list = (sql: Sql, home: ExecutionHome, query: ExecutionQuery) =>
  readRecentFirst(
    query,
    (part) => page(sql, home, part),
    (rows) => rows.length === query.limit
  )

const find = (sql: Sql, { organisationId, spaceId }: ExecutionHome, id: ExecutionId) =>
  // Not decoded, for the same reason.
  castRows<Row & Pick<ExecutionDetail, "input" | "output">>(
    sql.unsafe(`${findSql} LIMIT 1`, [organisationId, spaceId, id])
  )

/** The end of a run shows its open steps as failed, without writing them. */
const changedSince = ({ end, open }: CommitPosition, isEnded: boolean, add: (value: unknown) => string): string => {
  const [last, running] = [add(end), add(open)]
  const isChanged = isCommittedAfter("steps", last, running)
  const hasEnded = `EXISTS (SELECT FROM executions e WHERE e.id = $2 AND e.class = $3 AND ${isCommittedAfter("e", last, running)})`
  return isEnded ? `(${isChanged} OR status = ANY(${add(openStatuses)}) AND ${hasEnded})` : isChanged
}

/** The first rows, as far as they fit: one at least, and one more than the limit tells that there are more. */
const steps = (sql: Sql, organisation: OrganisationId, row: Row, query: StepQuery) => {
  const values: Array<unknown> = [organisation, row.id, row.retention, query.after]
  const add = (value: unknown) => `$${values.push(value)}`
  const isEnded = isTerminal(row.status)
  const path = query.path === undefined ? undefined : add(query.path)
  const where = [
    "org = $1 AND id = $2 AND class = $3 AND index > $4",
    ...(path === undefined
      ? []
      : [`(path = ${path} OR starts_with(path, ${path} || '.') OR starts_with(path, ${path} || '['))`]),
    ...(query.status === undefined ? [] : [`status = ANY(${add(rowStatuses(query.status, isEnded))})`]),
    ...(query.since === undefined ? [] : [changedSince(query.since, isEnded, add)])
  ].join(" AND ")
  const limit = add(query.limit + 1)
  return sql
    .unsafe(
      `SELECT index, status, CASE WHEN nth = 1 OR total <= ${shownSteps.bytes} THEN record END AS record
      FROM (SELECT index, status, record, row_number() OVER (ORDER BY index) AS nth,
          sum(octet_length(record::text)) OVER (ORDER BY index) AS total
        FROM (SELECT index, status, record FROM steps WHERE ${where} ORDER BY index LIMIT ${limit}) AS first) AS sized
      ORDER BY index`,
      values
    )
    .pipe(
      Effect.map((rows): StepPage => {
        const found = rows.map(decodeStep)
        const shown = found
          .slice(0, query.limit)
          .flatMap(({ index, record, status }) =>
            record === null ? [] : [{ index, step: closeStep({ ...record, status }, isEnded) }]
          )
        return { steps: shown, hasMore: shown.length < found.length }
      })
    )
}

const recorded = Effect.fnUntraced(function* (sql: Sql, home: ExecutionHome, id: ExecutionId) {
  const [row] = yield* find(sql, home, id)
  if (row === undefined) return Option.none()
  const view: ExecutionWithValues = { ...viewOf(row), input: row.input ?? null, output: row.output ?? null }
  return Option.some({ row, view, record: row.record, retention: row.retention })
})

const detail = Effect.fnUntraced(function* (sql: Sql, home: ExecutionHome, id: ExecutionId) {
  const known = yield* recorded(sql, home, id)
  if (Option.isNone(known)) return Option.none()
  const { row, view } = known.value
  const shown = yield* steps(sql, home.organisationId, row, { after: -1, limit: shownSteps.most })
  const found: ExecutionDetail = {
    ...view,
    steps: shown.steps.map(({ step }) => step),
    ...(shown.hasMore ? { stepsTruncated: true } : {})
  }
  return Option.some(found)
})

/** Different rows that are read: a flow has 200 steps. */
const mostStatuses = 2_000
/** Rows of calls outside of steps, whose names stand at the beginning of their records, which can be large. */
const mostCalls = 1_000
const callName = `substring(left(record::text, 400) FROM '^\\{"name":"connector[.]([^"#]*)#')`

const stepStatuses = Effect.fnUntraced(function* (sql: Sql, home: ExecutionHome, id: ExecutionId) {
  const [row] = yield* find(sql, home, id)
  if (row === undefined) return Option.none()
  const isEnded = isTerminal(row.status)
  const rows = yield* sql.unsafe(
    `SELECT DISTINCT * FROM (
       (SELECT regexp_replace(path, '^.*[.]', '') AS name, NULL AS call, status FROM steps
         WHERE org = $1 AND id = $2 AND class = $3 AND path !~ '[^]][.]')
       UNION ALL
       (SELECT NULL, ${callName}, status FROM steps
         WHERE org = $1 AND id = $2 AND class = $3 AND path IS NULL ORDER BY index LIMIT ${mostCalls})) AS found
     LIMIT ${mostStatuses}`,
    [home.organisationId, row.id, row.retention]
  )
  const found = rows.map(decodeStatus)
  return Option.some(
    found.map((one) => (isEnded && openStatuses.includes(one.status) ? { ...one, status: "failed" as const } : one))
  )
})

const stepPage = Effect.fnUntraced(function* (sql: Sql, home: ExecutionHome, id: ExecutionId, query: StepQuery) {
  // First, so that what is committed meanwhile is read again rather than missed.
  const position = query.since === undefined ? undefined : yield* currentPosition(sql)
  const [row] = yield* find(sql, home, id)
  if (row === undefined) return Option.none()
  const since = position !== undefined && isBehind(position, query.since ?? position) ? firstPosition : query.since
  const found = yield* steps(sql, home.organisationId, row, { ...query, since })
  return Option.some({ ...found, ...(position === undefined ? {} : { position }) })
})

const logs = (sql: Sql, organisation: OrganisationId, id: ExecutionId, after: number, limit: number) =>
  sql`
  SELECT seq, lines FROM logs WHERE org = ${organisation} AND id = ${id} AND seq + json_array_length(lines) > ${after + 1}
  ORDER BY seq LIMIT ${limit}`.pipe(
    Effect.map((chunks) =>
      chunks
        .map(decodeLines)
        .flatMap((chunk) => chunk.lines.map((line, i) => ({ seq: chunk.seq + i, ...line })))
        .filter((line) => line.seq > after)
        .slice(0, limit)
    )
  )

export const layer = Layer.effect(
  ExecutionReads,
  Effect.gen(function* () {
    const sql = yield* AppSql

    return ExecutionReads.of({
      list: (home, query) =>
        readerOf(query)(sql, home.organisationId, list(sql, home, query)).pipe(Effect.map((rows) => rows.map(viewOf))),
      get: (home, id) => asOrganisation(sql, home.organisationId, detail(sql, home, id)),
      find: (home, id) => asOrganisation(sql, home.organisationId, recorded(sql, home, id)),
      stepStatuses: (home, id) => asOrganisation(sql, home.organisationId, stepStatuses(sql, home, id)),
      steps: (home, id, query) => asOrganisation(sql, home.organisationId, stepPage(sql, home, id, query)),
      logs: (organisation, id, after, limit) =>
        asOrganisation(sql, organisation, logs(sql, organisation, id, after, limit)),
      blob: (organisation, id, blob: BlobId) =>
        asOrganisation(
          sql,
          organisation,
          sql`SELECT content FROM blobs WHERE org = ${organisation} AND id = ${id} AND blob_id = ${blob}`
        ).pipe(Effect.map(([row]) => Option.map(Option.fromNullable(row), (found) => decodeBlob(found).content)))
    })
  })
)
