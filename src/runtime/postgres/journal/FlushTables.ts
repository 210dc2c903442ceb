/**
 * The tables that a flush inserts into: their columns, the rows that a unit adds, and what happens when a row exists
 * already.
 */
import type { RunChange } from "../../../actors/ports/Journal.js"
import type { OrganisationVault } from "../../../actors/ports/Vault.js"
import type { Unit } from "./Unit.js"
import {
  eventColumns,
  eventRow,
  eventValues,
  queueColumns,
  queuedEventRow,
  queuedRunRow,
  queueValues
} from "./EventRow.js"
import { runAuditRow } from "../AuditRow.js"
import { encodeEntry, journalColumns, journalValues } from "./JournalRow.js"
import { endedColumns, endedRow, openColumns, openRow, timestamp } from "./RunColumns.js"

/** Columns with their types in Postgres. */
export type ColumnTypes = { readonly [column: string]: string }

export type Row = { readonly [column: string]: unknown }

/** What rows are made with, beside the change. */
export interface RowContext {
  /** The vault of the change's organisation. */
  readonly vault: () => OrganisationVault
}

interface FlushTable<C extends ColumnTypes> {
  /** A column `run` is not inserted: it names the row's change if the row's own id is not the run's. */
  readonly columns: C
  /** The expressions to insert, if they are not simply the columns. */
  readonly values?: string
  readonly conflict: string
  readonly rows: (unit: Unit, context: RowContext) => ReadonlyArray<{ readonly [Column in keyof C]: unknown }>
}

interface RunTable<C extends ColumnTypes> extends Omit<FlushTable<C>, "rows"> {
  readonly rows: (change: RunChange, context: RowContext) => ReadonlyArray<{ readonly [Column in keyof C]: unknown }>
}

/** A table whose rows are those of the unit's runs. */
const runTable = <const C extends ColumnTypes>({ rows, ...table }: RunTable<C>): FlushTable<C> => ({
  ...table,
  rows: ({ runs }, context) => {
    const [only] = runs
    if (only === undefined) return noRows
    return runs.length === 1 ? rows(only, context) : runs.flatMap((run) => rows(run, context))
  }
})

/** A table whose rows are those of the unit's event. */
const eventTable = <const C extends ColumnTypes>(table: FlushTable<C>): FlushTable<C> => table

/** The same array for all units that add nothing to a table. */
const noRows: ReadonlyArray<never> = []

export const flushTables = {
  runs: runTable<ColumnTypes>({
    columns: openColumns,
    conflict: "ON CONFLICT (id) DO NOTHING",
    rows: ({ open }) => (open === undefined ? noRows : [openRow(open)])
  }),
  executions: runTable<ColumnTypes>({
    columns: endedColumns,
    conflict: "ON CONFLICT (id, class) DO NOTHING",
    rows: ({ end }) => (end === undefined ? noRows : [endedRow(end)])
  }),
  journal: runTable({
    columns: journalColumns,
    values: journalValues,
    conflict: "ON CONFLICT (id, seq) DO NOTHING",
    rows: ({ epoch, id, journal, open }, { vault }) => {
      if (journal === undefined || journal.length === 0) return noRows
      const sealer = vault()
      const writer = epoch ?? open?.epoch ?? 1
      return journal.map(({ entry, seq }) => encodeEntry(sealer, { id, seq, epoch: writer }, entry))
    }
  }),
  steps: runTable({
    columns: { id: "text", class: "smallint", org: "text", index: "int", status: "text", record: "json" },
    conflict: "ON CONFLICT (id, class, index) DO UPDATE SET status = excluded.status, record = excluded.record",
    rows: ({ id, organisationId: org, retention, steps = noRows }) =>
      steps.map(({ index, record, status }) => ({ id, class: retention, org, index, status, record }))
  }),
  logs: runTable({
    columns: { id: "text", class: "smallint", org: "text", seq: "int", lines: "json" },
    conflict: "ON CONFLICT (id, class, seq) DO NOTHING",
    rows: ({ id, logs = noRows, organisationId: org, retention }) =>
      logs.map(({ lines, seq }) => ({ id, class: retention, org, seq, lines }))
  }),
  blobs: runTable({
    columns: { id: "text", class: "smallint", org: "text", blob_id: "text", content: "json" },
    conflict: "ON CONFLICT (id, class, blob_id) DO NOTHING",
    rows: ({ blobs = noRows, id, organisationId: org, retention }) =>
      blobs.map((blob) => ({ id, class: retention, org, blob_id: blob.id, content: blob.content }))
  }),
  start_queue: eventTable({
    columns: queueColumns,
    values: queueValues,
    conflict: "ON CONFLICT (id) DO NOTHING",
    rows: ({ event, runs }) => [
      ...runs.flatMap((run) => queuedRunRow(run)),
      ...(event?.receives === undefined ? noRows : [queuedEventRow(event.receives)])
    ]
  }),
  lanes: runTable({
    columns: { run: "text", org: "text", lane: "text", execution_id: "text" },
    conflict: "ON CONFLICT DO NOTHING",
    rows: ({ id, open, organisationId: org }) =>
      open?.record.lane === undefined ? noRows : [{ run: id, org, lane: open.record.lane, execution_id: id }]
  }),
  events: eventTable({
    columns: eventColumns,
    values: eventValues,
    conflict: "ON CONFLICT (id) DO NOTHING",
    rows: ({ event }, { vault }) => (event?.receives === undefined ? noRows : [eventRow(event.receives.event, vault)])
  }),
  event_records: eventTable({
    columns: { ...eventColumns, finished_at: "timestamptz" },
    values: `${eventValues}, finished_at`,
    conflict: "ON CONFLICT (id, class) DO NOTHING",
    rows: ({ event }, { vault }) =>
      event?.records === undefined
        ? noRows
        : [{ ...eventRow(event.records.event, vault), finished_at: timestamp(event.records.event.receivedAt) }]
  }),
  audit_entries: runTable({
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
  }),
  deliveries: runTable({
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
} as const

export type FlushTableName = keyof typeof flushTables

// The keys of the object above.
export const flushTableNames = Object.keys(flushTables) as ReadonlyArray<FlushTableName>
