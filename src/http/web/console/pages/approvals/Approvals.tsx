/** Decisions that runs wait for, and those that were made. */
import { Link } from "wouter"
import { type ListRow, useList } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { FilterFields, useFieldFilters } from "../../ui/Filters.js"
import { Page } from "../../ui/Page.js"
import { Empty } from "../../ui/States.js"
import { type Column, ListTable } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"

const columns: ReadonlyArray<Column<ListRow<"/api/v1/approvals">>> = [
  { name: "Approval", of: ({ executionId, name }) => <Link href={`/runs/${executionId}`}>{name}</Link> },
  { name: "Status", of: ({ status }) => <Badge word={status} /> },
  { name: "Message", of: ({ message }) => message },
  {
    name: "Workflow",
    of: ({ workflowId, workflowName }) => <Link href={`/workflows/${workflowId}`}>{workflowName}</Link>
  },
  { name: "Asked", of: ({ approvers }) => approvers.join(", ") },
  { name: "Decided by", of: ({ actor, decidedBy }) => actor ?? decidedBy?.name ?? "–" },
  { name: "Created", of: ({ createdAt }) => <Time at={createdAt} /> },
  { name: "Ends", of: ({ expiresAt }) => <Time at={expiresAt} /> }
]

const fields = [
  { name: "status", label: "Status", options: ["open", "approved", "rejected", "expired", "closed"] }
] as const

export const Approvals = () => {
  const filters = useFieldFilters(fields)
  const { values } = filters
  const list = useList("/api/v1/approvals", values, { every: 5_000 })
  return (
    <Page title="Approvals">
      <FilterFields {...filters} />
      <ListTable
        label="approvals"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={
          <Empty title="No approvals">
            A workflow asks for one by svc.approval or a step of that type. It is decided on the page of its run.
          </Empty>
        }
      />
    </Page>
  )
}
