/** Adds a connector from an OpenAPI document, a Postman collection or its own definition, and shows what of the document was left out. */
import { useState } from "react"
import { useLocation } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange } from "../../api/Reads.js"
import { Button } from "../../ui/Button.js"
import { Dialog, FormDialog } from "../../ui/Dialog.js"
import { Select, TextArea, TextField } from "../../ui/Field.js"
import { parseJson } from "../../ui/parseJson.js"
import { Table } from "../../ui/Table.js"
import { useForm } from "../../ui/useForm.js"

type Warning = ApiSchemas["ImportWarning"]

export const ImportDialog = ({ close }: { readonly close: () => void }) => {
  const { set, values } = useForm({ format: "openapi", slug: "", name: "", source: "" })
  const [made, setMade] = useState<{ readonly slug: string; readonly warnings: ReadonlyArray<Warning> }>()
  const [, go] = useLocation()
  const isDefinition = values.format === "svc"
  const definition = isDefinition && values.source !== "" ? parseJson(values.source) : undefined
  const add = useChange(
    () => {
      const imported = {
        format: values.format === "postman" ? ("postman" as const) : ("openapi" as const),
        source: values.source,
        ...(values.slug === "" ? {} : { slug: values.slug }),
        ...(values.name === "" ? {} : { name: values.name })
      }
      const body = definition?.ok ? definition.value : { import: imported }
      return bodyOf(client.POST("/api/v1/connectors", { body: body as ApiSchemas["ConnectorBody"] }))
    },
    {
      changes: ["/api/v1/connectors"],
      done: ({ data, warnings = [] }) => {
        if (warnings.length > 0) return setMade({ slug: data.slug, warnings })
        close()
        go(`/connectors/${data.slug}`)
      }
    }
  )
  if (made !== undefined)
    return (
      <Dialog title="The connector was made. This of the document it does not have:" isOpen isWide close={close}>
        <Table
          label="What was left out"
          rows={made.warnings}
          keyOf={({ message, path }) => `${path} ${message}`}
          columns={[
            { name: "Place", of: ({ path }) => <code>{path}</code> },
            { name: "What, and its consequence", of: ({ message }) => message }
          ]}
        />
        <div className="row">
          <Button kind="main" onClick={() => go(`/connectors/${made.slug}`)}>
            Open the connector
          </Button>
        </div>
      </Dialog>
    )
  return (
    <FormDialog
      title="Add a connector"
      verb="Add"
      isOpen
      isWide
      close={close}
      send={() => add.run()}
      isRunning={add.isRunning}
      isReady={values.source !== "" && definition?.ok !== false}
      error={add.error}
    >
      <Select
        label="From"
        value={values.format}
        onChange={set("format")}
        options={[
          ["openapi", "an OpenAPI document"],
          ["postman", "a Postman collection"],
          ["svc", "a definition of a connector"]
        ]}
      />
      {!isDefinition && (
        <div className="columns">
          <TextField
            label="Slug (optional)"
            value={values.slug}
            onChange={set("slug")}
            hint="How workflows call it."
            wrong={add.error?.detailOf("import.slug")}
          />
          <TextField
            label="Name (optional)"
            value={values.name}
            onChange={set("name")}
            wrong={add.error?.detailOf("import.name")}
          />
        </div>
      )}
      <TextArea
        label={isDefinition ? "Definition, as JSON" : "The document, as JSON or YAML, or its address"}
        rows={14}
        value={values.source}
        onChange={set("source")}
        wrong={definition?.ok === false ? definition.message : add.error?.detailOf("import.source")}
      />
    </FormDialog>
  )
}
