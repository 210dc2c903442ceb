/** The organisation's own customers, for whom runs act. */
import { useState } from "react"
import { Link, useLocation } from "wouter"
import { bodyOf, client } from "../../api/Client.js"
import { type ListRow, useChange, useList } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { FormDialog } from "../../ui/Dialog.js"
import { TextField } from "../../ui/Field.js"
import { FilterFields, NoMatch, useFieldFilters } from "../../ui/Filters.js"
import { Page } from "../../ui/Page.js"
import { Empty } from "../../ui/States.js"
import { type Column, ListTable } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"
import { useForm } from "../../ui/useForm.js"

const columns: ReadonlyArray<Column<ListRow<"/api/v1/customers">>> = [
  { name: "Customer", of: ({ id, name }) => <Link href={`/customers/${id}`}>{name}</Link> },
  { name: "Status", of: ({ status }) => <Badge word={status} /> },
  { name: "Your reference", of: ({ externalRef }) => (externalRef === null ? "–" : <code>{externalRef}</code>) },
  { name: "Connections", isNumber: true, of: ({ connectionCount }) => connectionCount },
  { name: "Tags", of: ({ tags }) => tags.join(", ") || "–" },
  { name: "Created", of: ({ createdAt }) => <Time at={createdAt} /> }
]

const fields = [
  { name: "q", label: "Name" },
  { name: "status", label: "Status", options: ["active", "pending_admin_activation", "suspended", "deleted"] },
  { name: "tag", label: "Tag" }
] as const

export const Customers = () => {
  const filters = useFieldFilters(fields)
  const { clear, isSet, values } = filters
  const list = useList("/api/v1/customers", values)
  const [isOpen, setOpen] = useState(false)
  const add = (
    <Button kind="main" needs="users:create" onClick={() => setOpen(true)}>
      Add a customer
    </Button>
  )
  return (
    <Page title="Customers" actions={add}>
      <FilterFields {...filters} />
      <ListTable
        label="customers"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={
          isSet ? (
            <NoMatch title="No customer matches" clear={clear} />
          ) : (
            <Empty title="No customers yet" action={add}>
              A customer has its own connections and runs. Your product names it by your own reference.
            </Empty>
          )
        }
      />
      {isOpen && <AddDialog close={() => setOpen(false)} />}
    </Page>
  )
}

const AddDialog = ({ close }: { readonly close: () => void }) => {
  const { set, values } = useForm({ name: "", externalRef: "" })
  const [, go] = useLocation()
  const add = useChange(
    () =>
      bodyOf(
        client.POST("/api/v1/customers", {
          body: { name: values.name, ...(values.externalRef === "" ? {} : { externalRef: values.externalRef }) }
        })
      ),
    { changes: ["/api/v1/customers"], done: ({ data }) => go(`/customers/${data.id}`) }
  )
  return (
    <FormDialog
      title="Add a customer"
      verb="Add"
      isOpen
      close={close}
      send={() => add.run()}
      isRunning={add.isRunning}
      isReady={values.name !== ""}
      error={add.error}
    >
      <TextField
        label="Name"
        value={values.name}
        onChange={set("name")}
        isRequired
        wrong={add.error?.detailOf("name")}
      />
      <TextField
        label="Your reference (optional)"
        hint="The id of the customer in your product: requests name it in x-end-org-ref."
        value={values.externalRef}
        onChange={set("externalRef")}
        wrong={add.error?.detailOf("externalRef")}
      />
    </FormDialog>
  )
}
