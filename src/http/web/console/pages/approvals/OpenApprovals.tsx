/** Approvals that wait for a decision, and the decision. */
import { useState } from "react"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useList } from "../../api/Reads.js"
import { useMay, useMe } from "../../api/Session.js"
import { Button } from "../../ui/Button.js"
import { FormDialog } from "../../ui/Dialog.js"
import { TextArea } from "../../ui/Field.js"
import { Card } from "../../ui/Page.js"
import { Time } from "../../ui/Time.js"
import { useToast } from "../../ui/Toasts.js"

type Approval = ApiSchemas["Approval"]

/** Those of one run. `isRunning`: new ones may come. */
export const OpenApprovals = ({
  executionId,
  isRunning
}: {
  readonly executionId: string
  readonly isRunning: boolean
}) => {
  const isAllowed = useMay("executions:read")
  const { rows } = useList(
    "/api/v1/approvals",
    { execution_id: executionId, status: "open" },
    { enabled: isAllowed && isRunning, every: 3_000 }
  )
  return isRunning ? rows.map((approval) => <ApprovalCard key={approval.id} approval={approval} />) : null
}

export const ApprovalCard = ({ approval }: { readonly approval: Approval }) => {
  const [decision, setDecision] = useState<"approve" | "reject">()
  return (
    <Card
      title={`“${approval.name}” waits for a decision`}
      actions={
        <>
          <Button kind="main" needs="executions:create" onClick={() => setDecision("approve")}>
            Approve
          </Button>
          <Button kind="danger" needs="executions:create" onClick={() => setDecision("reject")}>
            Reject
          </Button>
        </>
      }
    >
      <div className="stack tight">
        <p>{approval.message}</p>
        <p className="soft">
          Asked: {approval.approvers.join(", ")}. It ends <Time at={approval.expiresAt} isExact />, then it counts as{" "}
          {approval.onExpire === "approve" ? "approved" : "rejected"}.
        </p>
      </div>
      {decision !== undefined && (
        <DecisionDialog approval={approval} decision={decision} close={() => setDecision(undefined)} />
      )}
    </Card>
  )
}

const DecisionDialog = ({
  approval,
  close,
  decision
}: {
  readonly approval: Approval
  readonly decision: "approve" | "reject"
  readonly close: () => void
}) => {
  const me = useMe()
  const [comment, setComment] = useState("")
  const tell = useToast()
  const decide = useChange(
    () =>
      bodyOf(
        client.POST("/api/v1/executions/{eid}/approvals/{apv}", {
          params: { path: { eid: approval.executionId, apv: approval.id } },
          body: { decision, ...(comment === "" ? {} : { comment }) }
        })
      ),
    {
      changes: ["/api/v1/approvals", "/api/v1/executions/{eid}"],
      done: () => {
        close()
        tell(decision === "approve" ? "Approved: the run goes on." : "Rejected.")
      }
    }
  )
  return (
    <FormDialog
      title={`${decision === "approve" ? "Approve" : "Reject"} “${approval.name}”`}
      verb={decision === "approve" ? "Approve" : "Reject"}
      kind={decision === "approve" ? "main" : "danger"}
      isOpen
      close={close}
      send={() => decide.run()}
      isRunning={decide.isRunning}
      error={decide.error}
    >
      <p>{approval.message}</p>
      <p className="soft">You decide as {me.email ?? me.name}.</p>
      <TextArea
        label="Comment (optional)"
        rows={3}
        value={comment}
        onChange={setComment}
        wrong={decide.error?.detailOf("comment")}
      />
    </FormDialog>
  )
}
