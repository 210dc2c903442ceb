/** The keys with which programs call the API. */
import { useState } from "react"
import { Link } from "wouter"
import { type ListRow, useList } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { FilterFields, useFieldFilters } from "../../ui/Filters.js"
import { Page } from "../../ui/Page.js"
import { Empty } from "../../ui/States.js"
import { type Column, ListTable } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"
import { KeyWizard } from "./KeyWizard.js"

const columns: ReadonlyArray<Column<ListRow<"/api/v1/api-keys">>> = [
  { name: "Key", of: ({ id, name }) => <Link href={`/keys/${id}`}>{name}</Link> },
  { name: "Begins and ends", of: ({ key }) => <code>{key}</code> },
  { name: "Status", of: ({ status }) => <Badge word={status} /> },
  { name: "Mode", of: ({ mode }) => mode },
  { name: "Rights", of: ({ preset }) => preset.replaceAll("_", " ") },
  { name: "Customers", of: ({ customers }) => (customers.mode === "all" ? "all" : `${customers.ids.length} chosen`) },
  { name: "Last used", of: ({ lastUsedAt }) => <Time at={lastUsedAt} never="never" /> },
  { name: "Expires", of: ({ expiresAt }) => <Time at={expiresAt} never="never" /> }
]

const fields = [
  { name: "q", label: "Name" },
  { name: "mode", label: "Mode", options: ["live", "test"] }
] as const

export const Keys = () => {
  const filters = useFieldFilters(fields)
  const { isSet, values } = filters
  const list = useList("/api/v1/api-keys", values)
  const [isOpen, setOpen] = useState(false)
  const add = (
    <Button kind="main" needs="settings:manage" onClick={() => setOpen(true)}>
      Create a key
    </Button>
  )
  return (
    <Page title="Keys" actions={add}>
      <FilterFields {...filters} />
      <ListTable
        label="keys"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={<Empty title={isSet ? "No key matches" : "No keys yet"} action={add} />}
      />
      {isOpen && <KeyWizard close={() => setOpen(false)} />}
    </Page>
  )
}
