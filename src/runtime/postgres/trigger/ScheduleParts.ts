/** How a flush moves schedules on, with the events of their ticks, and counts their failed runs in a row. */
import { noRows, ofRuns, ofUnits, rowsPart } from "../journal/FlushPart.js"
import { timestamp } from "../journal/RunColumns.js"
import { leasedUntil, leaseEnd } from "../LeasedWork.js"
import { schedules } from "../WorkKinds.js"

/** Moves schedules on, unless they were edited since their ticks were found due. */
export const ticks = rowsPart({
  columns: {
    run: "text",
    trigger_id: "text",
    due_at: "timestamptz",
    next_at: "timestamptz",
    fired: "boolean",
    leased: "boolean"
  },
  from: ofUnits,
  rows: ({ ids, unit: { event } }) => {
    if (event?.tick === undefined) return noRows
    const { dueAt, isFired, keepsLease, nextAt, triggerId } = event.tick
    const [run] = ids
    const times = { due_at: timestamp(dueAt), next_at: timestamp(nextAt) }
    return [{ run, trigger_id: triggerId, ...times, fired: isFired, leased: keepsLease }]
  },
  text: (t) => [
    `ticked AS (UPDATE trigger_states s SET next_fire_at = t.next_at,
       last_fired_at = CASE WHEN t.fired THEN now() ELSE s.last_fired_at END,
       ${leasedUntil(schedules)} = CASE WHEN t.leased THEN ${leaseEnd(schedules)} END
     FROM ${t}
     WHERE s.trigger_id = t.trigger_id AND s.next_fire_at = t.due_at AND t.run IN (SELECT ok.id FROM ok))`
  ]
})

/**
 * Counts the failed runs in a row of schedules; a run that succeeds begins anew, a cancelled one neither fails nor succeeds.
 * Only runs whose record this statement inserts count: a flush that is resent after its commit inserts none. `nth` orders
 * the runs of the batch.
 */
export const tickFailures = rowsPart({
  columns: { run: "text", trigger_id: "text", nth: "int", failed: "boolean" },
  from: ofRuns,
  rows: ({ end, id }, nth) => {
    if (end === undefined || end.run.triggerType !== "schedule" || end.status === "cancelled") return noRows
    const trigger = end.run.record.event?.triggerId ?? null
    return trigger === null ? noRows : [{ run: id, trigger_id: trigger, nth, failed: end.status !== "completed" }]
  },
  text: (t) => [
    `failing AS (UPDATE trigger_states s
     SET consecutive_failures = c.failures + CASE WHEN c.resets THEN 0 ELSE s.consecutive_failures END
     FROM (SELECT x.trigger_id, bool_or(NOT x.failed) AS resets,
         count(*) FILTER (WHERE x.failed AND x.nth > x.succeeded)::int AS failures
       FROM (SELECT t.*, COALESCE(max(t.nth) FILTER (WHERE NOT t.failed) OVER (PARTITION BY t.trigger_id), -1) AS succeeded
         FROM ${t} WHERE t.run IN (SELECT x.id FROM executions_in x)) x
       GROUP BY x.trigger_id) c
     WHERE s.trigger_id = c.trigger_id AND (c.failures > 0 OR s.consecutive_failures > 0))`
  ]
})
