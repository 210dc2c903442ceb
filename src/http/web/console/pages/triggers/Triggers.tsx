/** The triggers of the workspace. */
import { Link, useLocation } from "wouter"
import { type ListRow, useList } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { FilterFields, NoMatch, useFieldFilters } from "../../ui/Filters.js"
import { Page } from "../../ui/Page.js"
import { Empty } from "../../ui/States.js"
import { type Column, ListTable } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"

type Trigger = ListRow<"/api/v1/triggers">

const columns: ReadonlyArray<Column<Trigger>> = [
  { name: "Name", of: ({ id, name }) => <Link href={`/triggers/${id}`}>{name}</Link> },
  { name: "Type", of: ({ type }) => type.replaceAll("_", " ") },
  {
    name: "Status",
    of: ({ appEvent, status }) => (
      <>
        <Badge word={status} />{" "}
        {appEvent !== null && appEvent.subscription !== "none" && <Badge word={appEvent.subscription} />}
      </>
    )
  },
  {
    name: "Starts",
    of: ({ routes }) =>
      routes.slice(0, 2).map(({ id, workflowId }) => (
        <span key={id}>
          <Link href={`/workflows/${workflowId}`}>{workflowId}</Link>{" "}
        </span>
      ))
  },
  { name: "Last fired", of: ({ stats }) => <Time at={stats.lastFiredAt} never="never" /> },
  { name: "Fires next", of: ({ stats, status }) => <Time at={status === "active" ? stats.nextFireAt : null} /> },
  { name: "Failures in a row", isNumber: true, of: ({ stats }) => stats.consecutiveFailures }
]

const fields = [
  { name: "q", label: "Name" },
  { name: "type", label: "Type", options: ["webhook", "schedule", "app_event", "event", "manual"] },
  { name: "status", label: "Status", options: ["active", "disabled", "auto_disabled"] },
  { name: "customer_id", label: "Customer's id", placeholder: "cus_…" }
] as const

export const Triggers = () => {
  const filters = useFieldFilters(fields)
  const { clear, isSet, values } = filters
  const list = useList("/api/v1/triggers", values, { every: 15_000 })
  const [, go] = useLocation()
  const create = (
    <Button kind="main" needs="workflows:create" onClick={() => go("/triggers/new")}>
      Create a trigger
    </Button>
  )
  return (
    <Page title="Triggers" actions={create}>
      <FilterFields {...filters} />
      <ListTable
        label="triggers"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={
          isSet ? (
            <NoMatch title="No trigger matches" clear={clear} />
          ) : (
            <Empty title="No triggers yet" action={create}>
              A trigger starts workflows for webhooks, at times, and for changes in connected systems.
            </Empty>
          )
        }
      />
    </Page>
  )
}
