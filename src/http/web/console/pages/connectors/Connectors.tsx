/** The catalogue: systems that can be connected. */
import { useState } from "react"
import { Link } from "wouter"
import { type ListRow, useList } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { FilterFields, NoMatch, useFieldFilters } from "../../ui/Filters.js"
import { Page } from "../../ui/Page.js"
import { type Column, ListTable } from "../../ui/Table.js"
import { ImportDialog } from "./ImportDialog.js"

const kinds = [
  "ecommerce",
  "payments",
  "accounting",
  "inventory",
  "fulfillment",
  "source_hosting",
  "chat",
  "email",
  "http",
  "ai",
  "crm",
  "documents",
  "knowledge_base",
  "messaging",
  "project_management",
  "custom"
]

const columns: ReadonlyArray<Column<ListRow<"/api/v1/connectors">>> = [
  { name: "Connector", of: ({ name, slug }) => <Link href={`/connectors/${slug}`}>{name}</Link> },
  { name: "Slug", of: ({ slug }) => <code>{slug}</code> },
  { name: "Kind", of: ({ kind }) => kind.replaceAll("_", " ") },
  { name: "From", of: ({ visibility }) => (visibility === "managed" ? "svc" : "you") },
  { name: "Version", of: ({ version }) => version },
  { name: "Status", of: ({ status }) => <Badge word={status} /> },
  { name: "Actions", isNumber: true, of: ({ actions }) => actions.length },
  { name: "Events", isNumber: true, of: ({ events }) => events.length }
]

const fields = [
  { name: "q", label: "Name" },
  { name: "kind", label: "Kind", options: kinds }
] as const

export const Connectors = () => {
  const filters = useFieldFilters(fields)
  const { clear, values } = filters
  const list = useList("/api/v1/connectors", values)
  const [isOpen, setOpen] = useState(false)
  return (
    <Page
      title="Connectors"

      actions={
        <Button kind="main" needs="connectors:create" onClick={() => setOpen(true)}>
          Add a connector
        </Button>
      }
    >
      <FilterFields {...filters} />
      <ListTable
        label="connectors"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={<NoMatch title="No connector matches" clear={clear} />}
      />
      {isOpen && <ImportDialog close={() => setOpen(false)} />}
    </Page>
  )
}
