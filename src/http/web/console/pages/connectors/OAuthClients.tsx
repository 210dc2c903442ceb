/** The ways to sign in at a system, and the OAuth clients that are registered there. */
import { useState } from "react"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useRead } from "../../api/Reads.js"
import { useMay } from "../../api/Session.js"
import { Button } from "../../ui/Button.js"
import { CopyText } from "../../ui/CopyText.js"
import { FormDialog } from "../../ui/Dialog.js"
import { Check, Field, Select, TextField } from "../../ui/Field.js"
import { Card } from "../../ui/Page.js"
import { Empty, Loaded } from "../../ui/States.js"
import { Table } from "../../ui/Table.js"
import { useForm, wordsOf } from "../../ui/useForm.js"

interface Method {
  readonly id: string
  readonly type: string
  readonly default?: boolean
}

const path = "/api/v1/connectors/{ctr}/auth-providers"

export const OAuthClients = ({ connector }: { readonly connector: ApiSchemas["Connector"] }) => {
  const methods = connector.authMethods as ReadonlyArray<unknown> as ReadonlyArray<Method>
  const oauth = methods.filter(({ type }) => type.startsWith("oauth2"))
  const isAllowed = useMay("connectors:read")
  const found = useRead(path, { params: { path: { ctr: connector.slug } } }, { enabled: isAllowed && oauth.length > 0 })
  const [isOpen, setOpen] = useState(false)
  return (
    <div className="stack">
      <Card title="Ways to sign in" flush>
        <Table
          label="Ways to sign in"
          rows={methods}
          keyOf={({ id }) => id}
          columns={[
            { name: "Id", of: ({ id }) => <code>{id}</code> },
            { name: "Type", of: ({ type }) => type },
            { name: "Default", of: (method) => (method.default === true ? "yes" : "–") }
          ]}
        />
      </Card>
      {oauth.length > 0 && (
        <Card
          title="OAuth clients"
          flush
          actions={
            <Button needs="connectors:write" onClick={() => setOpen(true)}>
              Add a client
            </Button>
          }
        >
          <Loaded of={found} what="the OAuth clients">
            {({ data }) =>
              data.length === 0 ? (
                <Empty title="No client yet">
                  Register one at the provider with the redirect URI {connector.redirectUri}, and enter its id and
                  secret here.
                </Empty>
              ) : (
                <Table
                  label="OAuth clients"
                  rows={data}
                  keyOf={({ id }) => id}
                  columns={[
                    { name: "Name", of: ({ name }) => name },
                    { name: "Client id", of: ({ clientId }) => <code>{clientId}</code> },
                    { name: "Scopes", of: ({ scopes }) => scopes.join(" ") || "–" },
                    { name: "Redirect URI", of: ({ redirectUri }) => <CopyText text={redirectUri} /> },
                    { name: "Default", of: ({ isDefault }) => (isDefault ? "yes" : "–") },
                    {
                      name: "Remove",
                      isUnnamed: true,
                      of: ({ id, name }) => <Remove slug={connector.slug} id={id} name={name} />
                    }
                  ]}
                />
              )
            }
          </Loaded>
        </Card>
      )}
      {isOpen && <ClientDialog slug={connector.slug} methods={oauth} close={() => setOpen(false)} />}
    </div>
  )
}

const Remove = ({ id, name, slug }: { readonly slug: string; readonly id: string; readonly name: string }) => {
  const remove = useChange(
    () =>
      bodyOf(
        client.DELETE("/api/v1/connectors/{ctr}/auth-providers/{aid}", { params: { path: { ctr: slug, aid: id } } })
      ),
    { changes: [path] }
  )
  return (
    <Button
      size="small"
      kind="danger"
      needs="connectors:write"
      object={name}
      isRunning={remove.isRunning}
      onClick={() => remove.run()}
    >
      Remove
    </Button>
  )
}

const ClientDialog = ({
  close,
  methods,
  slug
}: {
  readonly slug: string
  readonly methods: ReadonlyArray<Method>
  readonly close: () => void
}) => {
  const { set, values } = useForm({
    name: "",
    methodId: methods[0]?.id ?? "",
    clientId: "",
    clientSecret: "",
    scopes: "",
    isDefault: true
  })
  const save = useChange(
    () =>
      bodyOf(
        client.PUT(path, {
          params: { path: { ctr: slug } },
          body: {
            name: values.name,
            methodId: values.methodId,
            clientId: values.clientId,
            isDefault: values.isDefault,
            ...(values.clientSecret === "" ? {} : { clientSecret: values.clientSecret }),
            ...(values.scopes === "" ? {} : { scopes: [...wordsOf(values.scopes)] })
          }
        })
      ),
    { changes: [path], done: close }
  )
  const wrong = (member: string) => save.error?.detailOf(member)
  return (
    <FormDialog
      title="Add an OAuth client"
      verb="Save"
      isOpen
      close={close}
      send={() => save.run()}
      isRunning={save.isRunning}
      isReady={values.name !== "" && values.clientId !== ""}
      error={save.error}
    >
      <TextField label="Name" value={values.name} onChange={set("name")} isRequired wrong={wrong("name")} />
      <Select
        label="Way to sign in"
        value={values.methodId}
        onChange={set("methodId")}
        options={methods.map(({ id }) => id)}
        wrong={wrong("methodId")}
      />
      <TextField
        label="Client id"
        value={values.clientId}
        onChange={set("clientId")}
        isRequired
        wrong={wrong("clientId")}
      />
      <Field label="Client secret" hint="It is stored sealed and never shown again." wrong={wrong("clientSecret")}>
        {(control) => (
          <input
            {...control}
            className="input"
            type="password"
            autoComplete="off"
            value={values.clientSecret}
            onChange={(event) => set("clientSecret")(event.target.value)}
          />
        )}
      </Field>
      <TextField
        label="Scopes (optional)"
        hint="Between spaces; without them those of the connector."
        value={values.scopes}
        onChange={set("scopes")}
        wrong={wrong("scopes")}
      />
      <Check checked={values.isDefault} onChange={set("isDefault")}>
        Default: connections that name no client use it
      </Check>
    </FormDialog>
  )
}
