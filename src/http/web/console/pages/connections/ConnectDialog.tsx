/** Connects a customer's account: with its credential, or by a link to a page on which the customer connects. */
import { useState } from "react"
import { useLocation } from "wouter"
import { type ApiError, type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useList, useRead } from "../../api/Reads.js"
import { CustomerChoice } from "../../ui/Choices.js"
import { CopyText } from "../../ui/CopyText.js"
import { Dialog, FormDialog } from "../../ui/Dialog.js"
import { Field, Select, TextField } from "../../ui/Field.js"
import { useForm } from "../../ui/useForm.js"

interface CredentialMember {
  readonly name: string
  readonly title?: string
  readonly secret?: boolean
}

/** A way to sign in at a system, as a connector describes it. */
interface AuthMethod {
  readonly id: string
  readonly type: string
  readonly title?: string
  readonly fields?: ReadonlyArray<CredentialMember>
}

/** What a person enters for a type of authentication; of the others the customer signs in at the provider. */
const membersOf = ({ fields, type }: AuthMethod): ReadonlyArray<CredentialMember> | undefined => {
  if (fields !== undefined && fields.length > 0) return fields
  if (type === "api_key") return [{ name: "apiKey", title: "API key", secret: true }]
  if (type === "basic")
    return [
      { name: "username", title: "User name" },
      { name: "password", title: "Password", secret: true }
    ]
  return undefined
}

/** `connector`: the slug of the one that is chosen already. */
export const ConnectDialog = ({
  close,
  connector = ""
}: {
  readonly close: () => void
  readonly connector?: string
}) => {
  const connectors = useList("/api/v1/connectors", {}, { pageSize: 200 })
  const { set, values } = useForm({ connector, customerId: "", method: "", label: "", way: "link" })
  const [secrets, setSecrets] = useState<Readonly<Record<string, string>>>({})
  const [config, setConfig] = useState<Readonly<Record<string, string>>>({})
  const [link, setLink] = useState<string>()
  const [, go] = useLocation()
  const found = useRead(
    "/api/v1/connectors/{ctr}",
    { params: { path: { ctr: values.connector } } },
    { enabled: values.connector !== "" }
  ).data?.data
  const methods = (found?.authMethods ?? []) as ReadonlyArray<unknown> as ReadonlyArray<AuthMethod>
  const method = methods.find(({ id }) => id === values.method) ?? methods[0]
  const members = method === undefined ? undefined : membersOf(method)
  const isByHand = values.way === "credential" && members !== undefined
  const connect = useChange(
    () =>
      bodyOf(
        client.POST("/api/v1/connections", {
          body: {
            connector: values.connector,
            customerId: values.customerId,
            ...(method === undefined ? {} : { authMethod: method.id }),
            ...(values.label === "" ? {} : { label: values.label }),
            ...(Object.keys(config).length === 0 ? {} : { config }),
            ...(isByHand ? { credential: secrets } : {})
          }
        })
      ),
    {
      changes: ["/api/v1/connections"],
      done: ({ data }) => {
        if (data.connectUrl !== undefined) return setLink(data.connectUrl)
        close()
        go(`/connections/${data.id}`)
      }
    }
  )
  if (link !== undefined)
    return (
      <Dialog title="Send this link to the customer" isOpen close={close}>
        <p>On its page the customer enters the credential, or signs in at the provider. It works for a short time.</p>
        <CopyText text={link} />
      </Dialog>
    )
  return (
    <FormDialog
      title="Connect an account"
      verb={isByHand ? "Test and connect" : "Make the link"}
      isOpen
      close={close}
      send={() => connect.run()}
      isRunning={connect.isRunning}
      isReady={values.connector !== "" && values.customerId !== ""}
      error={connect.error}
    >
      <Select
        label="System"
        value={values.connector}
        onChange={set("connector")}
        options={connectors.rows.map(({ name, slug }) => [slug, name] as const)}
        none="Choose"
        isRequired
      />
      <CustomerChoice
        value={values.customerId}
        onChange={set("customerId")}
        none="Choose"
        wrong={connect.error?.detailOf("customerId")}
      />
      {methods.length > 1 && (
        <Select
          label="Way to sign in"
          value={method?.id ?? ""}
          onChange={set("method")}
          options={methods.map(({ id, title, type }) => [id, title ?? `${id} (${type})`] as const)}
        />
      )}
      <ConfigFields connector={found} values={config} onChange={setConfig} error={connect.error} />
      {members !== undefined && (
        <Select
          label="The credential is entered"
          value={values.way}
          onChange={set("way")}
          options={[
            ["link", "by the customer, on a page that I send a link to"],
            ["credential", "by me, now"]
          ]}
        />
      )}
      {isByHand && <CredentialFields members={members} values={secrets} onChange={setSecrets} error={connect.error} />}
      <TextField
        label="Label (optional)"
        value={values.label}
        onChange={set("label")}
        wrong={connect.error?.detailOf("label")}
      />
    </FormDialog>
  )
}

interface TextsProps {
  readonly values: Readonly<Record<string, string>>
  readonly onChange: (values: Readonly<Record<string, string>>) => void
  readonly error: ApiError | null
}

/** What the connector needs to know of an account besides its credential, such as the name of a shop. */
const ConfigFields = ({
  connector,
  error,
  onChange,
  values
}: TextsProps & { readonly connector: ApiSchemas["Connector"] | undefined }) => {
  const schema = connector?.connectionConfig as
    | {
        readonly properties?: Readonly<Record<string, { readonly title?: string; readonly description?: string }>>
      }
    | null
    | undefined
  return Object.entries(schema?.properties ?? {}).map(([name, { description, title }]) => (
    <TextField
      key={name}
      label={title ?? name}
      hint={description}
      value={values[name] ?? ""}
      onChange={(value) => onChange({ ...values, [name]: value })}
      wrong={error?.detailOf(`config.${name}`)}
    />
  ))
}

const CredentialFields = ({
  error,
  members,
  onChange,
  values
}: TextsProps & { readonly members: ReadonlyArray<CredentialMember> }) =>
  members.map(({ name, secret, title }) => (
    <Field key={name} label={title ?? name} wrong={error?.detailOf(`credential.${name}`)}>
      {(control) => (
        <input
          {...control}
          className="input"
          type={secret === true ? "password" : "text"}
          autoComplete="off"
          value={values[name] ?? ""}
          onChange={(event) => onChange({ ...values, [name]: event.target.value })}
        />
      )}
    </Field>
  ))
