/** Turns changes of runs into the rows that one flush writes. */
import type { RunChange } from "../../../actors/ports/Journal.js"
import { flushTables, type Row, type RowContext, type FlushTableName, flushTableNames } from "./FlushTables.js"
import { patchRow, timestamp } from "./RunColumns.js"

/** A change with its rows serialised, before it enters the queue. */
export interface PreparedChange {
  readonly change: RunChange
  /** Each row as JSON, serialised once; the statement concatenates them. */
  readonly rows: { readonly [T in FlushTableName]?: ReadonlyArray<string> }
  /** Approximate number of characters that it adds to the statement. */
  readonly size: number
}

export interface Batch {
  readonly changes: ReadonlyArray<Row>
  /** Runs that must still have these epochs, in the same order. */
  readonly fence: { readonly ids: ReadonlyArray<string>; readonly epochs: ReadonlyArray<number> }
  readonly hasClaims: boolean
  readonly patches: ReadonlyArray<Row>
  readonly endedRuns: ReadonlyArray<string>
  /** Ended runs that never started: their rows in the queue are deleted. */
  readonly dequeuedRuns: ReadonlyArray<string>
  readonly rows: { readonly [T in FlushTableName]: ReadonlyArray<string> }
}

export const prepareChange = (change: RunChange, context: RowContext): PreparedChange => {
  const rows: { [T in FlushTableName]?: ReadonlyArray<string> } = {}
  let size = 0
  for (const table of flushTableNames) {
    const tableRows: ReadonlyArray<Row> = flushTables[table].rows(change, context)
    if (tableRows.length === 0) continue
    const lines = tableRows.map((row) => JSON.stringify(row))
    for (const line of lines) size += line.length
    rows[table] = lines
  }
  return { change, rows, size }
}

const changeRow = ({ claim, epoch, id, organisationId }: RunChange): Row => ({
  id,
  org: organisationId,
  fenced: epoch !== null,
  scope: claim?.scope ?? null,
  key: claim?.key ?? null,
  hash: claim?.hash ?? null,
  expires_at: timestamp(claim?.expiresAt ?? null)
})

const fenceOf = (changes: ReadonlyArray<RunChange>): Batch["fence"] => {
  const ids: Array<string> = []
  const epochs: Array<number> = []
  for (const { epoch, id } of changes) {
    if (epoch === null) continue
    ids.push(id)
    epochs.push(epoch)
  }
  return { ids, epochs }
}

/** The rows of several changes, at most one of each run. */
export const makeBatch = (prepared: ReadonlyArray<PreparedChange>): Batch => {
  const changes = prepared.map((item) => item.change)
  const rowsOf = (table: FlushTableName) => prepared.flatMap((item) => item.rows[table] ?? [])
  return {
    changes: changes.map(changeRow),
    fence: fenceOf(changes),
    hasClaims: changes.some((change) => change.claim !== undefined),
    patches: changes.flatMap((change) =>
      change.patch !== undefined && change.end === undefined ? [patchRow(change.id, change.patch)] : []
    ),
    endedRuns: changes.filter((change) => change.end !== undefined && change.epoch !== null).map((change) => change.id),
    dequeuedRuns: changes.filter((change) => change.end?.run.status === "pending").map((change) => change.id),
    rows: {
      runs: rowsOf("runs"),
      executions: rowsOf("executions"),
      journal: rowsOf("journal"),
      steps: rowsOf("steps"),
      logs: rowsOf("logs"),
      blobs: rowsOf("blobs"),
      start_queue: rowsOf("start_queue"),
      audit_entries: rowsOf("audit_entries"),
      deliveries: rowsOf("deliveries")
    }
  }
}
