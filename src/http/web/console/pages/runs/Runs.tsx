/** The runs of the organisation, newest first; several of them are cancelled or run again at once. */
import { useState } from "react"
import { Link } from "wouter"
import type { ListRow } from "../../api/Reads.js"
import { useStableList } from "../../api/StableList.js"
import { usePolls } from "../../live/Live.js"
import { Badge } from "../../ui/Badge.js"
import { FilterFields, NoMatch, useFieldFilters } from "../../ui/Filters.js"
import { Page } from "../../ui/Page.js"
import { Empty } from "../../ui/States.js"
import { type Column, ListTable, NewerRows } from "../../ui/Table.js"
import { durationText, Time } from "../../ui/Time.js"
import { BulkActions } from "./BulkActions.js"

type Execution = ListRow<"/api/v1/executions">

const statuses = ["pending", "running", "completed", "failed", "cancelled", "timed_out"]
const triggers = ["api", "webhook", "schedule", "app_event", "event", "manual", "mcp", "rerun", "agent"]
/** Runs that are changed at once, at most. */
const mostChosen = 200
/** Between two looks for newer ones, while changes are not told. */
const newerMillis = 10_000

const columns: ReadonlyArray<Column<Execution>> = [
  {
    name: "Run",
    of: ({ id }) => (
      <Link href={`/runs/${id}`} className="mono">
        {id}
      </Link>
    )
  },
  { name: "Status", of: ({ status }) => <Badge word={status} /> },
  {
    name: "Workflow",
    of: ({ workflowId, workflowName }) => <Link href={`/workflows/${workflowId}`}>{workflowName}</Link>
  },
  {
    name: "Customer",
    of: ({ customerId, customerRef }) =>
      customerId === null ? "–" : <Link href={`/customers/${customerId}`}>{customerRef ?? customerId}</Link>
  },
  { name: "Started by", of: ({ trigger }) => trigger.type.replaceAll("_", " ") },
  { name: "Created", of: ({ createdAt }) => <Time at={createdAt} /> },
  { name: "Duration", isNumber: true, of: ({ durationMs }) => (durationMs === null ? "–" : durationText(durationMs)) }
]

const fields = [
  { name: "q", label: "Workflow's name" },
  { name: "status", label: "Status", options: statuses },
  { name: "trigger_type", label: "Started by", options: triggers },
  { name: "workflow_id", label: "Workflow's id", placeholder: "wf_…" },
  { name: "customer_id", label: "Customer's id", placeholder: "cus_…" },
  { name: "parent_id", label: "Started again from", placeholder: "exec_…" },
  { name: "created_after", label: "From", isTime: true },
  { name: "created_before", label: "To", isTime: true }
] as const

export const Runs = () => {
  const filters = useFieldFilters(fields)
  const { clear, isSet, values } = filters
  const list = useStableList("/api/v1/executions", values, usePolls(newerMillis))
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const choose = (id: string) =>
    setChosen((before) => {
      const after = new Set(before)
      if (!after.delete(id) && after.size < mostChosen) after.add(id)
      return after
    })
  const choice: Column<Execution> = {
    name: "Choose",
    isUnnamed: true,
    of: ({ id, workflowName }) => (
      <input
        type="checkbox"
        aria-label={`Choose ${workflowName} ${id}`}
        checked={chosen.has(id)}
        onChange={() => choose(id)}
      />
    )
  }
  return (
    <Page
      title="Runs"

      actions={<BulkActions runs={list.rows.filter(({ id }) => chosen.has(id))} clear={() => setChosen(new Set())} />}
    >
      <FilterFields {...filters} />
      <NewerRows list={list} />
      <ListTable
        label="runs"
        columns={[choice, ...columns]}
        keyOf={({ id }) => id}
        list={list}
        empty={
          isSet ? (
            <NoMatch title="No run matches" clear={clear} />
          ) : (
            <Empty title="No runs yet" action={<Link href="/workflows">Workflows</Link>}>
              Run a workflow from its page, or wait for one of its triggers.
            </Empty>
          )
        }
      />
    </Page>
  )
}
