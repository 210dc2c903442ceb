/** Values that apply somewhere, with the level that each comes from and those that it overrides. */
import { useState } from "react"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useRead } from "../../api/Reads.js"
import { Button } from "../../ui/Button.js"
import { FormDialog } from "../../ui/Dialog.js"
import { TextArea, TextField } from "../../ui/Field.js"
import { Card } from "../../ui/Page.js"
import { parseJson } from "../../ui/parseJson.js"
import { Empty, Guard, Loaded } from "../../ui/States.js"
import { Table } from "../../ui/Table.js"
import { useForm } from "../../ui/useForm.js"

type Value = ApiSchemas["ConfigurationValue"]
type Level = Value["source"]["level"]

/** Levels in words: from the one that all have to the narrowest. */
export const levelNames: Readonly<Record<Level, string>> = {
  platform: "svc",
  saas: "organisation",
  tenant: "customer",
  integration: "integration",
  flow: "workflow"
}

export interface ConfigurationPlace {
  /** What the values apply to. */
  readonly query: {
    readonly customer_id?: string
    readonly integration?: string
    readonly workflow_id?: string
    readonly environment?: string
  }
  /** Where a value is set. */
  readonly level: Level
  readonly scopeId: string | null
}

export const ConfigurationTable = (place: ConfigurationPlace) => (
  <Guard permission="settings:read">
    <Values {...place} />
  </Guard>
)

const Values = (place: ConfigurationPlace) => {
  const found = useRead("/api/v1/config", { params: { query: place.query } })
  const [edited, edit] = useState<Value | "new">()
  const add = (
    <Button needs="settings:update" onClick={() => edit("new")}>
      Set a value
    </Button>
  )
  return (
    <Loaded of={found} what="the configuration">
      {({ data }) => (
        <Card flush title={`Values set here hold for the ${levelNames[place.level]}`} actions={add}>
          {data.length === 0 ? (
            <Empty title="No values" action={add}>
              Workflows read them by svc.envConfig; each level overrides the wider one.
            </Empty>
          ) : (
            <Table
              label="Configuration"
              rows={data}
              keyOf={({ key }) => key}
              columns={[
                { name: "Key", of: ({ key }) => <code>{key}</code> },
                { name: "Value", of: ({ value }) => <code>{JSON.stringify(value)}</code> },
                { name: "From", of: ({ source }) => levelNames[source.level] },
                {
                  name: "Overrides",
                  of: ({ overridden }) =>
                    overridden.length === 0
                      ? "–"
                      : overridden
                          .map(({ level, value }) => `${levelNames[level]}: ${JSON.stringify(value)}`)
                          .join(", ")
                },
                {
                  name: "Change",
                  isUnnamed: true,
                  of: (value) => (
                    <Button size="small" needs="settings:update" object={value.key} onClick={() => edit(value)}>
                      Change
                    </Button>
                  )
                }
              ]}
            />
          )}
          {edited !== undefined && (
            <ValueDialog place={place} before={edited === "new" ? undefined : edited} close={() => edit(undefined)} />
          )}
        </Card>
      )}
    </Loaded>
  )
}

const ValueDialog = ({
  before,
  close,
  place: { level, query, scopeId }
}: {
  readonly place: ConfigurationPlace
  readonly before: Value | undefined
  readonly close: () => void
}) => {
  const { set, values } = useForm({ key: before?.key ?? "", value: JSON.stringify(before?.value ?? "", null, 2) })
  const parsed = parseJson(values.value)
  const isSetHere = before?.source.level === level
  const save = useChange(
    (value: unknown) =>
      bodyOf(
        client.PUT("/api/v1/config", {
          body: {
            level,
            scopeId,
            key: values.key,
            value: value as Record<string, never>,
            ...(query.environment === undefined ? {} : { environment: query.environment }),
            ...(isSetHere ? { version: before.version } : {})
          }
        })
      ),
    { changes: ["/api/v1/config"], done: close }
  )
  return (
    <FormDialog
      title={before === undefined ? "Set a value" : `Change ${before.key}`}
      verb="Save"
      isOpen
      close={close}
      send={() => save.run(parsed.ok ? parsed.value : null)}
      isRunning={save.isRunning}
      isReady={values.key !== "" && parsed.ok}
      error={save.error}
    >
      <TextField
        label="Key"
        value={values.key}
        onChange={set("key")}
        disabled={before !== undefined}
        wrong={save.error?.detailOf("key")}
      />
      <TextArea
        label="Value, as JSON"
        value={values.value}
        onChange={set("value")}
        wrong={parsed.ok ? save.error?.detailOf("value") : parsed.message}
      />
      {isSetHere && (
        <div>
          <Button kind="danger" needs="settings:update" isRunning={save.isRunning} onClick={() => save.run(null)}>
            Remove it here
          </Button>
        </div>
      )}
    </FormDialog>
  )
}
