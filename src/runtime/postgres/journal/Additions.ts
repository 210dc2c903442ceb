/**
 * The tables that a flush adds rows to: of each the columns, what a change of a run adds, and what happens to a row that
 * is there already.
 */
import type { RunChange } from "../../../actors/ports/Journal.js"
import type { OrganisationVault } from "../../../actors/ports/Vault.js"
import { auditRow } from "../AuditRow.js"
import { encodeEntry, journalColumns, journalValues } from "./JournalRow.js"
import { endedColumns, endedRow, openColumns, openRow, timestamp } from "./RunColumns.js"

/** Columns with their types in Postgres. */
export type Columns = { readonly [column: string]: string }

export type Row = { readonly [column: string]: unknown }

/** What rows are made with beside the change. */
export interface RowContext {
  /** Of the change's organisation. */
  readonly vault: () => OrganisationVault
  /** The next virtual tag of the organisation. */
  readonly vtag: () => number
}

interface Addition<C extends Columns> {
  /** A column `run` is not inserted: it names the change where the row's own id is not the run's. */
  readonly columns: C
  /** What is inserted, where it is not the columns as they are. */
  readonly values?: string
  readonly conflict: string
  readonly rows: (change: RunChange, context: RowContext) => ReadonlyArray<{ readonly [Column in keyof C]: unknown }>
}

const addition = <const C extends Columns>(table: Addition<C>): Addition<C> => table

/** The same array for all changes that add nothing to a table. */
const none: ReadonlyArray<never> = []

export const additions = {
  runs: {
    columns: openColumns,
    conflict: "ON CONFLICT (id) DO NOTHING",
    rows: ({ open }: RunChange): ReadonlyArray<Row> => (open === undefined ? none : [openRow(open)])
  },
  executions: {
    columns: endedColumns,
    conflict: "ON CONFLICT (id, class) DO NOTHING",
    rows: ({ end }: RunChange): ReadonlyArray<Row> => (end === undefined ? none : [endedRow(end)])
  },
  journal: addition({
    columns: journalColumns,
    values: journalValues,
    conflict: "ON CONFLICT (id, seq) DO NOTHING",
    rows: ({ epoch, id, journal, open }, { vault }) => {
      if (journal === undefined || journal.length === 0) return none
      const sealer = vault()
      const writer = epoch ?? open?.epoch ?? 1
      return journal.map(({ entry, seq }) => encodeEntry(sealer, { id, seq, epoch: writer }, entry))
    }
  }),
  steps: addition({
    columns: { id: "text", class: "smallint", org: "text", index: "int", status: "text", record: "json" },
    conflict: "ON CONFLICT (id, class, index) DO UPDATE SET status = excluded.status, record = excluded.record",
    rows: ({ id, organisationId: org, retention, steps = none }) =>
      steps.map(({ index, record, status }) => ({ id, class: retention, org, index, status, record }))
  }),
  logs: addition({
    columns: { id: "text", class: "smallint", org: "text", seq: "int", lines: "json" },
    conflict: "ON CONFLICT (id, class, seq) DO NOTHING",
    rows: ({ id, logs = none, organisationId: org, retention }) =>
      logs.map(({ lines, seq }) => ({ id, class: retention, org, seq, lines }))
  }),
  blobs: addition({
    columns: { id: "text", class: "smallint", org: "text", blob_id: "text", content: "json" },
    conflict: "ON CONFLICT (id, class, blob_id) DO NOTHING",
    rows: ({ blobs = none, id, organisationId: org, retention }) =>
      blobs.map((blob) => ({ id, class: retention, org, blob_id: blob.id, content: blob.content }))
  }),
  outbox: addition({
    columns: { id: "text", org: "text", shard: "int", priority: "smallint", vtag: "bigint", not_before: "timestamptz" },
    conflict: "ON CONFLICT (id) DO NOTHING",
    rows: ({ enqueue, id, open, organisationId: org }, { vtag }) =>
      enqueue === undefined || open === undefined
        ? none
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
  audit_entries: addition({
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
    rows: ({ audit, id }) => (audit === undefined ? none : [{ run: id, ...auditRow(audit) }])
  }),
  deliveries: addition({
    columns: {
      run: "text",
      id: "text",
      org: "text",
      space: "text",
      kind: "text",
      url: "text",
      execution_id: "text",
      payload: "text"
    },
    conflict: "ON CONFLICT (id) DO NOTHING",
    rows: ({ deliveries = none, id: run, organisationId: org, spaceId: space }) =>
      deliveries.map(({ id, kind, payload, url }) => ({ run, id, org, space, kind, url, execution_id: run, payload }))
  })
} as const

export type FlushedTable = keyof typeof additions

// The keys of the object above.
export const tables = Object.keys(additions) as ReadonlyArray<FlushedTable>
