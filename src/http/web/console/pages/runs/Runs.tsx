/** The runs of the organisation, newest first. */
import { Link } from "wouter"
import { type ListRow, useList } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { ChoiceFilter, FilterBar, TextFilter, useFilters } from "../../ui/Filters.js"
import { Page } from "../../ui/Page.js"
import { Empty } from "../../ui/States.js"
import { type Column, ListTable } from "../../ui/Table.js"
import { durationText, Time } from "../../ui/Time.js"

type Execution = ListRow<"/api/v1/executions">

const statuses = ["pending", "running", "suspended", "completed", "failed", "cancelled", "timed_out"]

const columns: ReadonlyArray<Column<Execution>> = [
  { name: "Run", of: ({ id }) => <Link href={`/runs/${id}`}>{id}</Link> },
  { name: "Status", of: ({ status }) => <Badge word={status} /> },
  {
    name: "Workflow",
    of: ({ workflowId, workflowName }) => <Link href={`/workflows/${workflowId}`}>{workflowName}</Link>
  },
  { name: "Customer", of: ({ customerRef }) => customerRef ?? "–" },
  { name: "Started by", of: ({ trigger }) => trigger.type },
  { name: "Created", of: ({ createdAt }) => <Time at={createdAt} /> },
  { name: "Duration", isNumber: true, of: ({ durationMs }) => (durationMs === null ? "–" : durationText(durationMs)) }
]

export const Runs = () => {
  const { clear, isSet, set, values } = useFilters(["status", "workflow_id", "customer_id", "q"])
  const list = useList("/api/v1/executions", values)
  return (
    <Page title="Runs" needs="executions:read">
      <FilterBar isSet={isSet} clear={clear}>
        <ChoiceFilter
          label="Status"
          value={values.status}
          onChange={(value) => set("status", value)}
          options={statuses}
        />
        <TextFilter
          label="Workflow"
          value={values.workflow_id}
          onChange={(value) => set("workflow_id", value)}
          placeholder="wf_…"
        />
      </FilterBar>
      <ListTable
        label="runs"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={<Empty title="No runs yet">Run a workflow, or wait for one of its triggers.</Empty>}
      />
    </Page>
  )
}
