/** Downloads the draft or a version as a file. */
import { useState } from "react"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange } from "../../api/Reads.js"
import { FormDialog } from "../../ui/Dialog.js"
import { Select } from "../../ui/Field.js"
import { download } from "../../ui/JsonValue.js"

type Workflow = ApiSchemas["Workflow"]
type Format = "flow.json" | "flow.js" | "code"

export const ExportDialog = ({ close, workflow }: { readonly workflow: Workflow; readonly close: () => void }) => {
  const [format, setFormat] = useState<Format>(workflow.form === "code" ? "code" : "flow.json")
  const [version, setVersion] = useState("")
  const save = useChange(
    async () => {
      const text = (await bodyOf(
        client.GET("/api/v1/workflows/{wid}/export", {
          params: {
            path: { wid: workflow.id },
            query: { format, ...(version === "" ? {} : { version: Number(version) }) }
          },
          parseAs: "text"
        })
      )) as unknown as string
      const ending = format === "code" ? "js" : format
      download(`${workflow.name}.${ending}`, text, ending === "flow.json" ? "application/json" : "text/javascript")
    },
    { done: close }
  )
  const formats: ReadonlyArray<readonly [Format, string]> =
    workflow.form === "code"
      ? [["code", "Code"]]
      : [
          ["flow.json", "flow.json: the steps as JSON"],
          ["flow.js", "flow.js: the steps as a module"],
          ["code", "Code that makes the same calls"]
        ]
  return (
    <FormDialog
      title={`Export “${workflow.name}”`}
      verb="Download"
      isOpen
      close={close}
      send={() => save.run()}
      isRunning={save.isRunning}
      error={save.error}
    >
      <p>The file has no ids, addresses or secrets.</p>
      <Select label="Format" value={format} onChange={(value) => setFormat(value as Format)} options={formats} />
      <Select
        label="Version"
        none="The draft"
        value={version}
        onChange={setVersion}
        options={workflow.versions.map(({ version: number }) => [String(number), `Version ${number}`] as const)}
      />
    </FormDialog>
  )
}
