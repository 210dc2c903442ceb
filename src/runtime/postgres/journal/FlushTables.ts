/** The tables that a flush inserts into. */
import {
  eventColumns,
  eventRow,
  eventValues,
  eventValuesBeyond,
  queueColumns,
  queuedEventRow,
  queuedRunRow,
  queueValues,
  queueValuesBeyond
} from "./EventRow.js"
import { runAuditRow } from "../AuditRow.js"
import { addCounts, countedColumns } from "../event/EventCounts.js"
import { lanes } from "../event/LaneParts.js"
import { isBeyond, quotas } from "../quota/QuotaDecision.js"
import { tickFailures } from "../trigger/ScheduleParts.js"
import { type ColumnTypes, type FlushPart, noRows, type PreparedUnit, type Row } from "./FlushPart.js"
import type { OrganisationVault } from "../../../actors/ports/Vault.js"
import { eventTable, type FlushTable, runTable } from "./FlushTable.js"
import { encodeEntry, journalColumns, journalValues } from "./JournalRow.js"
import { endedColumns, endedRow, openColumns, openRow, timestamp } from "./RunColumns.js"
import { idsOf, type Unit } from "./Unit.js"
import { JsonText } from "../../../domain/Json.js"

const runs = runTable<ColumnTypes>({
  name: "runs",
  columns: openColumns,
  conflict: "ON CONFLICT (id) DO NOTHING",
  rows: ({ open }) => (open === undefined ? noRows : [openRow(open)])
})

const executions = runTable<ColumnTypes>({
  name: "executions",
  columns: endedColumns,
  conflict: "ON CONFLICT (id, class) DO NOTHING",
  returning: (has) => (has(tickFailures) ? "id" : ""),
  rows: ({ end }) => (end === undefined ? noRows : [endedRow(end)])
})

export const journal = runTable({
  name: "journal",
  columns: journalColumns,
  expressions: () => journalValues,
  conflict: "ON CONFLICT (id, seq) DO NOTHING",
  rows: ({ epoch, id, journal, open }, vault) => {
    if (journal === undefined || journal.length === 0) return noRows
    const sealer = vault()
    const writer = epoch ?? open?.epoch ?? 1
    return journal.map(({ entry, seq }) => encodeEntry(sealer, { id, seq, epoch: writer }, entry))
  }
})

const steps = runTable({
  name: "steps",
  columns: { id: "text", class: "smallint", org: "text", index: "int", status: "text", path: "text", record: "json" },
  conflict:
    "ON CONFLICT (id, class, index) DO UPDATE SET status = excluded.status, path = excluded.path, record = excluded.record",
  rows: ({ id, organisationId: org, retention, steps = noRows }) =>
    steps.map(({ index, path, record, status }) => ({ id, class: retention, org, index, status, path, record }))
})

const logs = runTable({
  name: "logs",
  columns: { id: "text", class: "smallint", org: "text", seq: "int", lines: "json" },
  conflict: "ON CONFLICT (id, class, seq) DO NOTHING",
  rows: ({ id, logs = noRows, organisationId: org, retention }) =>
    logs.map(({ lines, seq }) => ({ id, class: retention, org, seq, lines }))
})

const blobs = runTable({
  name: "blobs",
  columns: { id: "text", class: "smallint", org: "text", blob_id: "text", content: "json" },
  conflict: "ON CONFLICT (id, class, blob_id) DO NOTHING",
  rows: ({ blobs = noRows, id, organisationId: org, retention }) =>
    blobs.map((blob) => ({ id, class: retention, org, blob_id: blob.id, content: blob.content }))
})

const startQueue = eventTable({
  name: "start_queue",
  columns: queueColumns,
  expressions: (has) => (has(quotas) ? queueValuesBeyond(isBeyond) : queueValues),
  conflict: "ON CONFLICT (id) DO NOTHING",
  rows: ({ event, runs }) => [
    ...runs.flatMap((run) => queuedRunRow(run)),
    ...(event?.receives === undefined ? noRows : [queuedEventRow(event.receives)])
  ]
})

const events = eventTable({
  name: "events",
  columns: eventColumns,
  expressions: (has) => (has(quotas) ? eventValuesBeyond(isBeyond) : eventValues),
  conflict: "ON CONFLICT (id) DO NOTHING",
  returning: () => countedColumns.join(", "),
  rows: ({ event }, vault) => (event?.receives === undefined ? noRows : [eventRow(event.receives.event, vault)])
})

const eventRecords = eventTable({
  name: "event_records",
  columns: { ...eventColumns, finished_at: "timestamptz" },
  expressions: () => `${eventValues}, finished_at`,
  conflict: "ON CONFLICT (id, class) DO NOTHING",
  returning: () => countedColumns.join(", "),
  rows: ({ event }, vault) =>
    event?.records === undefined
      ? noRows
      : [{ ...eventRow(event.records.event, vault), finished_at: timestamp(event.records.event.receivedAt) }]
})

const auditEntries = runTable({
  name: "audit_entries",
  columns: {
    run: "text",
    id: "text",
    org: "text",
    at: "timestamptz",
    actor_type: "text",
    actor_id: "text",
    action: "text",
    resource_type: "text",
    resource_id: "text",
    customer_id: "text",
    outcome: "text",
    entry: "json"
  },
  conflict: "ON CONFLICT (id) DO NOTHING",
  rows: ({ audit, id }) => (audit === undefined ? noRows : [{ run: id, ...runAuditRow(audit) }])
})

const deliveries = runTable({
  name: "deliveries",
  columns: {
    run: "text",
    id: "text",
    org: "text",
    space: "text",
    kind: "text",
    url: "text",
    endpoint_id: "text",
    event_type: "text",
    execution_id: "text",
    payload: "text"
  },
  conflict: "ON CONFLICT (id) DO NOTHING",
  rows: ({ deliveries = noRows, id: run, organisationId: org, spaceId: space }) =>
    deliveries.map(({ endpointId, eventType, id, kind, payload, url }) => ({
      run,
      id,
      org,
      space,
      kind,
      url,
      endpoint_id: endpointId,
      event_type: eventType,
      execution_id: run,
      payload
    }))
})

export const flushTables: ReadonlyArray<FlushTable> = [
  runs,
  executions,
  journal,
  steps,
  logs,
  blobs,
  startQueue,
  lanes,
  events,
  eventRecords,
  auditEntries,
  deliveries
]

/** Counts the events that a flush inserts; one that is resent after its commit inserts none. */
export const eventCounts: FlushPart = {
  text: ({ has }) => {
    const inserted = [events, eventRecords].filter(has)
    if (inserted.length === 0) return []
    return [`tallied AS (${addCounts(inserted.map(({ name }) => `SELECT * FROM ${name}_in`).join(" UNION ALL "), 1)})`]
  }
}

/** The JSON of a row; a column that is JSON already is added as it is. */
const rowText = (row: Row): string => {
  const text = JSON.stringify(row)
  for (const column in row) {
    const value = row[column]
    if (value instanceof JsonText) return `${text.slice(0, -1)},"${column}":${value.text}}`
  }
  return text
}

/** Makes and serialises the rows of a unit. */
export const prepareUnit = (unit: Unit, vault: () => OrganisationVault): PreparedUnit => {
  const rows: { [table: string]: ReadonlyArray<string> } = {}
  let size = 0
  for (const table of flushTables) {
    const tableRows = table.rows(unit, vault)
    if (tableRows.length === 0) continue
    const lines = tableRows.map(rowText)
    for (const line of lines) size += line.length
    rows[table.name] = lines
  }
  return { unit, ids: idsOf(unit), rows, size }
}
