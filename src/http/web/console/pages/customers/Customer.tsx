/** One customer: connections, installations, runs, quota, configuration, and its end. */
import { useState } from "react"
import { Link, useParams } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useList, useRead, useRemoval } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { CopyText } from "../../ui/CopyText.js"
import { Confirm, FormDialog } from "../../ui/Dialog.js"
import { TextArea, TextField } from "../../ui/Field.js"
import { JsonValue } from "../../ui/JsonValue.js"
import { Card, Facts, Page } from "../../ui/Page.js"
import { parseJson } from "../../ui/parseJson.js"
import { QuotaTable } from "../../ui/usage/QuotaTable.js"
import { Empty, Guard, Loaded, Loading, Problem } from "../../ui/States.js"
import { Table } from "../../ui/Table.js"
import { Tabs } from "../../ui/Tabs.js"
import { durationText, Time } from "../../ui/Time.js"
import { useToast } from "../../ui/Toasts.js"
import { useForm, wordsOf } from "../../ui/useForm.js"
import { ConfigurationTable } from "../configuration/ConfigurationTable.js"

type CustomerRecord = ApiSchemas["Customer"]
const changes = ["/api/v1/customers", "/api/v1/customers/{cid}"] as const

export const Customer = () => {
  const { cus: cid = "" } = useParams()
  const found = useRead("/api/v1/customers/{cid}", { params: { path: { cid } } })
  const data = found.data?.data
  return (
    <Page
      title={data?.name ?? "Customer"}
      above={[{ name: "Customers", to: "/customers" }]}
      beside={data !== undefined && <Badge word={data.status} />}
      actions={data !== undefined && data.status !== "deleted" && <Actions customer={data} />}
    >
      <Loaded of={found} what="the customer">
        {({ data }) => <Parts customer={data} />}
      </Loaded>
    </Page>
  )
}

const Actions = ({ customer }: { readonly customer: CustomerRecord }) => {
  const [shown, show] = useState<"edit" | "erase">()
  const tell = useToast()
  const close = () => show(undefined)
  const path = { params: { path: { cid: customer.id } } }
  const isSuspended = customer.status === "suspended"
  const toggle = useChange(
    () =>
      bodyOf(
        client.PUT("/api/v1/customers/{cid}", {
          ...path,
          body: { status: isSuspended ? "active" : "suspended", version: customer.version }
        })
      ),
    { changes, done: ({ data }) => tell(`The customer is ${data.status}.`) }
  )
  const erase = useRemoval(() => bodyOf(client.DELETE("/api/v1/customers/{cid}", path)), {
    list: "/api/v1/customers",
    to: "/customers",
    done: () => tell("The customer's data is being erased.")
  })
  return (
    <>
      <Button needs="users:update" onClick={() => show("edit")}>
        Edit
      </Button>
      <Button needs="users:update" isRunning={toggle.isRunning} onClick={() => toggle.run()}>
        {isSuspended ? "Activate" : "Suspend"}
      </Button>
      <Button kind="danger" needs="users:remove" onClick={() => show("erase")}>
        Erase
      </Button>
      <Problem error={toggle.error} />
      {shown === "edit" && <EditDialog customer={customer} close={close} />}
      {shown === "erase" && (
        <Confirm
          title="Erase the customer?"
          verb="Erase everything"
          typed={customer.name}
          isOpen
          close={close}
          send={() => erase.run()}
          isRunning={erase.isRunning}
          error={erase.error}
        >
          <p>Its connections are revoked, and all its data is erased within 24 hours. This cannot be undone.</p>
        </Confirm>
      )}
    </>
  )
}

const EditDialog = ({ close, customer }: { readonly customer: CustomerRecord; readonly close: () => void }) => {
  const { set, values } = useForm({
    name: customer.name,
    externalRef: customer.externalRef ?? "",
    adminEmail: customer.adminEmail ?? "",
    tags: customer.tags.join(", "),
    limits: JSON.stringify(customer.limits, null, 2),
    metadata: JSON.stringify(customer.metadata, null, 2)
  })
  const limits = parseJson(values.limits)
  const metadata = parseJson(values.metadata)
  const save = useChange(
    () =>
      bodyOf(
        client.PUT("/api/v1/customers/{cid}", {
          params: { path: { cid: customer.id } },
          body: {
            name: values.name,
            externalRef: values.externalRef === "" ? null : values.externalRef,
            adminEmail: values.adminEmail === "" ? null : values.adminEmail,
            tags: [...wordsOf(values.tags)],
            ...(limits.ok ? { limits: limits.value as CustomerRecord["limits"] } : {}),
            ...(metadata.ok ? { metadata: metadata.value as CustomerRecord["metadata"] } : {}),
            version: customer.version
          }
        })
      ),
    { changes, done: close }
  )
  const wrong = (member: string) => save.error?.detailOf(member)
  return (
    <FormDialog
      title="Edit the customer"
      verb="Save"
      isOpen
      close={close}
      send={() => save.run()}
      isRunning={save.isRunning}
      isReady={values.name !== "" && limits.ok && metadata.ok}
      error={save.error}
    >
      <TextField label="Name" value={values.name} onChange={set("name")} isRequired wrong={wrong("name")} />
      <TextField
        label="Your reference"
        value={values.externalRef}
        onChange={set("externalRef")}
        wrong={wrong("externalRef")}
      />
      <TextField
        label="Administrator's e-mail"
        type="email"
        value={values.adminEmail}
        onChange={set("adminEmail")}
        wrong={wrong("adminEmail")}
      />
      <TextField label="Tags" hint="Between commas." value={values.tags} onChange={set("tags")} wrong={wrong("tags")} />
      <TextArea
        label="Limits, as JSON"
        value={values.limits}
        onChange={set("limits")}
        wrong={limits.ok ? wrong("limits") : limits.message}
      />
      <TextArea
        label="Metadata, as JSON"
        value={values.metadata}
        onChange={set("metadata")}
        wrong={metadata.ok ? wrong("metadata") : metadata.message}
      />
    </FormDialog>
  )
}

const Parts = ({ customer }: { readonly customer: CustomerRecord }) => (
  <Tabs
    label="Parts of the customer"
    tabs={[
      { id: "about", name: "About", of: () => <About customer={customer} /> },
      {
        id: "connections",
        name: `Connections (${customer.connectionCount})`,
        of: () => <Connections id={customer.id} />
      },
      { id: "installations", name: "Installations", of: () => <Installations id={customer.id} /> },
      { id: "runs", name: "Runs", of: () => <LatestRuns id={customer.id} /> },
      { id: "quota", name: "Quota", of: () => <QuotaTable customerId={customer.id} /> },
      {
        id: "configuration",
        name: "Configuration",
        of: () => <ConfigurationTable query={{ customer_id: customer.id }} level="tenant" scopeId={customer.id} />
      }
    ]}
  />
)

const About = ({ customer }: { readonly customer: CustomerRecord }) => (
  <div className="columns">
    <Card title="Customer">
      <Facts
        facts={[
          ["Customer", <CopyText key="id" text={customer.id} />],
          ["Slug", customer.slug],
          ["Your reference", customer.externalRef === null ? "–" : <CopyText key="ref" text={customer.externalRef} />],
          ["Plan", customer.plan ?? "that of the organisation"],
          ["Administrator", customer.adminEmail ?? "–"],
          ["Tags", customer.tags.join(", ") || "–"],
          ["Created", <Time key="created" at={customer.createdAt} isExact />]
        ]}
      />
    </Card>
    <Card title="Metadata">
      <JsonValue name={`${customer.id}-metadata`} value={customer.metadata} />
    </Card>
    <Card title="Limits of its own">
      <JsonValue name={`${customer.id}-limits`} value={customer.limits} />
    </Card>
  </div>
)

const Connections = ({ id }: { readonly id: string }) => {
  const { isPending, rows } = useList("/api/v1/connections", { customer_id: id }, { pageSize: 200 })
  if (isPending) return <Loading what="the connections" />
  return (
    <Card flush>
      {rows.length === 0 ? (
        <Empty title="No account is connected">Connect one under Connections.</Empty>
      ) : (
        <Table
          label="Connections of the customer"
          rows={rows}
          keyOf={(row) => row.id}
          columns={[
            { name: "Connection", of: (row) => <Link href={`/connections/${row.id}`}>{row.label}</Link> },
            { name: "System", of: ({ connector }) => connector },
            { name: "Status", of: ({ status }) => <Badge word={status} /> },
            { name: "Last used", of: ({ lastUsedAt }) => <Time at={lastUsedAt} never="never" /> }
          ]}
        />
      )}
    </Card>
  )
}

const Installations = ({ id }: { readonly id: string }) => {
  const { isPending, rows } = useList("/api/v1/installations", { customer_id: id }, { pageSize: 200 })
  return (
    <Guard permission="widgets:read">
      {isPending ? (
        <Loading what="the installations" />
      ) : (
        <Card flush>
          {rows.length === 0 ? (
            <Empty title="Nothing is installed">
              An installation ties workflows to a customer's connections and settings.
            </Empty>
          ) : (
            <Table
              label="Installations of the customer"
              rows={rows}
              keyOf={(row) => row.id}
              columns={[
                { name: "Integration", of: ({ integration }) => integration },
                { name: "Status", of: ({ status }) => <Badge word={status} /> },
                { name: "Workflows", isNumber: true, of: ({ workflowIds }) => workflowIds.length },
                { name: "Created", of: ({ createdAt }) => <Time at={createdAt} /> }
              ]}
            />
          )}
        </Card>
      )}
    </Guard>
  )
}

const LatestRuns = ({ id }: { readonly id: string }) => {
  const { isPending, rows } = useList("/api/v1/executions", { customer_id: id }, { pageSize: 20 })
  if (isPending) return <Loading what="the runs" />
  return (
    <Card flush title="Latest runs" actions={<Link href={`/runs?customer_id=${id}`}>All of them</Link>}>
      {rows.length === 0 ? (
        <Empty title="No runs yet">Runs that act for the customer appear here.</Empty>
      ) : (
        <Table
          label="Latest runs of the customer"
          rows={rows}
          keyOf={(row) => row.id}
          columns={[
            { name: "Workflow", of: (row) => <Link href={`/runs/${row.id}`}>{row.workflowName}</Link> },
            { name: "Status", of: ({ status }) => <Badge word={status} /> },
            { name: "Created", of: ({ createdAt }) => <Time at={createdAt} /> },
            {
              name: "Duration",
              isNumber: true,
              of: ({ durationMs }) => (durationMs === null ? "–" : durationText(durationMs))
            }
          ]}
        />
      )}
    </Card>
  )
}
