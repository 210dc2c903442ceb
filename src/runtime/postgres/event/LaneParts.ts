/** How a flush takes and frees lanes: events of one lane start runs one after the other. */
import { noRows, ofRuns, rowsPart } from "../journal/FlushPart.js"
import { runTable } from "../journal/FlushTable.js"

/** A run that opens takes its trigger's lane. */
export const lanes = runTable({
  name: "lanes",
  columns: { run: "text", org: "text", lane: "text", execution_id: "text" },
  conflict: "ON CONFLICT DO NOTHING",
  rows: ({ id, open, organisationId: org }) =>
    open?.record.lane === undefined ? noRows : [{ run: id, org, lane: open.record.lane, execution_id: id }]
})

/** A run that ended leaves its trigger's lane. */
export const freedLanes = rowsPart({
  columns: { id: "text", org: "text", lane: "text" },
  from: ofRuns,
  rows: ({ end, id, organisationId: org }) =>
    end?.run.record.lane === undefined ? noRows : [{ id, org, lane: end.run.record.lane }],
  text: (t) => [
    `freed AS (DELETE FROM lanes l USING ${t}
     WHERE l.org = t.org AND l.lane = t.lane AND l.execution_id = t.id AND t.id IN (SELECT ok.id FROM ok))`
  ]
})
