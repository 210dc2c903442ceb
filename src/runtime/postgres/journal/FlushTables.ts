/**
 * The tables that a flush inserts into: their columns, the rows that a change of a run adds, and what happens when a
 * row exists already.
 */
import type { RunChange } from "../../../actors/ports/Journal.js"
import type { OrganisationVault } from "../../../actors/ports/Vault.js"
import { auditRow } from "../AuditRow.js"
import { encodeEntry, journalColumns, journalValues } from "./JournalRow.js"
import { endedColumns, endedRow, openColumns, openRow, timestamp } from "./RunColumns.js"

/** Columns with their types in Postgres. */
export type ColumnTypes = { readonly [column: string]: string }

export type Row = { readonly [column: string]: unknown }

/** What rows are made with, beside the change. */
export interface RowContext {
  /** The vault of the change's organisation. */
  readonly vault: () => OrganisationVault
  /** The next virtual tag of the organisation. */
  readonly vtag: () => number
}

interface FlushTable<C extends ColumnTypes> {
  /** A column `run` is not inserted: it names the row's change if the row's own id is not the run's. */
  readonly columns: C
  /** The expressions to insert, if they are not simply the columns. */
  readonly values?: string
  readonly conflict: string
  readonly rows: (change: RunChange, context: RowContext) => ReadonlyArray<{ readonly [Column in keyof C]: unknown }>
}

const flushTable = <const C extends ColumnTypes>(table: FlushTable<C>): FlushTable<C> => table

/** The same array for all changes that add nothing to a table. */
const noRows: ReadonlyArray<never> = []

export const flushTables = {
  runs: {
    columns: openColumns,
    conflict: "ON CONFLICT (id) DO NOTHING",
    rows: ({ open }: RunChange): ReadonlyArray<Row> => (open === undefined ? noRows : [openRow(open)])
  },
  executions: {
    columns: endedColumns,
    conflict: "ON CONFLICT (id, class) DO NOTHING",
    rows: ({ end }: RunChange): ReadonlyArray<Row> => (end === undefined ? noRows : [endedRow(end)])
  },
  journal: flushTable({
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
  steps: flushTable({
    columns: { id: "text", class: "smallint", org: "text", index: "int", status: "text", record: "json" },
    conflict: "ON CONFLICT (id, class, index) DO UPDATE SET status = excluded.status, record = excluded.record",
    rows: ({ id, organisationId: org, retention, steps = noRows }) =>
      steps.map(({ index, record, status }) => ({ id, class: retention, org, index, status, record }))
  }),
  logs: flushTable({
    columns: { id: "text", class: "smallint", org: "text", seq: "int", lines: "json" },
    conflict: "ON CONFLICT (id, class, seq) DO NOTHING",
    rows: ({ id, logs = noRows, organisationId: org, retention }) =>
      logs.map(({ lines, seq }) => ({ id, class: retention, org, seq, lines }))
  }),
  blobs: flushTable({
    columns: { id: "text", class: "smallint", org: "text", blob_id: "text", content: "json" },
    conflict: "ON CONFLICT (id, class, blob_id) DO NOTHING",
    rows: ({ blobs = noRows, id, organisationId: org, retention }) =>
      blobs.map((blob) => ({ id, class: retention, org, blob_id: blob.id, content: blob.content }))
  }),
  start_queue: flushTable({
    columns: { id: "text", org: "text", shard: "int", priority: "smallint", vtag: "bigint", not_before: "timestamptz" },
    conflict: "ON CONFLICT (id) DO NOTHING",
    rows: ({ enqueue, id, open, organisationId: org }, { vtag }) =>
      enqueue === undefined || open === undefined
        ? noRows
        : [
            {
              id,
              org,
              shard: open.shard,
              priority: open.priority,
              vtag: vtag(),
              not_before: timestamp(enqueue.notBefore)
            }
          ]
  }),
  audit_entries: flushTable({
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
    rows: ({ audit, id }) => (audit === undefined ? noRows : [{ run: id, ...auditRow(audit) }])
  }),
  deliveries: flushTable({
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
