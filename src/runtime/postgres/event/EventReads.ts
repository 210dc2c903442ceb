/**
 * The port `EventReads`. Open events are rows of `events`, settled ones of `event_records`; a page is read from both by
 * keyset on the id, which sorts by time, and merged. No query counts rows.
 */
import type { Sql } from "../database/Sql.js"
import { Effect, Layer, Option, Schema } from "effect"
import {
  type AddressedEvents,
  type DeadLetterQuery,
  type EventHome,
  type EventQuery,
  EventReads,
  type RecordScope,
  type ReplaySource,
  type ScopedRecord
} from "../../../actors/ports/event/EventReads.js"
import { Vault } from "../../../actors/ports/Vault.js"
import { type EventFacts, warningsOf } from "../../../domain/event/Event.js"
import { DeadLetterDetail, DeadLetterSummary, type EventDetail, EventSummary } from "../../../domain/event/EventView.js"
import { type OrganisationId, ulidTime } from "../../../domain/Ids.js"
import { AppSql } from "../database/Pools.js"
import { boundedPage } from "./BoundedPage.js"
import { EventRow, exactPayload, selectEvent } from "./EventRows.js"
import { lettersInScope, openEventsInScope, settledEventsInScope } from "./ScopedRows.js"
import { reconcile } from "./Reconcile.js"
import { reconcileScopeOf } from "./ReconcileScopes.js"
import { StoredJson } from "../../../domain/Json.js"
import { rowDecoder } from "../record/Table.js"
import { organisationReader, pageReader, readRecentFirst } from "../database/OrganisationRole.js"

const DetailRow = Schema.Struct({
  ...EventRow.fields,
  settledAt: Schema.NullOr(Schema.Number),
  attempts: Schema.Number,
  deliveries: Schema.NullOr(EventSummary.fields.deliveries)
})
type DetailRow = typeof DetailRow.Type
type ListedRow = Omit<DetailRow, "payload" | "sealed">
const decodeDetail = rowDecoder("events", DetailRow)
const decodeListed = rowDecoder("events", DetailRow.omit("payload", "sealed"))

const withoutPayload = (columns: string) =>
  columns
    .split(", ")
    .filter((column) => !/\.(payload|sealed)$/.test(column))
    .join(", ")

const open = `NULL::float8 AS "settledAt",
  COALESCE((SELECT q.claims FROM start_queue q WHERE q.id = e.id), 0) AS attempts, NULL::json AS deliveries`
const settled = `floor(extract(epoch FROM r.finished_at) * 1000)::float8 AS "settledAt", r.attempts, r.deliveries`
const listSql = {
  events: (source: string) => `SELECT ${withoutPayload(selectEvent("e"))}, ${open} FROM ${source} e`,
  event_records: (source: string) => `SELECT ${withoutPayload(selectEvent("r"))}, ${settled} FROM ${source} r`
}
const findSql = [
  `SELECT ${selectEvent("e")}, ${open} FROM events e`,
  `SELECT ${selectEvent("r")}, ${settled} FROM event_records r`
]
  .map((select) => `${select} WHERE org = $1 AND space = $2 AND id = $3`)
  .join(" UNION ALL ")

const rfc3339 = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

const reasonOf = ({ heldBecause, ignoredBecause, rejectedBecause }: EventFacts): string | null =>
  heldBecause ?? ignoredBecause ?? rejectedBecause ?? null

const summaryOf = (row: ListedRow): EventSummary => {
  const { record } = row
  return {
    id: row.id,
    source: row.source,
    triggerId: row.triggerId,
    connector: row.connector,
    connectionId: row.connectionId,
    customerId: row.customerId,
    type: row.type,
    entity: record.entity,
    action: record.action,
    occurredAt: rfc3339(record.occurredAt),
    receivedAt: new Date(row.receivedAt).toISOString(),
    priority: row.priority,
    idempotencyKey: record.idempotencyKey,
    status: row.status,
    reason: reasonOf(record),
    attempts: row.attempts,
    deliveries: row.deliveries ?? [],
    traceparent: record.traceparent,
    replayOf: record.replayOf,
    duplicateOf: record.duplicateOf ?? null,
    settledAt: rfc3339(row.settledAt)
  }
}

const detailOf = (row: DetailRow): EventDetail => ({
  ...summaryOf(row),
  payload: row.payload,
  warnings: warningsOf(row.record),
  headers: row.record.headers
})

const asOrganisation = organisationReader("events.read_failed")
const forPage = pageReader("events.read_failed")

type Add = (value: unknown) => string

/** Numbers the parameters of a list: first those of its indexed conditions, `$1` the organisation, then those of its filters. */
const parameters = (organisationId: OrganisationId) => {
  const indexedValues: Array<unknown> = [organisationId]
  const filterValues: Array<unknown> = []
  const addIndexed: Add = (value) => `$${indexedValues.push(value)}`
  const addFilter: Add = (value) => `$${indexedValues.length + filterValues.push(value)}`
  return { indexedValues, filterValues, addIndexed, addFilter }
}

/** The bounds on the ids of a page. */
const boundsOf = (query: EventQuery | DeadLetterQuery, prefix: string, add: Add): ReadonlyArray<string> => [
  ...(query.before === undefined ? [] : [`id < ${add(query.before)}`]),
  ...(query.from === undefined ? [] : [`id >= ${add(`${prefix}_${ulidTime(query.from)}`)}`]),
  ...(query.to === undefined ? [] : [`id < ${add(`${prefix}_${ulidTime(query.to)}`)}`])
]

/** Events are routed by their connector or type unless they name their trigger, so that their rows name none. */
const receivedCondition = (triggerId: string, { connectionId, customerId, of, since }: AddressedEvents, add: Add) => {
  const kind =
    "type" in of
      ? `connector IS NULL AND ${of.type.endsWith("*") ? `starts_with(type, ${add(of.type.slice(0, -1))})` : `type = ${add(of.type)}`}`
      : `connector = ${add(of.connector)} AND COALESCE(record->>'connectorEvent', type) = ${add(of.event)}`
  const place = [
    ...(connectionId === null ? [] : [`connection_id = ${add(connectionId)}`]),
    ...(customerId === null ? [] : [`customer_id = ${add(customerId)}`])
  ].map((condition) => ` AND ${condition}`)
  const addressed = `trigger_id IS NULL AND received_at >= ${add(since)}::timestamptz AND ${kind}${place.join("")}`
  return `(trigger_id = ${add(triggerId)} OR ${addressed})`
}

const triggerConditions = (query: EventQuery | DeadLetterQuery, add: Add): ReadonlyArray<string> => {
  if (query.triggerId === undefined) return []
  return "addressed" in query && query.addressed !== undefined
    ? [receivedCondition(query.triggerId, query.addressed, add)]
    : [`trigger_id = ${add(query.triggerId)}`]
}

/** The filters that events and dead letters share. */
const filtersOf = (query: EventQuery | DeadLetterQuery, add: Add): ReadonlyArray<string> => [
  ...triggerConditions(query, add),
  ...(query.connector === undefined ? [] : [`connector = ${add(query.connector)}`]),
  ...(query.type === undefined ? [] : [`type = ${add(query.type)}`]),
  ...(query.customerIds === undefined ? [] : [`customer_id = ANY(${add(query.customerIds)})`]),
  ...(query.status === undefined ? [] : [`status = ${add(query.status)}`])
]

const isOpen = (status: EventQuery["status"]) => status === "received" || status === "held"

type EventTable = keyof typeof listSql

/** The filter whose index finds the rows; without one, the index of all rows of the organisation. */
const indexedBy = ({ addressed, customerIds, status, triggerId }: EventQuery, table: EventTable, add: Add) => {
  if (triggerId !== undefined && addressed === undefined) return [`trigger_id = ${add(triggerId)}`]
  if (customerIds?.length === 1) return [`customer_id = ${add(customerIds[0])}`]
  if (status === "held") return ["status = 'held'"]
  if (table === "event_records" && status !== undefined && status !== "delivered")
    return [`status = ${add(status)}`, "status <> 'delivered'"]
  return []
}

const tablesOf = (status: EventQuery["status"]): ReadonlyArray<EventTable> => {
  if (status === undefined) return ["events", "event_records"]
  return isOpen(status) ? ["events"] : ["event_records"]
}

const page = (sql: Sql, { organisationId, spaceId }: EventHome, query: EventQuery) => {
  const { addFilter, addIndexed, ...values } = parameters(organisationId)
  const bounds = boundsOf(query, "evt", addIndexed)
  const inScope = { events: openEventsInScope, event_records: settledEventsInScope }
  const tables = tablesOf(query.status)
    .map((table) => ({ table, indexed: ["org = $1", ...bounds, ...indexedBy(query, table, addIndexed)] }))
    .map((one) => ({ ...one, select: listSql[one.table], filters: inScope[one.table](query.scope, addFilter) }))
  const filters = [
    `space = ${addFilter(spaceId)}`,
    ...filtersOf(query, addFilter),
    ...(query.source === undefined ? [] : [`source = ${addFilter(query.source)}`])
  ]
  return boundedPage(sql, { tables, filters, ...values, limit: query.limit }, decodeListed)
}

const list = (sql: Sql, home: EventHome, query: EventQuery) =>
  readRecentFirst(
    query,
    (part) => page(sql, home, part),
    ({ lookedTo, rows }) => rows.length === query.limit || lookedTo !== undefined
  )

// --- Dead letters ---

const deadLetterColumns = `id, event_id AS "eventId", execution_id AS "executionId", delivery_id AS "deliveryId",
  trigger_id AS "triggerId", customer_id AS "customerId", connector, type, error, context, retry_count AS "retryCount", status,
  CASE WHEN status IN ('replaying', 'replayed') THEN COALESCE(replay_cause, 'request') END AS "replayCause", replay_id AS "replayId",
  created_at AS "createdAt", expires_at AS "expiresAt"`

const decodeLetter = rowDecoder("dead_letters", DeadLetterSummary)
const decodeLetterDetail = rowDecoder("dead_letters", { ...DeadLetterDetail.fields, payload: StoredJson })

const deadLetters = (sql: Sql, { organisationId, spaceId }: EventHome, query: DeadLetterQuery) => {
  const { addFilter, addIndexed, ...values } = parameters(organisationId)
  const bounds = boundsOf(query, "dlq", addIndexed)
  const indexed = ["org = $1", ...bounds, ...(query.status === "pending" ? ["status = 'pending'"] : [])]
  const inScope = lettersInScope(query.scope, addFilter)
  const filters = [
    ...inScope,
    `space = ${addFilter(spaceId)}`,
    ...filtersOf(query, addFilter),
    ...(query.code === undefined ? [] : [`error->>'code' = ${addFilter(query.code)}`])
  ]
  const select = (source: string) => `SELECT ${deadLetterColumns} FROM ${source} d`
  const tables = [{ table: "dead_letters", select, indexed }]
  return boundedPage(sql, { tables, filters, ...values, limit: query.limit }, decodeLetter)
}

/** How long a request waits for a reconciliation. */
const reconcileMillis = 20_000

/** `$1`, `$2` and `$3`: the organisation, the workspace and the id. */
const isInScopeSql = (kind: ScopedRecord, scope: RecordScope, add: Add): string => {
  const found = (table: string, conditions: ReadonlyArray<string>) =>
    `EXISTS (SELECT FROM ${table} WHERE org = $1 AND space = $2 AND id = $3 AND ${conditions.join(" AND ")})`
  return kind === "event"
    ? `${found("events", openEventsInScope(scope, add))} OR ${found("event_records", settledEventsInScope(scope, add))}`
    : found("dead_letters", lettersInScope(scope, add))
}

export const layer = Layer.effect(
  EventReads,
  Effect.gen(function* () {
    const sql = yield* AppSql
    const vault = yield* Vault

    const find = ({ organisationId, spaceId }: EventHome, id: string) =>
      Effect.map(sql.unsafe(`${findSql} LIMIT 1`, [organisationId, spaceId, id]), ([row]) =>
        Option.map(Option.fromNullable(row), decodeDetail)
      )

    const replaySourceOf = (row: DetailRow) =>
      Effect.map(exactPayload(vault, row), (payload): ReplaySource => ({ ...row, payload }))

    return EventReads.of({
      list: (home, query) =>
        forPage(sql, home.organisationId, list(sql, home, query)).pipe(
          Effect.map((listed) => ({ ...listed, rows: listed.rows.map(summaryOf) }))
        ),
      get: (home, id) =>
        asOrganisation(sql, home.organisationId, find(home, id)).pipe(Effect.map(Option.map(detailOf))),
      replaySource: (home, id) =>
        asOrganisation(
          sql,
          home.organisationId,
          Effect.flatMap(
            find(home, id),
            Option.match({
              onNone: () => Effect.succeedNone,
              onSome: (row) => Effect.asSome(replaySourceOf(row))
            })
          )
        ),
      deadLetters: (home, query) => forPage(sql, home.organisationId, deadLetters(sql, home, query)),
      deadLetter: ({ organisationId, spaceId }, id) =>
        asOrganisation(
          sql,
          organisationId,
          sql.unsafe(
            `SELECT ${deadLetterColumns}, payload FROM dead_letters WHERE org = $1 AND space = $2 AND id = $3`,
            [organisationId, spaceId, id]
          )
        ).pipe(Effect.map(([row]) => Option.map(Option.fromNullable(row), decodeLetterDetail))),
      isInScope: (home, kind, id, scope) => {
        const values: Array<unknown> = [home.organisationId, home.spaceId, id]
        const condition = isInScopeSql(kind, scope, (value) => `$${values.push(value)}`)
        const statement = sql.unsafe(`SELECT ${condition} AS found`, values)
        return Effect.map(asOrganisation(sql, home.organisationId, statement), ([row]) => row?.["found"] === true)
      },
      reconcile: (home, from, to, records) =>
        reconcile(
          (text, values) => asOrganisation(sql, home.organisationId, sql.unsafe(text, values)),
          reconcileScopeOf(home, records),
          { from, to, mostMillis: reconcileMillis }
        )
    })
  })
)
