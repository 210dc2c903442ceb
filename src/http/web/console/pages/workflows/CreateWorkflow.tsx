/** Creates a workflow from an example, or from a file. */
import { useState } from "react"
import { useLocation } from "wouter"
import { bodyOf, client } from "../../api/Client.js"
import { useChange } from "../../api/Reads.js"
import { useMe } from "../../api/Session.js"
import { FormDialog } from "../../ui/Dialog.js"
import { CustomerChoice } from "../../ui/Choices.js"
import { Select, TextArea, TextField } from "../../ui/Field.js"
import { workflowExamples } from "./Examples.js"

const fromFile = "file"

export const CreateWorkflow = ({ close }: { readonly close: () => void }) => {
  const [name, setName] = useState("")
  const mayEditCode = useMe().organisation.codeEditing
  const offered = workflowExamples.filter(({ form }) => mayEditCode || form === "steps")
  const [chosen, choose] = useState(offered[0]?.id ?? "")
  const [customerId, setCustomer] = useState("")
  const [format, setFormat] = useState<"flow.json" | "flow.js">("flow.json")
  const [source, setSource] = useState("")
  const [, go] = useLocation()
  const example = workflowExamples.find(({ id }) => id === chosen)
  const create = useChange(
    () =>
      bodyOf(
        client.POST("/api/v1/workflows", {
          params: { query: { incomplete: "true" } },
          body: {
            ...(name === "" ? {} : { name }),
            ...(customerId === "" ? {} : { customerId }),
            ...(example === undefined
              ? { import: { format, source } }
              : {
                  form: example.form,
                  tier: example.tier,
                  ...(example.code === undefined ? {} : { code: example.code }),
                  ...(example.spec === undefined ? {} : { spec: example.spec })
                })
          }
        })
      ),
    { changes: ["/api/v1/workflows"], done: ({ data }) => go(`/workflows/${data.id}`) }
  )
  const detail = (path: string) => create.error?.detailOf(path)
  return (
    <FormDialog
      title="Create a workflow"
      verb="Create"
      isOpen
      isWide={example === undefined}
      close={close}
      send={() => create.run()}
      isRunning={create.isRunning}
      isReady={name !== "" || (example === undefined && source !== "")}
      error={create.error}
    >
      <TextField
        label={example === undefined ? "Name (or else that of the file)" : "Name"}
        hint="Letters, digits and underscores, or lower-case words with hyphens."
        value={name}
        onChange={setName}
        isRequired={example !== undefined}
        wrong={detail("name")}
      />
      <Select
        label="Begin with"
        value={chosen}
        onChange={choose}
        options={[
          ...offered.map(({ id, title }) => [id, title] as const),
          [fromFile, "A file: flow.json or flow.js"] as const
        ]}
        hint={
          <>
            {example?.about ?? "An export of another workflow, or a file of yours."}
            {!mayEditCode && " Code editing is disabled for this organisation, so there are steps only."}
          </>
        }
      />
      {example === undefined && (
        <>
          <Select
            label="Format"
            value={format}
            onChange={(value) => setFormat(value === "flow.js" ? "flow.js" : "flow.json")}
            options={[
              ["flow.json", "flow.json"],
              ["flow.js", "flow.js"]
            ]}
          />
          <div className="field">
            <label htmlFor="import-file">Read from a file</label>
            <input
              id="import-file"
              type="file"
              accept=".json,.js"
              onChange={(event) => {
                const file = event.target.files?.[0]
                if (file === undefined) return
                setFormat(file.name.endsWith(".js") ? "flow.js" : "flow.json")
                void file.text().then(setSource)
              }}
            />
          </div>
          <TextArea label="Source" rows={12} value={source} onChange={setSource} wrong={detail("import.source")} />
        </>
      )}
      <CustomerChoice none="All customers" value={customerId} onChange={setCustomer} wrong={detail("customerId")} />
    </FormDialog>
  )
}
