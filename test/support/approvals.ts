/** Approvals of runs that a test has not made by a workflow: as a run would have asked for them. */

interface AskedRun {
  readonly organisationId: string
  readonly spaceId: string
  readonly customerId?: string | null
  readonly executionId: string
  readonly workflowId: string
  readonly environment?: string
}

let approvals = 0

/** Adds an open approval of a run, by Ada; returns its id. */
export const addApproval = async (
  sql: (statement: string) => Promise<unknown>,
  { customerId = null, environment = "live", executionId, organisationId, spaceId, workflowId }: AskedRun
): Promise<string> => {
  const id = `apv_${String(++approvals).padStart(26, "0")}`
  const customer = customerId === null ? "NULL" : `'${customerId}'`
  await sql(`INSERT INTO approvals (id, org, space, customer_id, execution_id, workflow_id, workflow_name, environment, key,
      name, message, approvers, status, on_expire, expires_at)
    VALUES ('${id}', '${organisationId}', '${spaceId}', ${customer}, '${executionId}', '${workflowId}', 'w', '${environment}',
      '${id}', 'sign', 'Pay?', '["ada@example.com"]', 'open', 'reject', now() + interval '1 hour')`)
  return id
}
