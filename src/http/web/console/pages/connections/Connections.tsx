/** The customers' accounts at connectors' systems. */
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
import { ConnectDialog } from "./ConnectDialog.js"

const statuses = ["pending", "active", "inactive", "expired", "failed", "disconnected"]

const columns: ReadonlyArray<Column<ListRow<"/api/v1/connections">>> = [
  { name: "Connection", of: ({ id, label }) => <Link href={`/connections/${id}`}>{label}</Link> },
  { name: "Status", of: ({ status }) => <Badge word={status} /> },
  { name: "Health", of: ({ health }) => <Badge word={health.state} tone={health.state === "ok" ? "good" : "warn"} /> },
  { name: "System", of: ({ connector }) => <Link href={`/connectors/${connector}`}>{connector}</Link> },
  { name: "Customer", of: ({ customerId }) => <Link href={`/customers/${customerId}`}>{customerId}</Link> },
  { name: "Account", of: ({ accountLabel }) => accountLabel ?? "–" },
  { name: "Last used", of: ({ lastUsedAt }) => <Time at={lastUsedAt} never="never" /> }
]

export const Connections = () => {
  const { clear, isSet, set, values } = useFilters(["q", "status", "connector", "customer_id"])
  const list = useList("/api/v1/connections", values)
  const [isOpen, setOpen] = useState(false)
  const connect = (
    <Button kind="main" needs="connections:create" onClick={() => setOpen(true)}>
      Connect an account
    </Button>
  )
  return (
    <Page title="Connections" actions={connect}>
      <FilterBar isSet={isSet} clear={clear}>
        <TextFilter label="Label" value={values.q} onChange={(value) => set("q", value)} />
        <ChoiceFilter
          label="Status"
          value={values.status}
          onChange={(value) => set("status", value)}
          options={statuses}
        />
        <TextFilter label="Connector" value={values.connector} onChange={(value) => set("connector", value)} />
        <TextFilter
          label="Customer's id"
          value={values.customer_id}
          onChange={(value) => set("customer_id", value)}
          placeholder="cus_…"
        />
      </FilterBar>
      <ListTable
        label="connections"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={
          isSet ? (
            <Empty title="No connection matches" action={<Button onClick={clear}>Clear the filters</Button>} />
          ) : (
            <Empty title="No account is connected" action={connect}>
              Choose a system and a customer: enter the credential here, or get a page on which the customer connects.
            </Empty>
          )
        }
      />
      {isOpen && <ConnectDialog close={() => setOpen(false)} />}
    </Page>
  )
}
