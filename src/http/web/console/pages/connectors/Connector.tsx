/** One connector: its actions, which can be tried, events, ways to sign in, OAuth clients, and its definition. */
import { useState } from "react"
import { useParams } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useRead, useRemoval } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { CopyText } from "../../ui/CopyText.js"
import { Confirm, FormDialog } from "../../ui/Dialog.js"
import { TextArea } from "../../ui/Field.js"
import { JsonValue } from "../../ui/JsonValue.js"
import { Card, Facts, Page } from "../../ui/Page.js"
import { parseJson } from "../../ui/parseJson.js"
import { Empty, Loaded, Problem } from "../../ui/States.js"
import { Table } from "../../ui/Table.js"
import { Tabs } from "../../ui/Tabs.js"
import { useToast } from "../../ui/Toasts.js"
import { ConnectDialog } from "../connections/ConnectDialog.js"
import { OAuthClients } from "./OAuthClients.js"
import type { ShownAction } from "./ShownAction.js"
import { TryAction } from "./TryAction.js"

type ConnectorRecord = ApiSchemas["Connector"]

interface ShownEvent {
  readonly id: string
  readonly title?: string
  readonly delivery?: string
}

export const Connector = () => {
  const { ctr = "" } = useParams()
  const found = useRead("/api/v1/connectors/{ctr}", { params: { path: { ctr } } })
  const data = found.data?.data
  return (
    <Page
      title={data?.name ?? "Connector"}
      above={[{ name: "Connectors", to: "/connectors" }]}

      beside={data !== undefined && <Badge word={data.status} />}
      actions={data !== undefined && <Actions connector={data} />}
    >
      <Loaded of={found} what="the connector">
        {({ data }) => <Parts connector={data} />}
      </Loaded>
    </Page>
  )
}

const changes = ["/api/v1/connectors", "/api/v1/connectors/{ctr}"] as const

const Actions = ({ connector }: { readonly connector: ConnectorRecord }) => {
  const [shown, show] = useState<"connect" | "delete" | "edit">()
  const tell = useToast()
  const close = () => show(undefined)
  const path = { params: { path: { ctr: connector.slug } } }
  const isOwn = connector.visibility === "private"
  const publish = useChange(() => bodyOf(client.POST("/api/v1/connectors/{ctr}/publish", { ...path, body: {} })), {
    changes,
    done: ({ data }) => tell(`Version ${data.version} is published.`)
  })
  const remove = useRemoval(() => bodyOf(client.DELETE("/api/v1/connectors/{ctr}", path)), {
    list: "/api/v1/connectors",
    to: "/connectors"
  })
  return (
    <>
      <Button kind="main" needs="connections:create" onClick={() => show("connect")}>
        Connect an account
      </Button>
      {isOwn && (
        <>
          {connector.status === "draft" && (
            <Button needs="connectors:write" isRunning={publish.isRunning} onClick={() => publish.run()}>
              Publish
            </Button>
          )}
          <Button needs="connectors:write" onClick={() => show("edit")}>
            Edit
          </Button>
          <Button kind="danger" needs="connectors:delete" onClick={() => show("delete")}>
            Delete
          </Button>
        </>
      )}
      <Problem error={publish.error} />
      {shown === "connect" && <ConnectDialog connector={connector.slug} close={close} />}
      {shown === "edit" && <EditDialog slug={connector.slug} close={close} />}
      {shown === "delete" && (
        <Confirm
          title="Delete the connector?"
          verb="Delete"
          typed={connector.slug}
          isOpen
          close={close}
          send={() => remove.run()}
          isRunning={remove.isRunning}
          error={remove.error}
        >
          <p>A connector that connections use cannot be deleted.</p>
        </Confirm>
      )}
    </>
  )
}

const Parts = ({ connector }: { readonly connector: ConnectorRecord }) => {
  const [tried, setTried] = useState<ShownAction>()
  const actions = connector.actions as ReadonlyArray<unknown> as ReadonlyArray<ShownAction>
  const events = connector.events as ReadonlyArray<unknown> as ReadonlyArray<ShownEvent>
  return (
    <div className="stack">
      <p>{connector.description}</p>
      <Tabs
        label="Parts of the connector"
        tabs={[
          {
            id: "actions",
            name: `Actions (${actions.length})`,
            of: () => (
              <Card flush>
                {actions.length === 0 ? (
                  <Empty title="No actions">Workflows can call it through the proxy only.</Empty>
                ) : (
                  <Table
                    label="Actions"
                    rows={actions}
                    keyOf={({ name, version }) => `${name} ${version}`}
                    columns={[
                      { name: "Action", of: ({ name }) => <code>{name}</code> },
                      { name: "Title", of: ({ title }) => title ?? "–" },
                      { name: "Version", isNumber: true, of: ({ version }) => version },
                      {
                        name: "Try",
                        isUnnamed: true,
                        of: (action) => (
                          <Button
                            size="small"
                            needs="connections:read"
                            object={action.name}
                            onClick={() => setTried(action)}
                          >
                            Try
                          </Button>
                        )
                      }
                    ]}
                  />
                )}
              </Card>
            )
          },
          {
            id: "events",
            name: `Events (${events.length})`,
            of: () => (
              <Card flush>
                {events.length === 0 ? (
                  <Empty title="No events">Use a webhook or a schedule instead.</Empty>
                ) : (
                  <Table
                    label="Events"
                    rows={events}
                    keyOf={({ id }) => id}
                    columns={[
                      { name: "Event", of: ({ id }) => <code>{id}</code> },
                      { name: "Title", of: ({ title }) => title ?? "–" },
                      { name: "Arrives by", of: ({ delivery }) => delivery ?? "–" }
                    ]}
                  />
                )}
              </Card>
            )
          },
          { id: "sign-in", name: "Signing in", of: () => <OAuthClients connector={connector} /> },
          { id: "about", name: "About", of: () => <About connector={connector} /> }
        ]}
      />
      {tried !== undefined && <TryAction connector={connector.slug} action={tried} close={() => setTried(undefined)} />}
    </div>
  )
}

const About = ({ connector }: { readonly connector: ConnectorRecord }) => (
  <div className="columns">
    <Card title="Connector">
      <Facts
        facts={[
          ["Slug", <CopyText key="slug" text={connector.slug} />],
          ["Kind", connector.kind.replaceAll("_", " ")],
          ["Version", connector.version],
          ["Address", connector.baseUrl],
          ["Protocol", connector.protocol],
          [
            "Redirect URI",
            connector.redirectUri === null ? "–" : <CopyText key="redirect" text={connector.redirectUri} />
          ]
        ]}
      />
    </Card>
    <Card title="Limits, retries, webhooks">
      <JsonValue
        name={`${connector.slug}-settings`}
        value={{
          rateLimit: connector.rateLimit,
          retry: connector.retry,
          webhooks: connector.webhooks,
          webhookUrls: connector.webhookUrls
        }}
      />
    </Card>
  </div>
)

/** Edits the definition as text. */
const EditDialog = ({ close, slug }: { readonly slug: string; readonly close: () => void }) => {
  const found = useRead("/api/v1/connectors/{ctr}/export", { params: { path: { ctr: slug } } })
  const [text, setText] = useState<string>()
  const shown = text ?? (found.data === undefined ? "" : JSON.stringify(found.data, null, 2))
  const parsed = parseJson(shown)
  const save = useChange(
    () =>
      bodyOf(
        client.PUT("/api/v1/connectors/{ctr}", {
          params: { path: { ctr: slug } },
          body: (parsed.ok ? parsed.value : {}) as ApiSchemas["ConnectorDefinition"]
        })
      ),
    { changes: [...changes, "/api/v1/connectors/{ctr}/export"], done: close }
  )
  return (
    <FormDialog
      title={`Definition of ${slug}`}
      verb="Save the draft"
      isOpen
      isWide
      close={close}
      send={() => save.run()}
      isRunning={save.isRunning}
      isReady={found.data !== undefined && parsed.ok}
      error={save.error ?? found.error}
    >
      <TextArea
        label="Definition, as JSON"
        rows={24}
        value={shown}
        onChange={setText}
        wrong={parsed.ok || found.data === undefined ? undefined : parsed.message}
      />
    </FormDialog>
  )
}
