/** A run goes on within a second after its approval. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { assertWithin } from "../../support/pace.js"
import { decide, ended, execute, opened, published, startPeople, stopPeople, svc } from "../../support/people.js"

beforeAll(() => startPeople(), 60_000)
afterAll(stopPeople)

it("a run goes on after its approval, also beside an organisation that has as many as it may", async () => {
  const { organisationId } = await svc.organisation("Full")
  await svc.sql(`INSERT INTO approvals (id, org, space, execution_id, workflow_id, workflow_name, environment, key, name, message,
      approvers, status, on_expire, expires_at)
    SELECT 'apv_' || n, '${organisationId}', 'spc', 'exec_' || n, 'wf', 'w', 'live', 'k', 'n', 'm', '[]', 'open', 'reject',
      now() + interval '1 day' FROM generate_series(1, 10000) n`)
  const { key } = await svc.organisation("Approving")
  const config = { approvers: ["ada@example.com"], message: "Pay?" }
  const flow = await published({ form: "steps", spec: { steps: [{ name: "sign", type: "approval", config }] } }, key)
  const { executionId } = (await execute(flow, {}, key)).body
  const [approval] = await opened(executionId, key)
  const decided = (await decide(approval, { decision: "approve", actor: "ada@example.com" }, key)).body.data
  const { createdAt, finishedAt, status } = await ended(executionId, key)
  assert.strictEqual(status, "completed")
  assertWithin(Date.parse(finishedAt) - Date.parse(decided.decidedAt), 1_000, "from the decision")
  assertWithin(Date.parse(finishedAt) - Date.parse(createdAt), 5_000, "from its start")
})
