/** The releases of the workspace, and the creation of one. */
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
import { CreateRelease } from "./CreateRelease.js"
import { useDeployRefusal } from "./deploying.js"

type Summary = ListRow<"/api/v1/releases">

const columns: ReadonlyArray<Column<Summary>> = [
  {
    name: "Release",
    of: ({ id, name, version }) => (
      <Link href={`/releases/${id}`}>
        {version} {name !== "" && name !== String(version) && name}
      </Link>
    )
  },
  { name: "Status", of: ({ status }) => <Badge word={status} /> },
  { name: "Now in", of: ({ environments }) => environments.join(", ") || "–" },
  {
    name: "Customer",
    of: ({ customerId }) => (customerId === null ? "all" : <Link href={`/customers/${customerId}`}>{customerId}</Link>)
  },
  {
    name: "Rollback of",
    of: ({ rollbackOf }) => (rollbackOf === null ? "–" : <Link href={`/releases/${rollbackOf}`}>{rollbackOf}</Link>)
  },
  { name: "Created", of: ({ createdAt }) => <Time at={createdAt} /> },
  { name: "Deployed", of: ({ deployedAt }) => <Time at={deployedAt} never="never" /> }
]

const fields = [
  { name: "q", label: "Name" },
  { name: "status", label: "Status", options: ["created", "deploying", "deployed", "superseded", "failed"] },
  { name: "environment", label: "Environment", placeholder: "live" },
  { name: "customer_id", label: "Customer's id", placeholder: "cus_…" }
] as const

export const Releases = () => {
  const filters = useFieldFilters(fields)
  const { clear, isSet, values } = filters
  const list = useList("/api/v1/releases", values)
  const [isCreating, setCreating] = useState(false)
  const refusal = useDeployRefusal()
  const create = (
    <Button kind="main" {...refusal} onClick={() => setCreating(true)}>
      Create a release
    </Button>
  )
  return (
    <Page title="Releases" actions={create}>
      <FilterFields {...filters} />
      <ListTable
        label="releases"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={
          isSet ? (
            <NoMatch title="No release matches" clear={clear} />
          ) : (
            <Empty title="No releases yet" action={create}>
              A release fixes versions of several workflows, and deploys all of them at once, or none.
            </Empty>
          )
        }
      />
      {isCreating && <CreateRelease close={() => setCreating(false)} />}
    </Page>
  )
}
