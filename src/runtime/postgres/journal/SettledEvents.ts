/** The parts of a flush that end the way of events: they move settled events to their records, and insert dead letters. */
import type { DeadLetter } from "../../../actors/ports/run/Journal.js"
import { keptEventColumns } from "./EventRow.js"
import { noRows, ofUnits, type PreparedUnit, type Row, rowsPart } from "./FlushPart.js"
import { timestamp } from "./RunColumns.js"
import { settlementOf } from "./Unit.js"

const settlementColumns = {
  run: "text",
  id: "text",
  status: "text",
  finished_at: "timestamptz",
  attempts: "int",
  deliveries: "json"
}

const settlementRow = ({ ids, unit }: PreparedUnit): ReadonlyArray<Row> => {
  const settlement = settlementOf(unit)
  if (settlement === undefined) return noRows
  const { at, claims, deliveries, eventId, status } = settlement
  return [{ run: ids[0], id: eventId, status, finished_at: timestamp(at), attempts: claims, deliveries }]
}

const kept = keptEventColumns.join(", ")

/** Moves settled events to their records. */
export const settlements = rowsPart({
  columns: settlementColumns,
  from: ofUnits,
  rows: settlementRow,
  text: (t) => [
    `settling AS MATERIALIZED (SELECT * FROM ${t} WHERE run IN (SELECT ok.id FROM ok)),
   moved AS (DELETE FROM events e USING settling t
     WHERE e.id = ANY (ARRAY(SELECT id FROM settling)) AND e.id = t.id
     RETURNING ${keptEventColumns.map((name) => `e.${name}`).join(", ")}, t.status AS final, t.finished_at, t.attempts, t.deliveries),
   recorded AS (INSERT INTO event_records (${kept}, status, finished_at, attempts, deliveries)
     SELECT ${kept}, final, finished_at, attempts, deliveries FROM moved ON CONFLICT (id, class) DO NOTHING)`
  ]
})

// --- Dead letters ---

const deadLetterColumns = {
  run: "text",
  id: "text",
  org: "text",
  space: "text",
  event_id: "text",
  event_class: "smallint",
  execution_id: "text",
  trigger_id: "text",
  customer_id: "text",
  connector: "text",
  type: "text",
  priority: "smallint",
  error: "json",
  context: "json",
  retry_count: "int"
}

/** The row of a dead letter; payload and headers are added by the statement. `run`: its row among the changes. */
const deadLetterRow = (
  run: string | undefined,
  change: { readonly organisationId: string; readonly spaceId: string },
  { context, error, executionId, id, of }: DeadLetter
): Row => ({
  run,
  id,
  org: change.organisationId,
  space: change.spaceId,
  execution_id: executionId,
  customer_id: of.customerId,
  type: of.type,
  priority: of.priority,
  error,
  context,
  ...("id" in of
    ? {
        event_id: of.id,
        event_class: of.retention,
        trigger_id: of.triggerId,
        connector: of.connector,
        retry_count: of.replays
      }
    : { retry_count: 0 })
})

const deadLetterRows = ({ ids, unit: { event, runs } }: PreparedUnit): ReadonlyArray<Row> => {
  const ofRuns = runs.flatMap((run) => (run.deadLetters ?? noRows).map((letter) => deadLetterRow(run.id, run, letter)))
  const ofEvent = event?.deadLetters?.map((letter) => deadLetterRow(ids[0], event, letter)) ?? noRows
  return ofEvent.length === 0 ? ofRuns : [...ofRuns, ...ofEvent]
}

/** Inserts dead letters with the payload of their event, which this statement settles or an earlier one has settled. */
export const deadLetters = rowsPart({
  columns: deadLetterColumns,
  from: ofUnits,
  rows: deadLetterRows,
  text: (t, has) => {
    const { event_class: _class, run: _run, ...columns } = deadLetterColumns
    const names = Object.keys(columns)
    return [
      `letters AS MATERIALIZED (SELECT * FROM ${t} WHERE run IN (SELECT ok.id FROM ok)),
   buried AS (INSERT INTO dead_letters (${names.join(", ")}, source, connection_id, record, payload, sealed, expires_at)
     SELECT ${names.map((name) => `l.${name}`).join(", ")}, s.source, s.connection_id, s.record, s.payload, s.sealed,
       now() + interval '30 days'
     FROM letters l LEFT JOIN LATERAL (
       ${has(settlements) ? "SELECT m.source, m.connection_id, m.record, m.payload, m.sealed FROM moved m WHERE m.id = l.event_id UNION ALL" : ""}
       SELECT r.source, r.connection_id, r.record, r.payload, r.sealed FROM event_records r WHERE r.id = l.event_id AND r.class = l.event_class LIMIT 1
     ) s ON true ON CONFLICT (id) DO NOTHING)`
    ]
  }
})
