/** The organisation, its workspaces, plan and quotas, the secret of callbacks, and the nodes of the service. */
import { useState } from "react"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useList, useRead } from "../../api/Reads.js"
import { useMe } from "../../api/Session.js"
import { Button } from "../../ui/Button.js"
import { CopyText } from "../../ui/CopyText.js"
import { Confirm } from "../../ui/Dialog.js"
import { Check, TextField } from "../../ui/Field.js"
import { Card, Facts, Page } from "../../ui/Page.js"
import { QuotaTable } from "../../ui/usage/QuotaTable.js"
import { UsageChart } from "../../ui/usage/UsageChart.js"
import { Guard, Loaded, Problem } from "../../ui/States.js"
import { Table } from "../../ui/Table.js"
import { Tabs } from "../../ui/Tabs.js"
import { Time } from "../../ui/Time.js"
import { useToast } from "../../ui/Toasts.js"
import { useForm } from "../../ui/useForm.js"

export const Settings = () => (
  <Page title="Settings">
    <Tabs
      label="Settings"
      tabs={[
        { id: "organisation", name: "Organisation", of: () => <Organisation /> },
        { id: "plan", name: "Plan and quotas", of: () => <Plan /> },
        { id: "callbacks", name: "Callbacks", of: () => <Callbacks /> },
        {
          id: "service",
          name: "Service",
          of: () => (
            <Guard permission="executions:read">
              <Service />
            </Guard>
          )
        }
      ]}
    />
  </Page>
)

const Organisation = () => {
  const me = useMe()
  const found = useRead("/api/v1/organizations/{oid}", { params: { path: { oid: me.organisation.id } } })
  const workspaces = useList("/api/v1/workspaces", {}, { pageSize: 200 })
  return (
    <div className="columns">
      <Loaded of={found} what="the organisation">
        {({ data }) => <OrganisationForm key={data.version} organisation={data} />}
      </Loaded>
      <Card title="Workspaces" flush>
        <Table
          label="Workspaces"
          rows={workspaces.rows}
          keyOf={({ id }) => id}
          columns={[
            { name: "Name", of: ({ name }) => name },
            { name: "Slug", of: ({ slug }) => <code>{slug}</code> },
            { name: "Id", of: ({ id }) => <CopyText text={id} /> }
          ]}
        />
      </Card>
    </div>
  )
}

const OrganisationForm = ({ organisation }: { readonly organisation: ApiSchemas["Organisation"] }) => {
  const { set, values } = useForm({
    name: organisation.name,
    timezone: organisation.timezone,
    defaultEnvironment: organisation.defaultEnvironment,
    dlqAutoReplay: organisation.settings.dlqAutoReplay
  })
  const tell = useToast()
  const save = useChange(
    () =>
      bodyOf(
        client.PUT("/api/v1/organizations/{oid}", {
          params: { path: { oid: organisation.id } },
          body: {
            name: values.name,
            timezone: values.timezone,
            defaultEnvironment: values.defaultEnvironment,
            settings: { dlqAutoReplay: values.dlqAutoReplay },
            version: organisation.version
          }
        })
      ),
    { changes: ["/api/v1/organizations/{oid}", "/api/v1/me"], done: () => tell("Saved.") }
  )
  const wrong = (member: string) => save.error?.detailOf(member)
  return (
    <Card title="Organisation">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          save.run()
        }}
      >
        <TextField label="Name" value={values.name} onChange={set("name")} wrong={wrong("name")} />
        <TextField label="Time zone" value={values.timezone} onChange={set("timezone")} wrong={wrong("timezone")} />
        <TextField
          label="Environment of runs that name none"
          value={values.defaultEnvironment}
          onChange={set("defaultEnvironment")}
          wrong={wrong("defaultEnvironment")}
        />
        <Check checked={values.dlqAutoReplay} onChange={set("dlqAutoReplay")}>
          Replay dead letters when what failed has been mended: a connection is active again, a version is deployed
        </Check>
        <Facts
          facts={[
            ["Id", <CopyText key="id" text={organisation.id} />],
            ["Plan", organisation.plan],
            ["Status", organisation.status],
            ["Code may be edited", organisation.parentId === null || organisation.settings.codeEditing ? "yes" : "no"]
          ]}
        />
        <Problem error={save.error} />
        <div>
          <Button type="submit" kind="main" needs="settings:manage" isRunning={save.isRunning}>
            Save
          </Button>
        </div>
      </form>
    </Card>
  )
}

const Plan = () => {
  const summary = useRead("/api/v1/quota/summary", undefined, { every: 15_000 })
  const days = useRead("/api/v1/quota/daily")
  return (
    <div className="stack">
      <Loaded of={summary} what="the plan">
        {({ data }) => (
          <p>
            Plan {data.plan}.{" "}
            {data.highest === null
              ? "No quota is limited."
              : `The quota closest to its limit is ${data.highest.dimension.replaceAll("_", " ")}: ${Math.round(data.highest.percent)} %.`}
          </p>
        )}
      </Loaded>
      <QuotaTable />
      <Card title="Runs and events by day">
        <UsageChart />
      </Card>
      <Loaded of={days} what="the use by day">
        {({ data }) => (
          <Card title="Use by day" flush>
            <Table
              label="Use by day"
              rows={data}
              keyOf={({ date }) => date}
              columns={[
                { name: "Day (UTC)", of: ({ date }) => date },
                { name: "Events", isNumber: true, of: ({ events }) => events.toLocaleString() },
                { name: "Runs", isNumber: true, of: ({ executions }) => executions.toLocaleString() },
                { name: "API calls", isNumber: true, of: ({ apiCalls }) => apiCalls.toLocaleString() },
                { name: "Tokens of models", isNumber: true, of: ({ llmTokens }) => llmTokens.toLocaleString() }
              ]}
            />
          </Card>
        )}
      </Loaded>
    </div>
  )
}

const Callbacks = () => {
  const [secret, setSecret] = useState<string>()
  const [isAsking, setAsking] = useState(false)
  const show = useChange(() => bodyOf(client.POST("/api/v1/callback-secret")), {
    done: ({ data }) => setSecret(data.secret)
  })
  const rotate = useChange(() => bodyOf(client.POST("/api/v1/callback-secret/rotate")), {
    done: ({ data }) => {
      setAsking(false)
      setSecret(data.secret)
    }
  })
  return (
    <Card title="The secret that signs callbacks of runs">
      <div className="stack">
        {secret !== undefined && <CopyText text={secret} />}
        <Problem error={show.error} />
        <div className="row">
          <Button needs="settings:manage" isRunning={show.isRunning} onClick={() => show.run()}>
            Show it
          </Button>
          <Button needs="settings:manage" onClick={() => setAsking(true)}>
            Rotate it
          </Button>
        </div>
      </div>
      {isAsking && (
        <Confirm
          title="Rotate the secret?"
          verb="Rotate"
          isOpen
          close={() => setAsking(false)}
          send={() => rotate.run()}
          isRunning={rotate.isRunning}
          error={rotate.error}
        >
          <p>Callbacks are signed with the new secret from now on.</p>
        </Confirm>
      )}
    </Card>
  )
}

const Service = () => {
  const found = useRead("/api/v1/cluster", undefined, { every: 5_000 })
  return (
    <Loaded of={found} what="the nodes">
      {({ data }) => (
        <div className="stack">
          <Facts
            facts={[
              ["Runs that have not ended", data.unfinished.toLocaleString()],
              ["The oldest of them", <Time key="oldest" at={data.oldestUnfinishedAt} never="none" />],
              ["Parts without an owner", `${data.shards.unowned} of ${data.shards.total}`]
            ]}
          />
          <Card title="Nodes" flush>
            <Table
              label="Nodes"
              rows={data.nodes}
              keyOf={({ id }) => id}
              columns={[
                { name: "Node", of: ({ id }) => <code>{id}</code> },
                { name: "Role", of: ({ role }) => role },
                { name: "Healthy", of: ({ healthy }) => (healthy ? "yes" : "no") },
                { name: "Version", of: ({ version }) => version },
                { name: "Runs", isNumber: true, of: ({ runs }) => runs.toLocaleString() }
              ]}
            />
          </Card>
        </div>
      )}
    </Loaded>
  )
}
