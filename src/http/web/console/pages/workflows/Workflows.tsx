/** The workflows of the workspace, and the creation of one. */
import { useState } from "react"
import { Link } from "wouter"
import { type ListRow, useList } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { FilterFields, NoMatch, useFieldFilters } from "../../ui/Filters.js"
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

const fields = [
  { name: "q", label: "Name" },
  { name: "status", label: "Status", options: ["draft", "published", "archived"] },
  { name: "customer_id", label: "Customer's id", placeholder: "cus_…" }
] as const

export const Workflows = () => {
  const filters = useFieldFilters(fields)
  const { clear, isSet, values } = filters
  const list = useList("/api/v1/workflows", values)
  const [isCreating, setCreating] = useState(false)
  const create = (
    <Button kind="main" needs="workflows:create" onClick={() => setCreating(true)}>
      Create a workflow
    </Button>
  )
  return (
    <Page title="Workflows" actions={create}>
      <FilterFields {...filters} />
      <ListTable
        label="workflows"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={
          isSet ? (
            <NoMatch title="No workflow matches" clear={clear} />
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
