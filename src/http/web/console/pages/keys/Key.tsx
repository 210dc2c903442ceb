/** One key: what it may do, and its rotation and end. */
import { useState } from "react"
import { useParams } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useRead } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { CopyText } from "../../ui/CopyText.js"
import { Confirm, Dialog, FormDialog } from "../../ui/Dialog.js"
import { Select, TextField } from "../../ui/Field.js"
import { JsonValue } from "../../ui/JsonValue.js"
import { Menu } from "../../ui/Menu.js"
import { Card, Facts, Page } from "../../ui/Page.js"
import { PermissionChecks } from "../../ui/PermissionChecks.js"
import { Loaded } from "../../ui/States.js"
import { Time } from "../../ui/Time.js"
import { useToast } from "../../ui/Toasts.js"
import { useForm, wordsOf } from "../../ui/useForm.js"
import { IssuedKey } from "./IssuedKey.js"

type KeyRecord = ApiSchemas["ApiKey"]
const changes = ["/api/v1/api-keys", "/api/v1/api-keys/{kid}"] as const

export const Key = () => {
  const { key: kid = "" } = useParams()
  const found = useRead("/api/v1/api-keys/{kid}", { params: { path: { kid } } })
  const data = found.data?.data
  return (
    <Page
      title={data?.name ?? "Key"}
      above={[{ name: "Keys", to: "/keys" }]}

      beside={data !== undefined && <Badge word={data.status} />}
      actions={data?.status === "active" && <Actions apiKey={data} />}
    >
      <Loaded of={found} what="the key">
        {({ data }) => <Parts apiKey={data} />}
      </Loaded>
    </Page>
  )
}

const Parts = ({ apiKey }: { readonly apiKey: KeyRecord }) => (
  <div className="columns">
    <Card title="Key">
      <Facts
        facts={[
          ["Id", <CopyText key="id" text={apiKey.id} />],
          ["Begins and ends", <code key="key">{apiKey.key}</code>],
          ["Mode", apiKey.mode],
          ["Rights", apiKey.preset.replaceAll("_", " ")],
          ["Customers", apiKey.customers.mode === "all" ? "all" : apiKey.customers.ids.join(", ")],
          ["Signed callers", apiKey.hmac.enabled ? "required" : "no"],
          ["Addresses", apiKey.allowedIps.join(", ") || "all"],
          ["Requests a minute", apiKey.rateLimitPerMinute?.toLocaleString() ?? "as the plan allows"],
          ["Last used", <Time key="used" at={apiKey.lastUsedAt} never="never" />],
          ["Rotated", <Time key="rotated" at={apiKey.rotatedAt} never="never" />],
          ["Expires", <Time key="expires" at={apiKey.expiresAt} isExact never="never" />],
          ["Created", <Time key="created" at={apiKey.createdAt} isExact />],
          ["Created by", apiKey.createdBy]
        ]}
      />
    </Card>
    <PermissionChecks legend="Permissions" matrix={apiKey.permissions} />
    <Card title="Only these resources">
      <JsonValue name={`${apiKey.id}-scope`} value={apiKey.resourceScope} />
    </Card>
  </div>
)

const Actions = ({ apiKey }: { readonly apiKey: KeyRecord }) => {
  const [shown, show] = useState<"edit" | "rotate" | "revoke" | "signing">()
  const [issued, setIssued] = useState<ApiSchemas["IssuedApiKey"]>()
  const [secret, setSecret] = useState<string>()
  const [grace, setGrace] = useState("0")
  const tell = useToast()
  const close = () => show(undefined)
  const path = { params: { path: { kid: apiKey.id } } }
  const rotate = useChange(
    () => bodyOf(client.POST("/api/v1/api-keys/{kid}/rotate", { ...path, body: { graceSeconds: Number(grace) } })),
    {
      changes,
      done: ({ data }) => {
        close()
        setIssued(data)
      }
    }
  )
  const revoke = useChange(() => bodyOf(client.DELETE("/api/v1/api-keys/{kid}", path)), {
    changes,
    done: () => {
      close()
      tell("The key is revoked.")
    }
  })
  const signing = useChange(() => bodyOf(client.POST("/api/v1/api-keys/{kid}/identity-secret", path)), {
    done: ({ data }) => {
      close()
      setSecret(data.hmacSecret)
    }
  })
  return (
    <>
      <Button needs="settings:manage" onClick={() => show("rotate")}>
        Rotate
      </Button>
      <Menu
        label="More"
        items={[
          { name: "Edit", needs: "settings:manage", run: () => show("edit") },
          ...(apiKey.hmac.enabled
            ? [{ name: "Show the signing secret", needs: "settings:manage", run: () => show("signing") }]
            : []),
          { name: "Revoke", needs: "settings:manage", run: () => show("revoke") }
        ]}
      />
      {shown === "edit" && <EditDialog apiKey={apiKey} close={close} />}
      {shown === "rotate" && (
        <FormDialog
          title="Rotate the key"
          verb="Make a new text"
          isOpen
          close={close}
          send={() => rotate.run()}
          isRunning={rotate.isRunning}
          error={rotate.error}
        >
          <p>Programs need the new text. Until when does the old one work, too?</p>
          <Select
            label="The old text works"
            value={grace}
            onChange={setGrace}
            options={[
              ["0", "no more from now on"],
              ["3600", "for an hour"],
              ["86400", "for a day"]
            ]}
            wrong={rotate.error?.detailOf("graceSeconds")}
          />
        </FormDialog>
      )}
      {shown === "revoke" && (
        <Confirm
          title="Revoke the key?"
          verb="Revoke"
          typed={apiKey.name}
          isOpen
          close={close}
          send={() => revoke.run()}
          isRunning={revoke.isRunning}
          error={revoke.error}
        >
          <p>Programs that use it are refused from now on. It cannot be taken back.</p>
        </Confirm>
      )}
      {shown === "signing" && (
        <FormDialog
          title="Show the signing secret?"
          verb="Show"
          isOpen
          close={close}
          send={() => signing.run()}
          isRunning={signing.isRunning}
          error={signing.error}
        >
          <p>The audit trail notes that you saw it.</p>
        </FormDialog>
      )}
      {issued !== undefined && (
        <Dialog title="The new text of the key" isOpen isWide close={() => setIssued(undefined)}>
          <IssuedKey issued={issued} />
        </Dialog>
      )}
      {secret !== undefined && (
        <Dialog title="Signing secret" isOpen close={() => setSecret(undefined)}>
          <CopyText text={secret} />
        </Dialog>
      )}
    </>
  )
}

const EditDialog = ({ apiKey, close }: { readonly apiKey: KeyRecord; readonly close: () => void }) => {
  const { set, values } = useForm({
    name: apiKey.name,
    permissions: apiKey.permissions,
    allowedIps: apiKey.allowedIps.join(", "),
    rateLimit: apiKey.rateLimitPerMinute === null ? "" : String(apiKey.rateLimitPerMinute)
  })
  const isChanged = JSON.stringify(values.permissions) !== JSON.stringify(apiKey.permissions)
  const save = useChange(
    () =>
      bodyOf(
        client.PUT("/api/v1/api-keys/{kid}", {
          params: { path: { kid: apiKey.id } },
          body: {
            name: values.name,
            ...(isChanged ? { permissions: values.permissions } : {}),
            allowedIps: [...wordsOf(values.allowedIps)],
            rateLimitPerMinute: values.rateLimit === "" ? null : Number(values.rateLimit),
            version: apiKey.version
          }
        })
      ),
    { changes, done: close }
  )
  const wrong = (member: string) => save.error?.detailOf(member)
  return (
    <FormDialog
      title="Edit the key"
      verb="Save"
      isOpen
      close={close}
      send={() => save.run()}
      isRunning={save.isRunning}
      isReady={values.name !== ""}
      error={save.error}
    >
      <TextField label="Name" value={values.name} onChange={set("name")} isRequired wrong={wrong("name")} />
      <PermissionChecks legend="Permissions" matrix={values.permissions} onChange={set("permissions")} />
      <TextField
        label="Addresses"
        hint="Between commas; none: all."
        value={values.allowedIps}
        onChange={set("allowedIps")}
        wrong={wrong("allowedIps")}
      />
      <TextField
        label="Requests a minute"
        type="number"
        value={values.rateLimit}
        onChange={set("rateLimit")}
        wrong={wrong("rateLimitPerMinute")}
      />
    </FormDialog>
  )
}
