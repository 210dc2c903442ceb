/** Tests the draft: a run with an input of one's own or of a former run, or one step alone. */
import { useState } from "react"
import { Link } from "wouter"
import { ApiError, type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useList, useRead } from "../../api/Reads.js"
import { useMay } from "../../api/Session.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { JsonField } from "../../ui/Editor.js"
import { CustomerChoice, EnvironmentChoice } from "../../ui/Choices.js"
import { Check, Select } from "../../ui/Field.js"
import { JsonValue } from "../../ui/JsonValue.js"
import { Card } from "../../ui/Page.js"
import { parseJson } from "../../ui/parseJson.js"
import { Problem } from "../../ui/States.js"
import { MockField, type CallsOfTest } from "./MockField.js"
import { StepTest } from "./StepTest.js"
import type { OpenDraft } from "./useDraft.js"

type Workflow = ApiSchemas["Workflow"]
type Execution = ApiSchemas["Execution"]

export const TestTab = ({ draft }: { readonly draft: OpenDraft }) => (
  <div className="stack">
    {draft.status.kind !== "saved" && (
      <p className="notice warn">The draft is not saved yet: a test runs what is saved.</p>
    )}
    <RunTest workflow={draft.workflow} />
    {draft.workflow.form === "steps" && <StepTest workflow={draft.workflow} />}
  </div>
)

interface Started {
  readonly executionId: string | undefined
  readonly output: unknown
}

const RunTest = ({ workflow }: { readonly workflow: Workflow }) => {
  const [input, setInput] = useState("{}")
  const [revision, setRevision] = useState(0)
  const [isDraft, setDraft] = useState(true)
  const [mock, setMock] = useState<CallsOfTest>("full")
  const [customer, setCustomer] = useState("")
  const [environment, setEnvironment] = useState("")
  const parsed = parseJson(input)
  const put = (text: string) => {
    setInput(text)
    setRevision((before) => before + 1)
  }
  const start = useChange(
    async (): Promise<Started> => {
      const answer = await client.POST("/api/v1/workflows/{workflowId}/run", {
        params: {
          path: { workflowId: workflow.id },
          header: customer === "" ? {} : { "x-end-org-id": customer }
        },
        body: {
          input: parsed.ok ? (parsed.value as Record<string, never>) : {},
          mock,
          ...(isDraft ? { draft: true } : {}),
          ...(environment === "" ? {} : { environment })
        }
      })
      const output = await bodyOf(Promise.resolve(answer))
      const id = answer.response.headers.get("x-svc-execution-id")
      return { executionId: id ?? undefined, output }
    },
    { changes: ["/api/v1/executions"] }
  )
  const [started, setStarted] = useState<Started>()
  return (
    <Card title="Run">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          setStarted(undefined)
          if (parsed.ok && !start.isRunning) start.run(undefined, { onSuccess: setStarted })
        }}
      >
        <FormerInput workflow={workflow} put={put} />
        <JsonField
          label="Input"
          value={input}
          revision={revision}
          onChange={setInput}
          wrong={start.error?.detailOf("input")}
          schema={(workflow.inputContract ?? undefined) as Parameters<typeof JsonField>[0]["schema"]}
        />
        <div className="columns">
          <MockField value={mock} onChange={setMock} />
          <CustomerChoice none="None" value={customer} onChange={setCustomer} />
          <EnvironmentChoice
            none="The organisation's own choice"
            value={environment}
            onChange={setEnvironment}
            wrong={start.error?.detailOf("environment")}
          />
        </div>
        <Check checked={isDraft} onChange={setDraft}>
          Run the draft, not the version that is deployed
        </Check>
        <div className="row">
          <Button type="submit" kind="main" needs="workflows:execute" isRunning={start.isRunning} disabled={!parsed.ok}>
            Run
          </Button>
          {!parsed.ok && <span className="soft">{parsed.message}</span>}
        </div>
      </form>
      <Problem error={start.error} />
      {started !== undefined && <Result started={started} />}
    </Card>
  )
}

/** Takes over the input of one of the last runs. */
const FormerInput = ({ put, workflow }: { readonly workflow: Workflow; readonly put: (text: string) => void }) => {
  const { rows } = useList(
    "/api/v1/executions",
    { workflow_id: workflow.id },
    { pageSize: 30, enabled: useMay("executions:read") }
  )
  const [error, setError] = useState<ApiError | null>(null)
  if (rows.length === 0) return null
  const take = async (eid: string) => {
    setError(null)
    try {
      const { data } = await bodyOf(client.GET("/api/v1/executions/{eid}", { params: { path: { eid } } }))
      put(JSON.stringify(data.input, null, 2))
    } catch (cause) {
      if (cause instanceof ApiError) setError(cause)
    }
  }
  return (
    <>
      <Select
        label="With the input of a former run"
        none="Choose a run …"
        value=""
        onChange={(eid) => {
          if (eid !== "") void take(eid)
        }}
        options={rows.map(
          ({ createdAt, id, status }) => [id, `${new Date(createdAt).toLocaleString()}, ${status}`] as const
        )}
      />
      <Problem error={error} />
    </>
  )
}

const isOpen = ({ status }: Execution): boolean => status === "pending" || status === "running"

const Result = ({ started }: { readonly started: Started }) => {
  const { executionId } = started
  const [isWatched, setWatched] = useState(true)
  const read = useRead(
    "/api/v1/executions/{eid}",
    { params: { path: { eid: executionId ?? "" } } },
    { enabled: executionId !== undefined, ...(isWatched ? { every: 1_000 } : {}) }
  )
  const run = read.data?.data
  if (run !== undefined && !isOpen(run) && isWatched) setWatched(false)
  if (executionId === undefined) return <JsonValue name="output" value={started.output} />
  return (
    <div className="stack tight" role="status">
      <p className="row">
        {run === undefined ? "Started" : <Badge word={run.status} />}
        <Link href={`/runs/${executionId}`}>Open the run</Link>
      </p>
      {run !== undefined && run.error !== null && <JsonValue name="error" value={run.error} />}
      {run !== undefined && run.output !== null && <JsonValue name="output" value={run.output} />}
    </div>
  )
}
