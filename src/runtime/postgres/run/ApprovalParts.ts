/**
 * The part of a flush that closes open approvals: of runs that end, and of calls that were given up. Only runs of the tier Long
 * have any.
 */
import type { FlushPart } from "../journal/FlushPart.js"
import type { RunChange } from "../../../actors/ports/run/Journal.js"

const endsWithApprovals = ({ end, epoch }: RunChange): boolean => end?.run.tier === "long" && epoch !== null
const closesApprovals = (run: RunChange): boolean => endsWithApprovals(run) || run.withdrawn !== undefined
const idsOf = (runs: ReadonlyArray<RunChange>): ReadonlyArray<string> => runs.map(({ id }) => id)

export const closedApprovals: FlushPart = {
  when: ({ runs }) => runs.some(closesApprovals),
  text: ({ next }) => [
    `closed AS (UPDATE approvals a SET status = 'closed', decided_at = now()
     WHERE a.execution_id = ANY(${next()}::text[]) AND a.execution_id IN (SELECT ok.id FROM ok) AND a.status = 'open'
       AND (a.execution_id = ANY(${next()}::text[]) OR a.key = ANY(${next()}::text[])))`
  ],
  values: ({ runs }) => [
    idsOf(runs.filter(closesApprovals)),
    idsOf(runs.filter(endsWithApprovals)),
    runs.flatMap(({ withdrawn = [] }) => withdrawn)
  ]
}
