/** Turns changes of runs into the rows that a flush writes. */
import type { RunChange } from "../../../actors/ports/Journal.js"
import { additions, type Row, type RowContext, type FlushedTable, tables } from "./Additions.js"
import { patchRow, timestamp } from "./RunColumns.js"

/** One change made ready before it enters the queue. */
export interface Prepared {
  readonly change: RunChange
  /** Each row as JSON: written once, and put together by the statement. */
  readonly rows: { readonly [T in FlushedTable]?: ReadonlyArray<string> }
  /** About how many characters it adds to the statement. */
  readonly size: number
}

export interface Batch {
  readonly changes: ReadonlyArray<Row>
  /** The fence: runs that must have these epochs, in the same order. */
  readonly owned: { readonly ids: ReadonlyArray<string>; readonly epochs: ReadonlyArray<number> }
  readonly claimed: boolean
  readonly patches: ReadonlyArray<Row>
  readonly ended: ReadonlyArray<string>
  /** Of these, the ones that never started: they leave the queue. */
  readonly dequeued: ReadonlyArray<string>
  readonly rows: { readonly [T in FlushedTable]: ReadonlyArray<string> }
}

export const prepare = (change: RunChange, context: RowContext): Prepared => {
  const rows: { [T in FlushedTable]?: ReadonlyArray<string> } = {}
  let size = 0
  for (const table of tables) {
    const own: ReadonlyArray<Row> = additions[table].rows(change, context)
    if (own.length === 0) continue
    const lines = own.map((row) => JSON.stringify(row))
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

const ownedBy = (changes: ReadonlyArray<RunChange>): Batch["owned"] => {
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
export const batch = (prepared: ReadonlyArray<Prepared>): Batch => {
  const changes = prepared.map((item) => item.change)
  const all = (table: FlushedTable) => prepared.flatMap((item) => item.rows[table] ?? [])
  return {
    changes: changes.map(changeRow),
    owned: ownedBy(changes),
    claimed: changes.some((change) => change.claim !== undefined),
    patches: changes.flatMap((change) =>
      change.patch !== undefined && change.end === undefined ? [patchRow(change.id, change.patch)] : []
    ),
    ended: changes.filter((change) => change.end !== undefined && change.epoch !== null).map((change) => change.id),
    dequeued: changes.filter((change) => change.end?.run.status === "pending").map((change) => change.id),
    rows: {
      runs: all("runs"),
      executions: all("executions"),
      journal: all("journal"),
      steps: all("steps"),
      logs: all("logs"),
      blobs: all("blobs"),
      outbox: all("outbox"),
      audit_entries: all("audit_entries"),
      deliveries: all("deliveries")
    }
  }
}
