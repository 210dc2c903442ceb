/** Turns changes of runs and events into the rows that one flush writes. */
import type { RunChange } from "../../../actors/ports/Journal.js"
import { allowanceRow } from "../QuotaDecision.js"
import { deadLetterRow, failureRows, tickRow } from "./EventRow.js"
import { flushTables, type Row, type RowContext, type FlushTableName, flushTableNames } from "./FlushTables.js"
import { patchRow, timestamp } from "./RunColumns.js"
import { claimOfUnit, idsOf, settlementOf, type Unit } from "./Unit.js"

/** A unit with its rows serialised, before it enters the queue. */
export interface PreparedUnit {
  readonly unit: Unit
  /** The ids of its rows in the statement's list of changes: of its runs, else of its event. */
  readonly ids: ReadonlyArray<string>
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
  /** Some claims have a second key. */
  readonly hasSignatures: boolean
  /** Some units replay dead letters. */
  readonly hasReplays: boolean
  /** Received events that count against the limits of their day, in their order. */
  readonly allowances: ReadonlyArray<Row>
  readonly patches: ReadonlyArray<Row>
  readonly settlements: ReadonlyArray<Row>
  readonly deadLetters: ReadonlyArray<Row>
  /** Schedules that their events move on, and those whose runs ended. */
  readonly ticks: ReadonlyArray<Row>
  readonly tickFailures: ReadonlyArray<Row>
  readonly endedRuns: ReadonlyArray<string>
  /** Ended runs that never started: their rows in the queue are deleted. */
  readonly dequeuedRuns: ReadonlyArray<string>
  /** Ended runs that leave the lane of their trigger. */
  readonly freedLanes: ReadonlyArray<Row>
  readonly rows: { readonly [T in FlushTableName]: ReadonlyArray<string> }
}

export const prepareUnit = (unit: Unit, context: RowContext): PreparedUnit => {
  const rows: { [T in FlushTableName]?: ReadonlyArray<string> } = {}
  let size = 0
  for (const table of flushTableNames) {
    const tableRows: ReadonlyArray<Row> = flushTables[table].rows(unit, context)
    if (tableRows.length === 0) continue
    const lines = tableRows.map((row) => JSON.stringify(row))
    for (const line of lines) size += line.length
    rows[table] = lines
  }
  return { unit, ids: idsOf(unit), rows, size }
}

/** One row for each id of the unit. All of them depend on the same claim or place in the queue, so none commits alone. */
const changeRows = ({ ids, unit }: PreparedUnit): ReadonlyArray<Row> => {
  const claim = claimOfUnit(unit)
  const settlement = settlementOf(unit)
  return ids.map((id, n) => ({
    id,
    org: unit.organisationId,
    fenced: unit.runs[n] !== undefined && unit.runs[n].epoch !== null,
    scope: claim?.scope ?? null,
    key: claim?.key ?? null,
    signature_key: claim?.signatureKey ?? null,
    hash: claim?.hash ?? null,
    expires_at: timestamp(claim?.expiresAt ?? null),
    takes: settlement?.eventId ?? null,
    claims: settlement?.claims ?? null,
    letter: unit.event?.replays ?? null
  }))
}

const settlementRow = ({ ids, unit }: PreparedUnit): ReadonlyArray<Row> => {
  const settlement = settlementOf(unit)
  if (settlement === undefined) return []
  const { at, claims, deliveries, eventId, status } = settlement
  return [{ run: ids[0], id: eventId, status, finished_at: timestamp(at), attempts: claims, deliveries }]
}

const deadLetterRows = ({ ids, unit: { event, runs } }: PreparedUnit): ReadonlyArray<Row> => [
  ...runs.flatMap((run) => (run.deadLetters ?? []).map((letter) => deadLetterRow(run.id, run, letter))),
  ...(event === undefined ? [] : (event.deadLetters ?? []).map((letter) => deadLetterRow(ids[0], event, letter)))
]

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

/** The rows of several units, at most one of each run and event. */
export const makeBatch = (prepared: ReadonlyArray<PreparedUnit>): Batch => {
  const changes = prepared.flatMap(({ unit }) => unit.runs)
  const rowsOf = (table: FlushTableName) => prepared.flatMap((item) => item.rows[table] ?? [])
  const ended = changes.filter((change) => change.end !== undefined)
  return {
    changes: prepared.flatMap(changeRows),
    fence: fenceOf(changes),
    hasClaims: prepared.some(({ unit }) => claimOfUnit(unit) !== undefined),
    hasSignatures: prepared.some(({ unit }) => claimOfUnit(unit)?.signatureKey !== undefined),
    hasReplays: prepared.some(({ unit }) => unit.event?.replays !== undefined),
    allowances: prepared.flatMap(({ unit: { event, organisationId } }, nth) =>
      event?.receives?.allowance === undefined
        ? []
        : [allowanceRow(event.receives.event.id, organisationId, nth, event.receives.allowance)]
    ),
    patches: changes.flatMap((change) =>
      change.patch !== undefined && change.end === undefined ? [patchRow(change.id, change.patch)] : []
    ),
    settlements: prepared.flatMap(settlementRow),
    deadLetters: prepared.flatMap(deadLetterRows),
    ticks: prepared.flatMap(({ ids, unit }) =>
      unit.event?.tick === undefined ? [] : [tickRow(ids[0], unit.event.tick)]
    ),
    tickFailures: failureRows(ended),
    endedRuns: ended.filter((change) => change.epoch !== null).map((change) => change.id),
    dequeuedRuns: ended.filter((change) => change.end?.run.status === "pending").map((change) => change.id),
    freedLanes: ended.flatMap(({ end, id, organisationId }) =>
      end?.run.record.lane === undefined ? [] : [{ id, org: organisationId, lane: end.run.record.lane }]
    ),
    rows: {
      runs: rowsOf("runs"),
      executions: rowsOf("executions"),
      journal: rowsOf("journal"),
      steps: rowsOf("steps"),
      logs: rowsOf("logs"),
      blobs: rowsOf("blobs"),
      start_queue: rowsOf("start_queue"),
      lanes: rowsOf("lanes"),
      events: rowsOf("events"),
      event_records: rowsOf("event_records"),
      audit_entries: rowsOf("audit_entries"),
      deliveries: rowsOf("deliveries")
    }
  }
}
