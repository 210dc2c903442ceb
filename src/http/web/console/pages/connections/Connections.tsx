/** The customers' accounts at connectors' systems. */
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

const fields = [
  { name: "q", label: "Label" },
  { name: "status", label: "Status", options: statuses },
  { name: "connector", label: "Connector" },
  { name: "customer_id", label: "Customer's id", placeholder: "cus_…" }
] as const

export const Connections = () => {
  const filters = useFieldFilters(fields)
  const { clear, isSet, values } = filters
  const list = useList("/api/v1/connections", values)
  const [isOpen, setOpen] = useState(false)
  const connect = (
    <Button kind="main" needs="connections:create" onClick={() => setOpen(true)}>
      Connect an account
    </Button>
  )
  return (
    <Page title="Connections" actions={connect}>
      <FilterFields {...filters} />
      <ListTable
        label="connections"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={
          isSet ? (
            <NoMatch title="No connection matches" clear={clear} />
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
