/**
 * The statement of a flush: writes everything of a batch of changes, fenced by the epochs of its runs and by the leases
 * of its events. It contains only the parts that the batch needs, and each combination of parts is one prepared
 * statement. Each table's rows are one JSON parameter, which costs half the CPU of array parameters.
 *
 * Existing rows are found by arrays of their ids, also where they are joined: a plan that was made while a table was short
 * would otherwise read all of it when it is long.
 */
import { flushTables, type ColumnTypes, type FlushTableName, flushTableNames } from "./FlushTables.js"
import { selectOwned } from "./Fence.js"
import type { Batch } from "./Batch.js"
import { addCounts, countedColumns } from "../events/EventCounts.js"
import { leaseEnd } from "../LeasedWork.js"
import { allowanceColumns, decideCtes } from "../QuotaDecision.js"
import { schedules } from "../WorkKinds.js"
import {
  deadLetterColumns,
  eventValuesBeyond,
  failureColumns,
  keptEventColumns,
  queueValuesBeyond,
  tickColumns
} from "./EventRow.js"
import { patchAssignments, patchColumns } from "./RunColumns.js"

const listColumns = (columns: ColumnTypes) => Object.keys(columns).join(", ")
const recordset = (parameter: number, columns: ColumnTypes) =>
  `json_to_recordset($${parameter}::json) AS t(${Object.entries(columns)
    .map(([name, type]) => `${name} ${type}`)
    .join(", ")})`

const changeColumns = {
  id: "text",
  org: "text",
  fenced: "boolean",
  scope: "text",
  key: "text",
  signature_key: "text",
  hash: "text",
  expires_at: "timestamptz",
  takes: "text",
  claims: "int",
  letter: "text"
}

const settlementColumns = {
  run: "text",
  id: "text",
  status: "text",
  finished_at: "timestamptz",
  attempts: "int",
  deliveries: "json"
}

const freedLaneColumns = { id: "text", org: "text", lane: "text" }

/** Inserts the rows of a table from the JSON document in a parameter. `selected`: replaces the expressions of its columns. */
export const insertRows = (table: FlushTableName, parameter: number, selected?: string): string => {
  const shape: { readonly columns: ColumnTypes; readonly values?: string } = flushTables[table]
  const { run: _run, ...columns } = shape.columns
  return `INSERT INTO ${table} (${listColumns(columns)}) SELECT ${selected ?? shape.values ?? listColumns(columns)}
    FROM ${recordset(parameter, shape.columns)}`
}

/** Holds the rows of events beyond their allowance. */
const heldBeyond: { readonly [T in FlushTableName]?: string } = {
  events: eventValuesBeyond("t.id IN (SELECT beyond.id FROM beyond)"),
  start_queue: queueValuesBeyond("t.id IN (SELECT beyond.id FROM beyond)")
}

/** The tables of events. What a flush inserts into them it counts; a flush that is resent after its commit inserts none. */
const eventTables: ReadonlySet<FlushTableName> = new Set(["events", "event_records"])

const countCte = (tables: ReadonlyArray<FlushTableName>) =>
  `tallied AS (${addCounts(tables.map((table) => `SELECT * FROM ${table}_in`).join(" UNION ALL "), 1)})`

const insertCte = (table: FlushTableName, parameter: number, { counted, limited }: Parts): string => {
  const { columns, conflict }: { readonly columns: ColumnTypes; readonly conflict: string } = flushTables[table]
  const returned = eventTables.has(table) ? countedColumns.join(", ") : counted && table === "executions" ? "id" : ""
  const returning = returned === "" ? "" : ` RETURNING ${returned}`
  return `${table}_in AS (${insertRows(table, parameter, limited ? heldBeyond[table] : undefined)}
    WHERE ${columns["run"] === undefined ? "id" : "run"} IN (SELECT ok.id FROM ok) ${conflict}${returning})`
}

// A claim that has expired is free, even if it is not yet purged.
const takeClaims = (name: string, column: string, condition: string) =>
  `${name} AS (INSERT INTO claims (org, scope, key, target_id, hash, expires_at)
    SELECT org, scope, ${column}, id, hash, expires_at FROM ch WHERE ${condition} ORDER BY org, scope, ${column}
    ON CONFLICT (org, scope, key) DO UPDATE SET target_id = excluded.target_id, hash = excluded.hash,
      expires_at = excluded.expires_at WHERE claims.expires_at < now()
    RETURNING org, scope, key, target_id)`

const isFree = `(SELECT 1 FROM claims c WHERE c.org = ch.org AND c.scope = ch.scope AND c.key = ch.key
    AND c.expires_at >= now() LIMIT 1) IS NULL`

/**
 * A change takes both of its keys or none. Only whose signature is new takes the key with its id: a repetition, whose id
 * anyone can choose, takes none; only whose id is new takes its signature, so that it stays free for the first event with it.
 */
const claimCtes = (signed: boolean): ReadonlyArray<string> =>
  signed
    ? [
        takeClaims("signatures", "signature_key", `signature_key IS NOT NULL AND ${isFree}`),
        takeClaims(
          "taken",
          "key",
          `key IS NOT NULL AND (signature_key IS NULL
            OR (org, scope, signature_key) IN (SELECT s.org, s.scope, s.key FROM signatures s))`
        )
      ]
    : [takeClaims("taken", "key", "key IS NOT NULL")]

/** The places in the start queue whose lease the batch still has. Whoever deletes one decides what its event starts. */
const takenPlacesCte = `gone AS (DELETE FROM start_queue q USING (SELECT DISTINCT takes, claims FROM ch WHERE takes IS NOT NULL) c
    WHERE q.id = ANY (ARRAY(SELECT takes FROM ch WHERE takes IS NOT NULL)) AND q.id = c.takes AND q.claims = c.claims
    RETURNING q.id)`

/** Dead letters that the batch replays: whoever changes their state replays them. */
const replayedCte = `again AS (UPDATE dead_letters d SET status = 'replayed' FROM (SELECT letter FROM ch WHERE letter IS NOT NULL) c
    WHERE d.id = ANY (ARRAY(SELECT letter FROM ch WHERE letter IS NOT NULL)) AND d.id = c.letter
      AND d.status IN ('pending', 'replaying') RETURNING d.id)`

const acceptedCte = ({ claimed, fenced, received, replayed, resent, settled }: Parts) =>
  `ok AS MATERIALIZED (SELECT ch.id FROM ch
     ${fenced ? "LEFT JOIN owned ON owned.id = ch.id" : ""}
     ${claimed ? "LEFT JOIN taken ON taken.org = ch.org AND taken.scope = ch.scope AND taken.key = ch.key" : ""}
     WHERE ${fenced ? "(NOT ch.fenced OR owned.id IS NOT NULL)" : "true"}
       AND ${claimed ? "(ch.key IS NULL OR taken.key IS NOT NULL)" : "true"}
       AND ${settled ? "(ch.takes IS NULL OR ch.takes IN (SELECT gone.id FROM gone))" : "true"}
       AND ${replayed ? "(ch.letter IS NULL OR ch.letter IN (SELECT again.id FROM again))" : "true"}
       AND ${
         // The first try may have committed, and its event may be settled by now.
         received && resent
           ? "ch.id <> ALL (ARRAY(SELECT er.id FROM event_records er WHERE er.id = ANY (ARRAY(SELECT id FROM ch))))"
           : "true"
       })`

/** Decides which received events are within their allowances, unless an earlier try of the batch wrote them. */
const limitCtes = (parameter: number, resent: boolean): ReadonlyArray<string> => [
  ...decideCtes(`SELECT t.* FROM ${recordset(parameter, allowanceColumns)} WHERE t.id IN (SELECT ok.id FROM ok)
    ${resent ? "AND t.id <> ALL (ARRAY(SELECT e.id FROM events e WHERE e.id = ANY (ARRAY(SELECT id FROM ch))))" : ""}`),
  "beyond AS MATERIALIZED (SELECT d.id FROM decided d WHERE NOT d.runs)"
]

const kept = keptEventColumns.join(", ")

/** Moves settled events to their records. */
const settleCte = (parameter: number) =>
  `settling AS MATERIALIZED (SELECT * FROM ${recordset(parameter, settlementColumns)} WHERE run IN (SELECT ok.id FROM ok)),
   moved AS (DELETE FROM events e USING settling t
     WHERE e.id = ANY (ARRAY(SELECT id FROM settling)) AND e.id = t.id
     RETURNING ${keptEventColumns.map((name) => `e.${name}`).join(", ")}, t.status AS final, t.finished_at, t.attempts, t.deliveries),
   recorded AS (INSERT INTO event_records (${kept}, status, finished_at, attempts, deliveries)
     SELECT ${kept}, final, finished_at, attempts, deliveries FROM moved ON CONFLICT (id, class) DO NOTHING)`

/** Inserts dead letters with the payload of their event, which this statement settles or an earlier one has settled. */
const deadLettersCte = (parameter: number, settled: boolean) => {
  const { event_class: _class, run: _run, ...columns } = deadLetterColumns
  const names = Object.keys(columns)
  return `letters AS MATERIALIZED (SELECT * FROM ${recordset(parameter, deadLetterColumns)} WHERE run IN (SELECT ok.id FROM ok)),
   buried AS (INSERT INTO dead_letters (${names.join(", ")}, source, connection_id, record, payload, sealed, expires_at)
     SELECT ${names.map((name) => `l.${name}`).join(", ")}, s.source, s.connection_id, s.record, s.payload, s.sealed,
       now() + interval '30 days'
     FROM letters l LEFT JOIN LATERAL (
       ${settled ? "SELECT m.source, m.connection_id, m.record, m.payload, m.sealed FROM moved m WHERE m.id = l.event_id UNION ALL" : ""}
       SELECT r.source, r.connection_id, r.record, r.payload, r.sealed FROM event_records r WHERE r.id = l.event_id AND r.class = l.event_class LIMIT 1
     ) s ON true ON CONFLICT (id) DO NOTHING)`
}

const freeLanesCte = (parameter: number) =>
  `freed AS (DELETE FROM lanes l USING ${recordset(parameter, freedLaneColumns)}
     WHERE l.org = t.org AND l.lane = t.lane AND l.execution_id = t.id AND t.id IN (SELECT ok.id FROM ok))`

/** Moves schedules on, unless they were edited since their ticks were found due. */
const tickCte = (parameter: number) =>
  `ticked AS (UPDATE trigger_states s SET next_fire_at = t.next_at,
       last_fired_at = CASE WHEN t.fired THEN now() ELSE s.last_fired_at END,
       ${schedules.lease.until} = CASE WHEN t.leased THEN ${leaseEnd(schedules)} END
     FROM ${recordset(parameter, tickColumns)}
     WHERE s.trigger_id = t.trigger_id AND s.next_fire_at = t.due_at AND t.run IN (SELECT ok.id FROM ok))`

/**
 * Counts the failed runs in a row of schedules; a run that succeeds begins anew. Only runs whose record this statement
 * inserts count: a flush that is resent after its commit inserts none.
 */
const tickFailuresCte = (parameter: number) =>
  `failing AS (UPDATE trigger_states s
     SET consecutive_failures = c.failures + CASE WHEN c.resets THEN 0 ELSE s.consecutive_failures END
     FROM (SELECT x.trigger_id, bool_or(NOT x.failed) AS resets,
         count(*) FILTER (WHERE x.failed AND x.nth > x.succeeded)::int AS failures
       FROM (SELECT t.*, COALESCE(max(t.nth) FILTER (WHERE NOT t.failed) OVER (PARTITION BY t.trigger_id), -1) AS succeeded
         FROM ${recordset(parameter, failureColumns)} WHERE t.run IN (SELECT x.id FROM executions_in x)) x
       GROUP BY x.trigger_id) c
     WHERE s.trigger_id = c.trigger_id AND (c.failures > 0 OR s.consecutive_failures > 0))`

const patchCte = (parameter: number) =>
  `patched AS (UPDATE runs r SET ${patchAssignments("r", "t")}
     FROM ${recordset(parameter, patchColumns)} WHERE r.id = ANY (ARRAY(SELECT ok.id FROM ok)) AND r.id = t.id)`

const deleteEndedCte = (parameter: number) =>
  `ended AS (DELETE FROM runs r WHERE r.id = ANY($${parameter}::text[]) AND r.id IN (SELECT ok.id FROM ok))`

const dequeueCte = (parameter: number) =>
  `dequeued AS (DELETE FROM start_queue o WHERE o.id = ANY($${parameter}::text[]) AND o.id IN (SELECT ok.id FROM ok))`

export interface Statement {
  readonly name: string
  readonly text: string
  readonly values: ReadonlyArray<unknown>
}

/** What a batch contains: decides the text of its statement. */
interface Parts {
  readonly fenced: boolean
  readonly claimed: boolean
  readonly signed: boolean
  readonly patched: boolean
  readonly ended: boolean
  readonly dequeued: boolean
  readonly received: boolean
  readonly resent: boolean
  readonly settled: boolean
  readonly replayed: boolean
  readonly limited: boolean
  readonly buried: boolean
  readonly ticked: boolean
  readonly counted: boolean
  readonly freed: boolean
  readonly tables: ReadonlyArray<FlushTableName>
}

const partsOf = (batch: Batch, isResend: boolean): Parts => ({
  fenced: batch.fence.ids.length > 0,
  claimed: batch.hasClaims,
  signed: batch.hasSignatures,
  patched: batch.patches.length > 0,
  ended: batch.endedRuns.length > 0,
  dequeued: batch.dequeuedRuns.length > 0,
  received: batch.rows.events.length > 0,
  resent: isResend && batch.rows.events.length > 0,
  settled: batch.settlements.length > 0,
  replayed: batch.hasReplays,
  limited: batch.allowances.length > 0,
  buried: batch.deadLetters.length > 0,
  ticked: batch.ticks.length > 0,
  counted: batch.tickFailures.length > 0,
  freed: batch.freedLanes.length > 0,
  tables: flushTableNames.filter((table) => batch.rows[table].length > 0)
})

const keyOf = (parts: Parts): string =>
  [
    parts.fenced ? "f" : "",
    parts.claimed ? "c" : "",
    parts.signed ? "g" : "",
    parts.patched ? "p" : "",
    parts.ended ? "e" : "",
    parts.dequeued ? "d" : "",
    parts.resent ? "r" : "",
    parts.settled ? "s" : "",
    parts.replayed ? "a" : "",
    parts.limited ? "q" : "",
    parts.buried ? "b" : "",
    parts.freed ? "l" : "",
    parts.ticked ? "t" : "",
    parts.counted ? "n" : "",
    ...parts.tables.map((table) => `.${table}`)
  ].join("")

/** Parameters are numbered in the order in which `valuesOf` gives their values. */
const textOf = (parts: Parts): string => {
  let last = 1
  const next = () => (last += 1)
  const ctes = [`ch AS MATERIALIZED (SELECT * FROM ${recordset(1, changeColumns)})`]
  if (parts.fenced) ctes.push(`owned AS MATERIALIZED (${selectOwned(`$${next()}`, `$${next()}`)})`)
  if (parts.claimed) ctes.push(...claimCtes(parts.signed))
  if (parts.settled) ctes.push(takenPlacesCte)
  if (parts.replayed) ctes.push(replayedCte)
  ctes.push(acceptedCte(parts))
  if (parts.limited) ctes.push(...limitCtes(next(), parts.resent))
  if (parts.settled) ctes.push(settleCte(next()))
  if (parts.buried) ctes.push(deadLettersCte(next(), parts.settled))
  if (parts.patched) ctes.push(patchCte(next()))
  for (const table of parts.tables) ctes.push(insertCte(table, next(), parts))
  const withEvents = parts.tables.filter((table) => eventTables.has(table))
  if (withEvents.length > 0) ctes.push(countCte(withEvents))
  if (parts.ended) ctes.push(deleteEndedCte(next()))
  if (parts.dequeued) ctes.push(dequeueCte(next()))
  if (parts.freed) ctes.push(freeLanesCte(next()))
  if (parts.ticked) ctes.push(tickCte(next()))
  if (parts.counted) ctes.push(tickFailuresCte(next()))
  // Another node took the id since this statement began: written again, the change takes no signature.
  const torn = parts.signed
    ? " UNION ALL SELECT svc_repeat_flush() FROM signatures s WHERE s.target_id NOT IN (SELECT ok.id FROM ok)"
    : ""
  const refused = `SELECT ch.id FROM ch WHERE ch.id NOT IN (SELECT ok.id FROM ok)${torn}`
  const results = parts.limited
    ? `SELECT r.id, false AS held FROM (${refused}) r UNION ALL SELECT beyond.id, true FROM beyond`
    : refused
  return `WITH ${ctes.join(",\n")}\n${results}`
}

const valuesOf = (batch: Batch, parts: Parts): ReadonlyArray<unknown> => [
  JSON.stringify(batch.changes),
  ...(parts.fenced ? [batch.fence.ids, batch.fence.epochs] : []),
  ...(parts.limited ? [JSON.stringify(batch.allowances)] : []),
  ...(parts.settled ? [JSON.stringify(batch.settlements)] : []),
  ...(parts.buried ? [JSON.stringify(batch.deadLetters)] : []),
  ...(parts.patched ? [JSON.stringify(batch.patches)] : []),
  ...parts.tables.map((table) => `[${batch.rows[table].join(",")}]`),
  ...(parts.ended ? [batch.endedRuns] : []),
  ...(parts.dequeued ? [batch.dequeuedRuns] : []),
  ...(parts.freed ? [JSON.stringify(batch.freedLanes)] : []),
  ...(parts.ticked ? [JSON.stringify(batch.ticks)] : []),
  ...(parts.counted ? [JSON.stringify(batch.tickFailures)] : [])
]

/**
 * Returns a function that makes the statement of a batch; it caches the text of each combination of parts. The
 * statement returns the ids of the changes that were not applied, and of the events that it holds.
 */
export const makeStatements = (): ((batch: Batch, isResend: boolean) => Statement) => {
  const statements = new Map<string, { readonly name: string; readonly text: string }>()
  return (batch, isResend) => {
    const parts = partsOf(batch, isResend)
    const key = keyOf(parts)
    let found = statements.get(key)
    if (found === undefined) {
      const name = `svc_${key}`
      found = { name: name.length > 60 ? `svc_${hash(name)}` : name, text: textOf(parts) }
      statements.set(key, found)
    }
    return { ...found, values: valuesOf(batch, parts) }
  }
}

/** Shortens a statement's name: Postgres truncates names to 63 bytes. */
const hash = (text: string): string => {
  let h = 5381n
  for (const letter of text) h = ((h * 33n) ^ BigInt(letter.charCodeAt(0))) & 0xffffffffffffffffn
  return h.toString(36)
}
