/** The part of a flush that closes the open approvals of runs that end. Only runs of the tier Long have any. */
import type { FlushPart } from "../journal/FlushPart.js"
import type { RunChange } from "../../../actors/ports/run/Journal.js"

const mayHaveApprovals = ({ end, epoch }: RunChange): boolean => end?.run.tier === "long" && epoch !== null

export const closedApprovals: FlushPart = {
  when: ({ runs }) => runs.some(mayHaveApprovals),
  text: ({ next }) => [
    `closed AS (UPDATE approvals a SET status = 'closed', decided_at = now()
     WHERE a.execution_id = ANY(${next()}::text[]) AND a.execution_id IN (SELECT ok.id FROM ok) AND a.status = 'open')`
  ],
  values: ({ runs }) => [runs.flatMap((run) => (mayHaveApprovals(run) ? [run.id] : []))]
}
