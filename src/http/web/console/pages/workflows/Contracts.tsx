/** The JSON schemas of input and output, which are part of the draft and take effect by publishing. */
import { useState } from "react"
import { bodyOf, client } from "../../api/Client.js"
import { useChange } from "../../api/Reads.js"
import { Button } from "../../ui/Button.js"
import { JsonField } from "../../ui/Editor.js"
import { Card } from "../../ui/Page.js"
import { parseJson } from "../../ui/parseJson.js"
import { Problem } from "../../ui/States.js"
import { useToast } from "../../ui/Toasts.js"
import { jsonSchemaWords } from "./schemaWords.js"
import type { OpenDraft } from "./useDraft.js"

const textOf = (schema: unknown): string => (schema === null ? "" : JSON.stringify(schema, null, 2))
const example = `{
  "type": "object",
  "required": ["name"],
  "properties": { "name": { "type": "string" } }
}`

/** `undefined`: no JSON; an empty text is no contract. */
const contractOf = (text: string): Record<string, never> | null | undefined => {
  if (text.trim() === "") return null
  const parsed = parseJson(text)
  return parsed.ok ? (parsed.value as Record<string, never>) : undefined
}

export const Contracts = ({ draft: { autosave, workflow } }: { readonly draft: OpenDraft }) => {
  // What is typed stays when somebody else saves other contracts.
  const [base, setBase] = useState(workflow)
  const [input, setInput] = useState(textOf(workflow.inputContract))
  const [output, setOutput] = useState(textOf(workflow.outputContract))
  const [revision, setRevision] = useState(0)
  const tell = useToast()
  const inputContract = contractOf(input)
  const outputContract = contractOf(output)
  const isInputChanged = input !== textOf(base.inputContract)
  const isOutputChanged = output !== textOf(base.outputContract)
  const isOutdated =
    textOf(base.inputContract) !== textOf(workflow.inputContract) ||
    textOf(base.outputContract) !== textOf(workflow.outputContract)
  const fill = (from: typeof workflow) => {
    setBase(from)
    setInput(textOf(from.inputContract))
    setOutput(textOf(from.outputContract))
    setRevision((before) => before + 1)
  }
  const save = useChange(
    () =>
      autosave.change(async (version) => {
        const { data } = await bodyOf(
          client.PUT("/api/v1/workflows/{wid}", {
            params: {
              path: { wid: workflow.id },
              query: { incomplete: "true" },
              header: { "If-Match": `"${version}"` }
            },
            body: {
              ...(inputContract === undefined || !isInputChanged ? {} : { inputContract }),
              ...(outputContract === undefined || !isOutputChanged ? {} : { outputContract })
            }
          })
        )
        return data
      }),
    {
      done: (saved) => {
        fill(saved)
        tell("The contracts are saved in the draft.")
      }
    }
  )
  const begin = (set: (text: string) => void) => {
    set(example)
    setRevision((before) => before + 1)
  }
  const isReady = inputContract !== undefined && outputContract !== undefined
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        if (isReady && !save.isRunning) save.run()
      }}
    >
      {isOutdated && (
        <div className="notice warn row">
          <p>The contracts of the draft have changed since these fields were filled.</p>
          <Button onClick={() => fill(workflow)}>Fill them again</Button>
        </div>
      )}
      <p className="soft">
        JSON schemas. A run whose input does not fit is refused, one whose output does not fit has failed. They are part
        of the draft: publishing makes them effective.
      </p>
      <div className="columns">
        <Card
          title="Input contract"
          actions={
            input === "" && (
              <Button size="small" onClick={() => begin(setInput)}>
                Begin with an example
              </Button>
            )
          }
        >
          <JsonField
            label="Schema of the input"
            hint="Empty: any input."
            value={input}
            revision={revision}
            onChange={setInput}
            schema={jsonSchemaWords}
            wrong={save.error?.details.find(({ path }) => path.startsWith("inputContract"))?.message}
          />
        </Card>
        <Card
          title="Output contract"
          actions={
            output === "" && (
              <Button size="small" onClick={() => begin(setOutput)}>
                Begin with an example
              </Button>
            )
          }
        >
          <JsonField
            label="Schema of the output"
            hint="Empty: any output."
            value={output}
            revision={revision}
            onChange={setOutput}
            schema={jsonSchemaWords}
            wrong={save.error?.details.find(({ path }) => path.startsWith("outputContract"))?.message}
          />
        </Card>
      </div>
      <Problem error={save.error} />
      <div>
        <Button
          type="submit"
          kind="main"
          needs="workflows:update"
          isRunning={save.isRunning}
          disabled={!isReady || !(isInputChanged || isOutputChanged)}
        >
          Save the contracts
        </Button>
      </div>
    </form>
  )
}
