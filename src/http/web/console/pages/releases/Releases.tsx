/** The releases of the workspace, and the creation of one. */
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

export const Releases = () => {
  const { clear, isSet, set, values } = useFilters(["q", "status", "environment", "customer_id"])
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
      <FilterBar isSet={isSet} clear={clear}>
        <TextFilter label="Name" value={values.q} onChange={(value) => set("q", value)} />
        <ChoiceFilter
          label="Status"
          value={values.status}
          onChange={(value) => set("status", value)}
          options={["created", "deploying", "deployed", "superseded", "failed"]}
        />
        <TextFilter
          label="Environment"
          value={values.environment}
          onChange={(value) => set("environment", value)}
          placeholder="live"
        />
        <TextFilter
          label="Customer's id"
          value={values.customer_id}
          onChange={(value) => set("customer_id", value)}
          placeholder="cus_…"
        />
      </FilterBar>
      <ListTable
        label="releases"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={
          isSet ? (
            <Empty title="No release matches" action={<Button onClick={clear}>Clear the filters</Button>} />
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
