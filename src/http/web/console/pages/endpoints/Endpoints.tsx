/** Endpoints of the organisation that are told by webhook what happens in svc. */
import { useState } from "react"
import { Link, useLocation } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { type ListRow, useChange, useList } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { CopyText } from "../../ui/CopyText.js"
import { Dialog, FormDialog } from "../../ui/Dialog.js"
import { TextField } from "../../ui/Field.js"
import { Page } from "../../ui/Page.js"
import { Empty } from "../../ui/States.js"
import { type Column, ListTable } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"
import { useForm, wordsOf } from "../../ui/useForm.js"

const columns: ReadonlyArray<Column<ListRow<"/api/v1/webhook-endpoints">>> = [
  { name: "Address", of: ({ id, url }) => <Link href={`/endpoints/${id}`}>{url}</Link> },
  { name: "Status", of: ({ status }) => <Badge word={status} /> },
  { name: "Why", of: ({ disabledReason }) => disabledReason ?? "–" },
  { name: "Events", of: ({ events }) => events.join(", ") },
  { name: "Failing since", of: ({ failingSince }) => <Time at={failingSince} /> },
  { name: "Description", of: ({ description }) => description }
]

export const Endpoints = () => {
  const list = useList("/api/v1/webhook-endpoints")
  const [isOpen, setOpen] = useState(false)
  const add = (
    <Button kind="main" needs="settings:manage" onClick={() => setOpen(true)}>
      Add an endpoint
    </Button>
  )
  return (
    <Page title="Endpoints" actions={add}>
      <ListTable
        label="endpoints"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={
          <Empty title="No endpoints" action={add}>
            An endpoint of yours is told when a run fails, a connection breaks, and of much more.
          </Empty>
        }
      />
      {isOpen && <AddDialog close={() => setOpen(false)} />}
    </Page>
  )
}

const AddDialog = ({ close }: { readonly close: () => void }) => {
  const { set, values } = useForm({ url: "", description: "", events: "execution.failed connection.*" })
  const [made, setMade] = useState<ApiSchemas["WebhookEndpointWithSecret"]>()
  const [, go] = useLocation()
  const add = useChange(
    () =>
      bodyOf(
        client.POST("/api/v1/webhook-endpoints", {
          body: { url: values.url, description: values.description, events: [...wordsOf(values.events)] }
        })
      ),
    { changes: ["/api/v1/webhook-endpoints"], done: ({ data }) => setMade(data) }
  )
  if (made !== undefined)
    return (
      <Dialog title="The endpoint's secret" isOpen close={() => go(`/endpoints/${made.id}`)}>
        <p>It signs what is sent, as Standard Webhooks says. It is shown now only.</p>
        <CopyText text={made.secret} />
      </Dialog>
    )
  const wrong = (member: string) => add.error?.detailOf(member)
  return (
    <FormDialog
      title="Add an endpoint"
      verb="Add"
      isOpen
      close={close}
      send={() => add.run()}
      isRunning={add.isRunning}
      isReady={values.url !== ""}
      error={add.error}
    >
      <TextField
        label="Address"
        value={values.url}
        onChange={set("url")}
        placeholder="https://…"
        isRequired
        wrong={wrong("url")}
      />
      <TextField
        label="Events"
        hint="Types between spaces; one that ends in * stands for all that begin so. The documentation lists them."
        value={values.events}
        onChange={set("events")}
        wrong={wrong("events")}
      />
      <TextField
        label="Description (optional)"
        value={values.description}
        onChange={set("description")}
        wrong={wrong("description")}
      />
    </FormDialog>
  )
}
