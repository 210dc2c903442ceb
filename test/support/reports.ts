/** Reports of `svc.diff.compare` of runs that made none. */

interface ReportedRun {
  readonly organisationId: string
  readonly spaceId: string
  readonly customer: string
  readonly execution: string
  readonly workflow: string
}

let reports = 0

/** Adds a report without entries, and returns its id. */
export const addReport = async (
  sql: (statement: string) => Promise<unknown>,
  { customer, execution, organisationId, spaceId, workflow }: ReportedRun
): Promise<string> => {
  const id = `rpt_${String(++reports).padStart(26, "0")}`
  await sql(`INSERT INTO sync_reports (id, org, space, execution_id, workflow_id, customer_id, name, summary, expires_at)
    VALUES ('${id}', '${organisationId}', '${spaceId}', '${execution}', '${workflow}', '${customer}', 'r',
      '{"added":0,"changed":0,"removed":0,"unchanged":1,"skipped":0}', now() + interval '1 day')`)
  return id
}
