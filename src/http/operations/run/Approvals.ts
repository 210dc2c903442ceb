/** The operations on approvals. Contract: execution state machine; what it leaves open: decisions/0045. */
import { ApprovalList, Approvals } from "../../../actors/management/run/Approvals.js"
import { Approval, DecideApproval } from "../../../domain/run/Approval.js"
import { auditAction } from "../../operation/Contract.js"
import { operationsOf } from "../../operation/Operation.js"
import { page, record } from "../../operation/Output.js"
import { strictPayload } from "../../PayloadSchema.js"

const ofApprovals = operationsOf({
  with: Approvals,
  resource: "approval",
  sharing: "customers"
})

/** The operations of the group `approvals`, in the order of the documents. */
export const approvalsOperations = [
  ofApprovals({
    name: "approvals.list",
    summary: "List approvals",
    description: "Lists the approvals of runs that the key reaches, newest first. They are kept for 90 days.",
    answers: { 200: "A page of approvals." },
    parameters: { execution_id: "Only records of this execution." },
    route: "GET /api/v1/approvals",
    query: ApprovalList,
    output: page(Approval.View),
    permit: "executions:read",
    scoped: { workflow: "list", environment: "list" },
    use: (approvals, { context, query }) => approvals.list(context, query)
  }),
  ofApprovals({
    name: "approvals.decide",
    summary: "Decide an approval",
    description:
      "Approves or rejects as one of the approvers. A key names the approver, and the decision is recorded as claimed by it; who has signed in decides as itself: naming another is 422. The first decision counts, later ones are 409. The run goes on within a second.",
    answers: { 200: "The decided approval." },
    parameters: { apv: "The id of the approval." },
    example: { decision: "approve", comment: "Within the budget.", actor: "ada@example.com" },
    route: "POST /api/v1/executions/:eid/approvals/:apv",
    body: strictPayload(DecideApproval),
    output: record(Approval.View),
    permit: "executions:create",
    audit: auditAction("approval.decide"),
    scoped: { workflow: "record", environment: "record" },
    use: (approvals, { body, context, path }) => approvals.decide(context, path.eid, path.apv, body)
  })
] as const
