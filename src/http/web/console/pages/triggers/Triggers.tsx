/** The triggers of the workspace. */
import { Link, useLocation } from "wouter"
import { type ListRow, useList } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { ChoiceFilter, FilterBar, TextFilter, useFilters } from "../../ui/Filters.js"
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

export const Triggers = () => {
  const { clear, isSet, set, values } = useFilters(["q", "type", "status", "customer_id"])
  const list = useList("/api/v1/triggers", values, { every: 15_000 })
  const [, go] = useLocation()
  const create = (
    <Button kind="main" needs="workflows:create" onClick={() => go("/triggers/new")}>
      Create a trigger
    </Button>
  )
  return (
    <Page title="Triggers" actions={create}>
      <FilterBar isSet={isSet} clear={clear}>
        <TextFilter label="Name" value={values.q} onChange={(value) => set("q", value)} />
        <ChoiceFilter
          label="Type"
          value={values.type}
          onChange={(value) => set("type", value)}
          options={["webhook", "schedule", "app_event", "event", "manual"]}
        />
        <ChoiceFilter
          label="Status"
          value={values.status}
          onChange={(value) => set("status", value)}
          options={["active", "disabled", "auto_disabled"]}
        />
        <TextFilter
          label="Customer's id"
          value={values.customer_id}
          onChange={(value) => set("customer_id", value)}
          placeholder="cus_…"
        />
      </FilterBar>
      <ListTable
        label="triggers"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={
          isSet ? (
            <Empty title="No trigger matches" action={<Button onClick={clear}>Clear the filters</Button>} />
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
