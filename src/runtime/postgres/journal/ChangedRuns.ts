/** The parts of a flush that change rows of runs: patches, and the removal of runs that ended. */
import { type FlushPart, noRows, ofRuns, rowsPart } from "./FlushPart.js"
import { patchAssignments, patchColumns, patchRow } from "./RunColumns.js"

/** The end of a run replaces its row, so its patch is not needed. */
export const patches = rowsPart({
  columns: patchColumns,
  from: ofRuns,
  rows: ({ end, id, patch }) => (patch === undefined || end !== undefined ? noRows : [patchRow(id, patch)]),
  text: (t) => [
    `patched AS (UPDATE runs r SET ${patchAssignments("r", "t")}
     FROM ${t} WHERE r.id = ANY (ARRAY(SELECT ok.id FROM ok)) AND r.id = t.id)`
  ]
})

/** Deletes the rows of runs that ended; a run without an epoch has none. */
export const endedRuns: FlushPart = {
  when: ({ runs }) => runs.some(({ end, epoch }) => end !== undefined && epoch !== null),
  text: ({ next }) => [
    `ended AS (DELETE FROM runs r WHERE r.id = ANY(${next()}::text[]) AND r.id IN (SELECT ok.id FROM ok))`
  ],
  values: ({ runs }) => [runs.flatMap(({ end, epoch, id }) => (end !== undefined && epoch !== null ? [id] : []))]
}

/** Deletes the places in the queue of runs that ended before they started. */
export const dequeuedRuns: FlushPart = {
  when: ({ runs }) => runs.some(({ end }) => end?.run.status === "pending"),
  text: ({ next }) => [
    `dequeued AS (DELETE FROM start_queue o WHERE o.id = ANY(${next()}::text[]) AND o.id IN (SELECT ok.id FROM ok))`
  ],
  values: ({ runs }) => [runs.flatMap(({ end, id }) => (end?.run.status === "pending" ? [id] : []))]
}
