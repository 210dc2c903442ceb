/** One endpoint: its attempts, each of which can be sent again. */
import { useState } from "react"
import { useParams } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { type ListRow, useChange, useList, useRead, useRemoval } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { CopyText } from "../../ui/CopyText.js"
import { Confirm, Dialog, FormDialog } from "../../ui/Dialog.js"
import { Select, TextField } from "../../ui/Field.js"
import { Menu } from "../../ui/Menu.js"
import { Card, Facts, Page } from "../../ui/Page.js"
import { Empty, Loaded, Problem } from "../../ui/States.js"
import { type Column, ListTable } from "../../ui/Table.js"
import { durationText, Time } from "../../ui/Time.js"
import { useToast } from "../../ui/Toasts.js"
import { useForm, wordsOf } from "../../ui/useForm.js"

type EndpointRecord = ApiSchemas["WebhookEndpoint"]
const changes = [
  "/api/v1/webhook-endpoints",
  "/api/v1/webhook-endpoints/{whe}",
  "/api/v1/webhook-endpoints/{whe}/attempts"
] as const

export const Endpoint = () => {
  const { whe = "" } = useParams()
  const found = useRead("/api/v1/webhook-endpoints/{whe}", { params: { path: { whe } } })
  const data = found.data?.data
  return (
    <Page
      title={data?.url ?? "Endpoint"}
      above={[{ name: "Endpoints", to: "/endpoints" }]}

      beside={data !== undefined && <Badge word={data.status} />}
      actions={data !== undefined && <Actions endpoint={data} />}
    >
      <Loaded of={found} what="the endpoint">
        {({ data }) => (
          <div className="stack">
            <Card title="Endpoint">
              <Facts
                facts={[
                  ["Id", <CopyText key="id" text={data.id} />],
                  ["Events", data.events.join(", ")],
                  ["Description", data.description || "–"],
                  ["Failing since", <Time key="failing" at={data.failingSince} />],
                  ["Disabled because", data.disabledReason ?? "–"],
                  ["Secret rotated", <Time key="rotated" at={data.rotatedAt} never="never" />],
                  ["Created", <Time key="created" at={data.createdAt} isExact />]
                ]}
              />
            </Card>
            <Attempts id={data.id} />
          </div>
        )}
      </Loaded>
    </Page>
  )
}

const Attempts = ({ id }: { readonly id: string }) => {
  const list = useList("/api/v1/webhook-endpoints/{whe}/attempts", {}, { path: { whe: id }, every: 5_000 })
  const tell = useToast()
  const resend = useChange(
    (att: string) =>
      bodyOf(
        client.POST("/api/v1/webhook-endpoints/{whe}/attempts/{att}/resend", { params: { path: { whe: id, att } } })
      ),
    { changes, done: () => tell("It is sent again.") }
  )
  const columns: ReadonlyArray<Column<ListRow<"/api/v1/webhook-endpoints/{whe}/attempts">>> = [
    { name: "When", of: ({ createdAt }) => <Time at={createdAt} /> },
    { name: "Event", of: ({ eventType }) => eventType ?? "–" },
    { name: "Outcome", of: ({ outcome }) => <Badge word={outcome} /> },
    { name: "Try", isNumber: true, of: ({ number }) => number },
    { name: "Status", isNumber: true, of: ({ status }) => status ?? "–" },
    { name: "Error", of: ({ error }) => error ?? "–" },
    {
      name: "Duration",
      isNumber: true,
      of: ({ durationMs }) => (durationMs === null ? "–" : durationText(durationMs))
    },
    {
      name: "Send again",
      isUnnamed: true,
      of: ({ id: att }) => (
        <Button size="small" needs="settings:manage" object={att} onClick={() => resend.run(att)}>
          Send again
        </Button>
      )
    }
  ]
  return (
    <>
      <Problem error={resend.error} />
      <ListTable
        label="attempts"
        columns={columns}
        keyOf={(row) => row.id}
        list={list}
        empty={<Empty title="Nothing was sent yet">Send a test, or wait for an event.</Empty>}
      />
    </>
  )
}

const Actions = ({ endpoint }: { readonly endpoint: EndpointRecord }) => {
  const [shown, show] = useState<"edit" | "delete" | "resend" | "rotate">()
  const [secret, setSecret] = useState<string>()
  const tell = useToast()
  const close = () => show(undefined)
  const path = { params: { path: { whe: endpoint.id } } }
  const test = useChange(() => bodyOf(client.POST("/api/v1/webhook-endpoints/{whe}/test", path)), {
    changes,
    done: () => tell("A test is on its way.")
  })
  const toggle = useChange(
    () =>
      bodyOf(
        client.PUT("/api/v1/webhook-endpoints/{whe}", {
          ...path,
          body: { status: endpoint.status === "active" ? "disabled" : "active", version: endpoint.version }
        })
      ),
    { changes }
  )
  const rotate = useChange(() => bodyOf(client.POST("/api/v1/webhook-endpoints/{whe}/rotate-secret", path)), {
    changes,
    done: ({ data }) => {
      close()
      setSecret(data.secret)
    }
  })
  const remove = useRemoval(() => bodyOf(client.DELETE("/api/v1/webhook-endpoints/{whe}", path)), {
    list: "/api/v1/webhook-endpoints",
    to: "/endpoints"
  })
  return (
    <>
      <Problem error={test.error ?? toggle.error} />
      <Button needs="settings:manage" isRunning={test.isRunning} onClick={() => test.run()}>
        Send a test
      </Button>
      <Button needs="settings:manage" isRunning={toggle.isRunning} onClick={() => toggle.run()}>
        {endpoint.status === "active" ? "Disable" : "Enable"}
      </Button>
      <Menu
        label="More"
        items={[
          { name: "Edit", needs: "settings:manage", run: () => show("edit") },
          { name: "Send missed ones again", needs: "settings:manage", run: () => show("resend") },
          { name: "Rotate the secret", needs: "settings:manage", run: () => show("rotate") },
          { name: "Delete", needs: "settings:manage", run: () => show("delete") }
        ]}
      />
      {shown === "edit" && <EditDialog endpoint={endpoint} close={close} />}
      {shown === "resend" && <ResendDialog id={endpoint.id} close={close} />}
      {shown === "rotate" && (
        <Confirm
          title="Rotate the secret?"
          verb="Rotate"
          isOpen
          close={close}
          send={() => rotate.run()}
          isRunning={rotate.isRunning}
          error={rotate.error}
        >
          <p>What is sent from now on is signed with the new secret.</p>
        </Confirm>
      )}
      {shown === "delete" && (
        <Confirm
          title="Delete the endpoint?"
          verb="Delete"
          isOpen
          close={close}
          send={() => remove.run()}
          isRunning={remove.isRunning}
          error={remove.error}
        >
          <p>What waits to be sent there is not sent.</p>
        </Confirm>
      )}
      {secret !== undefined && (
        <Dialog title="The new secret" isOpen close={() => setSecret(undefined)}>
          <p>It is shown now only.</p>
          <CopyText text={secret} />
        </Dialog>
      )}
    </>
  )
}

const EditDialog = ({ close, endpoint }: { readonly endpoint: EndpointRecord; readonly close: () => void }) => {
  const { set, values } = useForm({
    url: endpoint.url,
    description: endpoint.description,
    events: endpoint.events.join(" ")
  })
  const save = useChange(
    () =>
      bodyOf(
        client.PUT("/api/v1/webhook-endpoints/{whe}", {
          params: { path: { whe: endpoint.id } },
          body: {
            url: values.url,
            description: values.description,
            events: [...wordsOf(values.events)],
            version: endpoint.version
          }
        })
      ),
    { changes, done: close }
  )
  const wrong = (member: string) => save.error?.detailOf(member)
  return (
    <FormDialog
      title="Edit the endpoint"
      verb="Save"
      isOpen
      close={close}
      send={() => save.run()}
      isRunning={save.isRunning}
      isReady={values.url !== ""}
      error={save.error}
    >
      <TextField label="Address" value={values.url} onChange={set("url")} wrong={wrong("url")} />
      <TextField label="Events" value={values.events} onChange={set("events")} wrong={wrong("events")} />
      <TextField
        label="Description"
        value={values.description}
        onChange={set("description")}
        wrong={wrong("description")}
      />
    </FormDialog>
  )
}

const ResendDialog = ({ close, id }: { readonly id: string; readonly close: () => void }) => {
  const { set, values } = useForm({ outcome: "", rate: "10" })
  const tell = useToast()
  const resend = useChange(
    () =>
      bodyOf(
        client.POST("/api/v1/webhook-endpoints/{whe}/resend", {
          params: { path: { whe: id } },
          body: {
            ratePerSecond: Number(values.rate),
            ...(values.outcome === "" ? {} : { outcome: values.outcome as "skipped" | "failed" })
          }
        })
      ),
    {
      changes,
      done: () => {
        close()
        tell("They are sent again.")
      }
    }
  )
  return (
    <FormDialog
      title="Send missed ones again"
      verb="Send"
      isOpen
      close={close}
      send={() => resend.run()}
      isRunning={resend.isRunning}
      error={resend.error}
    >
      <Select
        label="Which"
        value={values.outcome}
        onChange={set("outcome")}
        options={["skipped", "failed"]}
        none="Both"
      />
      <TextField
        label="How many a second"
        type="number"
        value={values.rate}
        onChange={set("rate")}
        wrong={resend.error?.detailOf("ratePerSecond")}
      />
    </FormDialog>
  )
}
