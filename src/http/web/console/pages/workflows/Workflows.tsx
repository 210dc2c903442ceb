/** The workflows of the workspace, and the creation of one. */
import { useState } from "react"
import { Link } from "wouter"
import { type ListRow, useList } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { ChoiceFilter, FilterBar, TextFilter, useFilters } from "../../ui/Filters.js"
import { Page } from "../../ui/Page.js"
import { Empty } from "../../ui/States.js"
import { type Column, ListTable } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"
import { CreateWorkflow } from "./CreateWorkflow.js"

type Summary = ListRow<"/api/v1/workflows">

const columns: ReadonlyArray<Column<Summary>> = [
  { name: "Name", of: ({ id, name }) => <Link href={`/workflows/${id}`}>{name}</Link> },
  {
    name: "Status",
    of: ({ enabled, status }) => (
      <>
        <Badge word={status} /> {!enabled && <Badge word="disabled" tone="warn" />}
      </>
    )
  },
  { name: "Form", of: ({ form }) => form },
  { name: "Tier", of: ({ tier }) => tier },
  { name: "Version", isNumber: true, of: ({ publishedVersion }) => publishedVersion ?? "–" },
  {
    name: "Customer",
    of: ({ customerId }) => (customerId === null ? "all" : <Link href={`/customers/${customerId}`}>{customerId}</Link>)
  },
  { name: "Tags", of: ({ tags }) => tags.join(", ") },
  { name: "Changed", of: ({ updatedAt }) => <Time at={updatedAt} /> }
]

export const Workflows = () => {
  const { clear, isSet, set, values } = useFilters(["q", "status", "customer_id"])
  const list = useList("/api/v1/workflows", values)
  const [isCreating, setCreating] = useState(false)
  const create = (
    <Button kind="main" needs="workflows:create" onClick={() => setCreating(true)}>
      Create a workflow
    </Button>
  )
  return (
    <Page title="Workflows" actions={create}>
      <FilterBar isSet={isSet} clear={clear}>
        <TextFilter label="Name" value={values.q} onChange={(value) => set("q", value)} />
        <ChoiceFilter
          label="Status"
          value={values.status}
          onChange={(value) => set("status", value)}
          options={["draft", "published", "archived"]}
        />
        <TextFilter
          label="Customer's id"
          value={values.customer_id}
          onChange={(value) => set("customer_id", value)}
          placeholder="cus_…"
        />
      </FilterBar>
      <ListTable
        label="workflows"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={
          isSet ? (
            <Empty title="No workflow matches" action={<Button onClick={clear}>Clear the filters</Button>} />
          ) : (
            <Empty title="No workflows yet" action={create}>
              A workflow is what svc runs: code, or steps. Begin with one of the examples.
            </Empty>
          )
        }
      />
      {isCreating && <CreateWorkflow close={() => setCreating(false)} />}
    </Page>
  )
}
