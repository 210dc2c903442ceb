/** Values that workflows read by their names, and that nobody sees by accident. */
import { useState } from "react"
import { type ApiSchemas, bodyOf, client, read } from "../../api/Client.js"
import { useChange, useList } from "../../api/Reads.js"
import { Button } from "../../ui/Button.js"
import { CustomerChoice, EnvironmentChoice } from "../../ui/Choices.js"
import { Confirm, Dialog, FormDialog } from "../../ui/Dialog.js"
import { TextArea, TextField } from "../../ui/Field.js"
import { FilterFields, useFieldFilters } from "../../ui/Filters.js"
import { JsonValue } from "../../ui/JsonValue.js"
import { Page } from "../../ui/Page.js"
import { Empty, Problem } from "../../ui/States.js"
import { ListTable } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"
import { useForm } from "../../ui/useForm.js"

type SecretRecord = ApiSchemas["Secret"]

const fields = [
  { name: "q", label: "Name" },
  { name: "customer_id", label: "Customer's id" },
  { name: "environment", label: "Environment" }
] as const

export const Secrets = () => {
  const filters = useFieldFilters(fields)
  const { isSet, values } = filters
  const list = useList("/api/v1/secrets", values)
  const [isOpen, setOpen] = useState(false)
  const [removed, setRemoved] = useState<SecretRecord>()
  const [revealed, setRevealed] = useState<ApiSchemas["RevealedSecret"]>()
  const reveal = useChange((sid: string) => read("/api/v1/secrets/{sid}/value", { params: { path: { sid } } }), {
    done: ({ data }) => setRevealed(data)
  })
  const add = (
    <Button kind="main" needs="secrets:write" onClick={() => setOpen(true)}>
      Store a secret
    </Button>
  )
  return (
    <Page title="Secrets" actions={add}>
      <FilterFields {...filters} />
      <Problem error={reveal.error} />
      <ListTable
        label="secrets"
        list={list}
        keyOf={({ id }) => id}
        empty={
          <Empty title={isSet ? "No secret matches" : "No secrets yet"} action={add}>
            Workflows read one by svc.secrets; its value is in no log and no record.
          </Empty>
        }
        columns={[
          { name: "Name", of: ({ name }) => <code>{name}</code> },
          { name: "Customer", of: ({ scope }) => scope.customerId ?? "all" },
          { name: "Environment", of: ({ scope }) => scope.environment ?? "all" },
          { name: "Type", of: ({ type }) => type },
          { name: "Changed", of: ({ updatedAt }) => <Time at={updatedAt} /> },
          {
            name: "Actions",
            isUnnamed: true,
            of: (secret) => (
              <span className="row">
                <Button size="small" needs="secrets:read" object={secret.name} onClick={() => reveal.run(secret.id)}>
                  Reveal
                </Button>
                <Button
                  size="small"
                  kind="danger"
                  needs="secrets:delete"
                  object={secret.name}
                  onClick={() => setRemoved(secret)}
                >
                  Delete
                </Button>
              </span>
            )
          }
        ]}
      />
      {isOpen && <StoreDialog close={() => setOpen(false)} />}
      {removed !== undefined && <DeleteDialog secret={removed} close={() => setRemoved(undefined)} />}
      {revealed !== undefined && (
        <Dialog title={revealed.name} isOpen close={() => setRevealed(undefined)}>
          <JsonValue name={revealed.name} value={revealed.value} />
        </Dialog>
      )}
    </Page>
  )
}

const StoreDialog = ({ close }: { readonly close: () => void }) => {
  const { set, values } = useForm({ name: "", value: "", customerId: "", environment: "" })
  const store = useChange(
    () =>
      bodyOf(
        client.POST("/api/v1/secrets", {
          body: {
            name: values.name,
            value: values.value as unknown as Record<string, never>,
            customerId: values.customerId === "" ? null : values.customerId,
            environment: values.environment === "" ? null : values.environment
          }
        })
      ),
    { changes: ["/api/v1/secrets"], done: close }
  )
  const wrong = (member: string) => store.error?.detailOf(member)
  return (
    <FormDialog
      title="Store a secret"
      verb="Store"
      isOpen
      close={close}
      send={() => store.run()}
      isRunning={store.isRunning}
      isReady={values.name !== "" && values.value !== ""}
      error={store.error}
    >
      <TextField
        label="Name"
        hint="A secret of the same name and place is replaced."
        value={values.name}
        onChange={set("name")}
        isRequired
        wrong={wrong("name")}
      />
      <TextArea label="Value" rows={3} value={values.value} onChange={set("value")} wrong={wrong("value")} />
      <CustomerChoice
        value={values.customerId}
        onChange={set("customerId")}
        none="All customers"
        wrong={wrong("customerId")}
      />
      <EnvironmentChoice
        value={values.environment}
        onChange={set("environment")}
        none="All environments"
        wrong={wrong("environment")}
      />
    </FormDialog>
  )
}

const DeleteDialog = ({ close, secret }: { readonly secret: SecretRecord; readonly close: () => void }) => {
  const remove = useChange(
    () => bodyOf(client.DELETE("/api/v1/secrets/{sid}", { params: { path: { sid: secret.id } } })),
    {
      changes: ["/api/v1/secrets"],
      done: close
    }
  )
  return (
    <Confirm
      title="Delete the secret?"
      verb="Delete"
      typed={secret.name}
      isOpen
      close={close}
      send={() => remove.run()}
      isRunning={remove.isRunning}
      error={remove.error}
    >
      <p>Workflows that read it fail from now on.</p>
    </Confirm>
  )
}
