/** Turns changes of runs into the rows that a flush writes. */
import type { JournalEntry } from "../../../domain/RunJournal.js"
import type { FinishedRun, OpenRun, RunChange, RunPatch } from "../../../actors/ports/Journal.js"
import type { OrganisationVault } from "../../../actors/ports/Vault.js"
import { auditRow } from "../AuditRow.js"
import { type Table, tables } from "./Additions.js"

type Row = { readonly [column: string]: unknown }

/** One change made ready before it enters the queue. */
export interface Prepared {
  readonly change: RunChange
  /** Each row as JSON: written once, and put together by the statement. */
  readonly rows: { readonly [T in Table]?: ReadonlyArray<string> }
  /** About how many characters it adds to the statement. */
  readonly size: number
}

export interface Batch {
  readonly changes: ReadonlyArray<Row>
  /** Runs that must be held at their epoch. */
  readonly fenced: ReadonlyArray<string>
  readonly claimed: boolean
  readonly patches: ReadonlyArray<Row>
  readonly ended: ReadonlyArray<string>
  /** Of these, the ones that never started: they leave the queue. */
  readonly dequeued: ReadonlyArray<string>
  readonly rows: { readonly [T in Table]: ReadonlyArray<string> }
}

const time = (millis: number | null): string | null => (millis === null ? null : new Date(millis).toISOString())

export const kinds = { start: 0, done: 1, timer: 2, attempt: 3 } as const

const journalRow =
  (change: RunChange, vault: OrganisationVault | null) =>
  ({ seq, entry }: { readonly seq: number; readonly entry: JournalEntry }): Row => ({
    id: change.id,
    seq,
    epoch: change.epoch ?? change.open?.epoch ?? 1,
    kind: kinds[entry.kind],
    call: "call" in entry ? entry.call : null,
    hash: "hash" in entry ? entry.hash : null,
    body:
      vault === null
        ? ""
        : Buffer.from(
            vault.seal({ table: "journal", column: "body", row: `${change.id}/${seq}` }, JSON.stringify(entry))
          ).toString("base64")
  })

export const openRow = (run: OpenRun): Row => ({
  id: run.id,
  org: run.organisationId,
  space: run.spaceId,
  shard: run.shard,
  epoch: run.epoch,
  engine: run.engine,
  class: run.retention,
  status: run.status,
  tier: run.tier,
  priority: run.priority,
  workflow_id: run.workflowId,
  customer_id: run.customerId,
  trigger_type: run.triggerType,
  attempt: run.attempt,
  wake_at: time(run.wakeAt),
  deadline_at: time(run.deadlineAt),
  waiting: run.waiting,
  created_at: time(run.createdAt),
  started_at: time(run.startedAt),
  record: run.record,
  input: run.input
})

/** The record of a finished run: what was known at its start and what came of it. */
export const finishedRow = (end: FinishedRun): Row => {
  const { run } = end
  return {
    id: run.id,
    class: run.retention,
    org: run.organisationId,
    space: run.spaceId,
    status: end.status,
    workflow_id: run.workflowId,
    customer_id: run.customerId,
    trigger_type: run.triggerType,
    finished_at: time(end.finishedAt),
    record: {
      ...run.record,
      tier: run.tier,
      priority: run.priority,
      attempt: run.attempt,
      statusReason: end.statusReason,
      error: end.error,
      metrics: end.metrics,
      createdAt: run.createdAt,
      startedAt: run.startedAt,
      finishedAt: end.finishedAt,
      deadlineAt: run.deadlineAt
    },
    input: run.input,
    output: end.output
  }
}

const patchRow = (id: string, patch: RunPatch): Row => ({
  id,
  attempt: patch.attempt ?? null,
  wake_at: time(patch.wakeAt ?? null),
  sets_wake: patch.wakeAt !== undefined,
  deadline_at: time(patch.deadlineAt ?? null),
  waiting: patch.waiting ?? null,
  sets_waiting: patch.waiting !== undefined
})

/** Needs the organisation's vault where the change has journal rows. */
export const prepare = (change: RunChange, vault: OrganisationVault | null, vtag: () => number): Prepared => {
  const { id, organisationId: org, retention } = change
  const rows: { [T in Table]?: ReadonlyArray<Row> } = {}
  if (change.open !== undefined) rows.runs = [openRow(change.open)]
  if (change.end !== undefined) rows.executions = [finishedRow(change.end)]
  if (change.journal !== undefined) rows.journal = change.journal.map(journalRow(change, vault))
  if (change.steps !== undefined) {
    rows.steps = change.steps.map((step) => ({
      id,
      class: retention,
      org,
      index: step.index,
      status: step.status,
      record: step.record
    }))
  }
  if (change.logs !== undefined)
    rows.logs = change.logs.map((chunk) => ({ id, class: retention, org, seq: chunk.seq, lines: chunk.lines }))
  if (change.blobs !== undefined) {
    rows.blobs = change.blobs.map((blob) => ({ id, class: retention, org, blob_id: blob.id, content: blob.content }))
  }
  if (change.enqueue !== undefined && change.open !== undefined) {
    const { shard, priority } = change.open
    rows.outbox = [{ id, org, shard, priority, vtag: vtag(), not_before: time(change.enqueue.notBefore) }]
  }
  if (change.audit !== undefined) rows.audit_entries = [{ run: id, ...auditRow(change.audit) }]
  if (change.deliveries !== undefined) {
    rows.deliveries = change.deliveries.map((delivery) => ({
      run: id,
      id: delivery.id,
      org,
      space: change.spaceId,
      kind: delivery.kind,
      url: delivery.url,
      execution_id: id,
      payload: delivery.payload
    }))
  }
  return { change, ...texts(rows) }
}

const texts = (rows: { readonly [T in Table]?: ReadonlyArray<Row> }): Pick<Prepared, "rows" | "size"> => {
  const written: { [T in Table]?: ReadonlyArray<string> } = {}
  let size = 0
  for (const table of tables) {
    const own = rows[table]
    if (own === undefined) continue
    const lines = own.map((row) => JSON.stringify(row))
    for (const line of lines) size += line.length
    written[table] = lines
  }
  return { rows: written, size }
}

const changeRow = ({ claim, epoch, id, organisationId }: RunChange): Row => ({
  id,
  org: organisationId,
  epoch,
  scope: claim?.scope ?? null,
  key: claim?.key ?? null,
  hash: claim?.hash ?? null,
  expires_at: time(claim?.expiresAt ?? null)
})

/** The rows of several changes, at most one of each run. */
export const batch = (prepared: ReadonlyArray<Prepared>): Batch => {
  const changes = prepared.map((item) => item.change)
  const all = (table: Table) => prepared.flatMap((item) => item.rows[table] ?? [])
  return {
    changes: changes.map(changeRow),
    fenced: changes.filter((change) => change.epoch !== null).map((change) => change.id),
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
