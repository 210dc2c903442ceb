/**
 * Tries an action through a connection. The call is made by a step of a workflow that exists meanwhile only, so that it is a
 * run like all others: in its limits, with the credential kept from it, and listed among the runs.
 */
import { useEffect, useState } from "react"
import { Link } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useList } from "../../api/Reads.js"
import { CopyText } from "../../ui/CopyText.js"
import { FormDialog } from "../../ui/Dialog.js"
import { Select, TextArea } from "../../ui/Field.js"
import { JsonValue } from "../../ui/JsonValue.js"
import { parseJson } from "../../ui/parseJson.js"
import type { ShownAction } from "./ShownAction.js"

type Connection = ApiSchemas["Connection"]

/** The same call in the code of a workflow. */
const codeOf = (connector: string, action: string, input: string): string =>
  `await svc.connector[${JSON.stringify(connector)}].${action}(${input})`

const callOnce = async (
  connection: Connection,
  action: ShownAction,
  input: unknown
): Promise<ApiSchemas["StepTestResult"]> => {
  const step = {
    name: "call",
    type: "action",
    connector: connection.connector,
    action: action.name,
    connection: connection.id,
    input
  }
  const made = await bodyOf(
    client.POST("/api/v1/workflows", {
      body: { name: `try_${crypto.randomUUID().slice(0, 8)}`, form: "steps", tier: "instant", spec: { steps: [step] } }
    })
  )
  const path = { wid: made.data.id }
  try {
    const answer = await bodyOf(
      client.POST("/api/v1/workflows/{wid}/steps/{name}/test", {
        params: { path: { ...path, name: "call" } },
        body: { mock: "none", customerId: connection.customerId }
      })
    )
    return answer.data
  } finally {
    await bodyOf(client.DELETE("/api/v1/workflows/{wid}", { params: { path } }))
  }
}

export const TryAction = ({
  action,
  close,
  connector
}: {
  readonly connector: string
  readonly action: ShownAction
  readonly close: () => void
}) => {
  const [input, setInput] = useState("{}")
  const [chosen, setChosen] = useState("")
  const [result, setResult] = useState<ApiSchemas["StepTestResult"]>()
  const [schema, setSchema] = useState<unknown>()
  const connections = useList("/api/v1/connections", { connector, status: "active" }, { pageSize: 200 })
  const connection = connections.rows.find(({ id }) => id === chosen)
  const parsed = parseJson(input)
  const call = useChange(
    async () => {
      if (connection === undefined || !parsed.ok) return
      setResult(await callOnce(connection, action, parsed.value))
    },
    { changes: ["/api/v1/executions"] }
  )
  const discover = useChange(() => bodyOf(client.POST("/api/v1/connectors/discover", { body: { connector } })), {
    done: ({ data }) => setSchema(data.actions.find(({ name }) => name === action.name)?.inputSchema)
  })
  const { run: find } = discover
  useEffect(() => find(), [find])
  return (
    <FormDialog
      title={`Try ${connector}.${action.name}`}
      verb="Call it now"
      isOpen
      isWide
      close={close}
      send={() => call.run()}
      isRunning={call.isRunning}
      isReady={parsed.ok && connection !== undefined}
      error={call.error ?? discover.error}
    >
      <p>This is a real call: what it changes at the provider stays changed.</p>
      <Select
        label="Through the connection"
        value={chosen}
        onChange={setChosen}
        options={connections.rows.map(({ customerId, id, label }) => [id, `${label}, of ${customerId}`] as const)}
        none={connections.rows.length === 0 ? "None is active: connect an account first" : "Choose"}
      />
      <TextArea
        label="Arguments, as JSON"
        rows={6}
        value={input}
        onChange={setInput}
        wrong={parsed.ok ? undefined : parsed.message}
      />
      {schema !== undefined && (
        <section aria-label="The arguments' schema">
          <h3>The arguments' schema</h3>
          <JsonValue name={`${action.name}-arguments`} value={schema} />
        </section>
      )}
      <p>
        In a workflow: <CopyText text={codeOf(connector, action.name, input)} />
      </p>
      {result !== undefined && (
        <section aria-label="Result" className="stack tight">
          <h3>{result.error === null ? "Result" : "It failed"}</h3>
          <JsonValue name={`${action.name}-result`} value={result.error ?? result.output} />
          <Link href={`/runs/${result.executionId}`}>The run that made the call</Link>
        </section>
      )}
    </FormDialog>
  )
}
