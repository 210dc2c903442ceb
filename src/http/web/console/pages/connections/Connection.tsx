/** One connection: how it stands, what the provider last said, and what can be done about it. */
import { useEffect, useState } from "react"
import { Link, useParams } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useRead, useRemoval } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { CopyText } from "../../ui/CopyText.js"
import { Confirm, Dialog, FormDialog } from "../../ui/Dialog.js"
import { Check, TextField } from "../../ui/Field.js"
import { JsonValue } from "../../ui/JsonValue.js"
import { Menu } from "../../ui/Menu.js"
import { Card, Facts, Page } from "../../ui/Page.js"
import { Loaded, Problem } from "../../ui/States.js"
import { Time } from "../../ui/Time.js"
import { useToast } from "../../ui/Toasts.js"

type ConnectionRecord = ApiSchemas["Connection"]
const changes = ["/api/v1/connections", "/api/v1/connections/{conn}"] as const
/** For how long a revealed credential is shown. */
const revealedMillis = 30_000

export const Connection = () => {
  const { conn = "" } = useParams()
  const found = useRead("/api/v1/connections/{conn}", { params: { path: { conn } } })
  const data = found.data?.data
  return (
    <Page
      title={data?.label ?? "Connection"}
      above={[{ name: "Connections", to: "/connections" }]}

      beside={data !== undefined && <Badge word={data.status} />}
    >
      <Loaded of={found} what="the connection">
        {({ data }) => <Parts connection={data} />}
      </Loaded>
    </Page>
  )
}

const Parts = ({ connection }: { readonly connection: ConnectionRecord }) => {
  const path = { params: { path: { conn: connection.id } } }
  const tell = useToast()
  const [shown, show] = useState<"edit" | "delete" | "reveal">()
  const [link, setLink] = useState<string>()
  const close = () => show(undefined)
  const test = useChange(() => bodyOf(client.POST("/api/v1/connections/{conn}/test", path)), {
    changes,
    done: ({ data }) =>
      tell(data.ok ? "The provider accepted the credential." : `The test failed: ${data.message ?? ""}`)
  })
  const refresh = useChange(() => bodyOf(client.POST("/api/v1/connections/{conn}/refresh", path)), {
    changes,
    done: () => tell("The access token was renewed.")
  })
  const reconnect = useChange(
    () => bodyOf(client.POST("/api/v1/connections/{conn}/reconnect", { ...path, body: {} })),
    {
      changes,
      done: ({ data }) => setLink(data.connectUrl)
    }
  )
  const isActive = connection.status === "active"
  const toggle = useChange(
    () =>
      bodyOf(
        isActive
          ? client.POST("/api/v1/connections/{conn}/disable", path)
          : client.POST("/api/v1/connections/{conn}/enable", path)
      ),
    { changes, done: ({ data }) => tell(`The connection is ${data.status}.`) }
  )
  const mayToggle = isActive || connection.status === "inactive"
  return (
    <div className="stack">
      <div className="row">
        <Button needs="connections:update" isRunning={test.isRunning} onClick={() => test.run()}>
          Test
        </Button>
        <Button needs="connections:update" isRunning={refresh.isRunning} onClick={() => refresh.run()}>
          Renew the token
        </Button>
        <Button needs="connections:update" isRunning={reconnect.isRunning} onClick={() => reconnect.run()}>
          Reconnect
        </Button>
        {mayToggle && (
          <Button needs="connections:update" isRunning={toggle.isRunning} onClick={() => toggle.run()}>
            {isActive ? "Disable" : "Enable"}
          </Button>
        )}
        <Menu
          label="More"
          items={[
            { name: "Edit", needs: "connections:update", run: () => show("edit") },
            { name: "Reveal the credential", needs: "connections:decrypt", run: () => show("reveal") },
            { name: "Delete", needs: "connections:delete", run: () => show("delete") }
          ]}
        />
      </div>
      <Problem error={test.error ?? refresh.error ?? reconnect.error ?? toggle.error} />
      {connection.health.lastError !== null && (
        <div className="notice bad">
          <p>
            The provider's last words: {connection.health.lastError}
            {connection.health.consecutiveFailures > 1 && ` (${connection.health.consecutiveFailures} times)`}
          </p>
        </div>
      )}
      <div className="columns">
        <Card title="Account">
          <Facts
            facts={[
              ["Connection", <CopyText key="id" text={connection.id} />],
              [
                "System",
                <Link key="system" href={`/connectors/${connection.connector}`}>
                  {connection.connector}
                </Link>
              ],
              ["Its version", connection.connectorVersion],
              [
                "Customer",
                <Link key="customer" href={`/customers/${connection.customerId}`}>
                  {connection.customerId}
                </Link>
              ],
              ["Account", connection.accountLabel ?? "–"],
              ["Signs in by", connection.authMethod],
              ["Scopes", connection.scopes.length === 0 ? "–" : connection.scopes.join(", ")],
              ["Default of its customer", connection.isDefault ? "yes" : "no"],
              ["Credential", connection.credentialFingerprint ?? "none"]
            ]}
          />
        </Card>
        <Card title="Health">
          <Facts
            facts={[
              [
                "State",
                <Badge
                  key="health"
                  word={connection.health.state}
                  tone={connection.health.state === "ok" ? "good" : "warn"}
                />
              ],
              ["Checked", <Time key="checked" at={connection.health.lastCheckedAt} never="never" />],
              ["Last used", <Time key="used" at={connection.lastUsedAt} never="never" />],
              ["Last renewed", <Time key="renewed" at={connection.lastRefreshAt} never="never" />],
              ["Renewal failed", <Time key="failed" at={connection.refreshFailedAt} never="never" />],
              ["Token expires", <Time key="expires" at={connection.expiresAt} isExact never="never" />],
              ["Created", <Time key="created" at={connection.createdAt} isExact />]
            ]}
          />
        </Card>
        <Card title="Configuration">
          <JsonValue name={`${connection.id}-config`} value={connection.config} />
        </Card>
      </div>
      {link !== undefined && (
        <Dialog title="Send this link to the customer" isOpen close={() => setLink(undefined)}>
          <p>On its page the customer connects the account again. Until then the credential stays as it is.</p>
          <CopyText text={link} />
        </Dialog>
      )}
      {shown === "edit" && <EditDialog connection={connection} close={close} />}
      {shown === "delete" && <DeleteDialog connection={connection} close={close} />}
      {shown === "reveal" && <RevealDialog id={connection.id} close={close} />}
    </div>
  )
}

interface Shown {
  readonly connection: ConnectionRecord
  readonly close: () => void
}

const EditDialog = ({ close, connection: { id, isDefault, label, version } }: Shown) => {
  const [text, setText] = useState(label)
  const [isChosen, setChosen] = useState(isDefault)
  const save = useChange(
    () =>
      bodyOf(
        client.PUT("/api/v1/connections/{conn}", {
          params: { path: { conn: id } },
          body: { label: text, version, ...(isChosen && !isDefault ? { isDefault: true } : {}) }
        })
      ),
    { changes, done: close }
  )
  return (
    <FormDialog
      title="Edit the connection"
      verb="Save"
      isOpen
      close={close}
      send={() => save.run()}
      isRunning={save.isRunning}
      error={save.error}
    >
      <TextField label="Label" value={text} onChange={setText} wrong={save.error?.detailOf("label")} />
      <Check checked={isChosen} disabled={isDefault} onChange={setChosen}>
        Default of its customer: calls that name no connection use it
      </Check>
    </FormDialog>
  )
}

const DeleteDialog = ({ close, connection: { id, label } }: Shown) => {
  const remove = useRemoval(
    () => bodyOf(client.DELETE("/api/v1/connections/{conn}", { params: { path: { conn: id } } })),
    { list: "/api/v1/connections", to: "/connections" }
  )
  return (
    <Confirm
      title="Delete the connection?"
      verb="Delete"
      typed={label}
      isOpen
      close={close}
      send={() => remove.run()}
      isRunning={remove.isRunning}
      error={remove.error}
    >
      <p>The credential is deleted, and revoked where the provider can. Workflows that use it fail from now on.</p>
    </Confirm>
  )
}

const RevealDialog = ({ close, id }: { readonly id: string; readonly close: () => void }) => {
  const reveal = useChange(
    () => bodyOf(client.POST("/api/v1/connections/{conn}/reveal", { params: { path: { conn: id } } })),
    {
      done: ({ data }) => setCredential(data.credential)
    }
  )
  const [credential, setCredential] = useState<object>()
  useEffect(() => {
    if (credential === undefined) return undefined
    const timer = setTimeout(close, revealedMillis)
    return () => clearTimeout(timer)
    // The parent gives another function at each of its renders.
  }, [credential])
  if (credential !== undefined)
    return (
      <Dialog title="Credential" isOpen close={close}>
        <p>It is shown for 30 seconds.</p>
        <JsonValue name={`${id}-credential`} value={credential} />
      </Dialog>
    )
  return (
    <FormDialog
      title="Reveal the credential?"
      verb="Reveal"
      isOpen
      close={close}
      send={() => reveal.run()}
      isRunning={reveal.isRunning}
      error={reveal.error}
    >
      <p>The audit trail notes that you saw it.</p>
    </FormDialog>
  )
}
