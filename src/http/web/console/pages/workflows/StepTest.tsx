/** Runs one step of the draft on made-up data. */
import { useState } from "react"
import { Link } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { JsonField } from "../../ui/Editor.js"
import { CustomerChoice } from "../../ui/Choices.js"
import { Select } from "../../ui/Field.js"
import { JsonValue } from "../../ui/JsonValue.js"
import { Card } from "../../ui/Page.js"
import { parseJson } from "../../ui/parseJson.js"
import { Empty, Problem } from "../../ui/States.js"
import { MockField, type CallsOfTest } from "./MockField.js"

type Workflow = ApiSchemas["Workflow"]

interface AnyStep {
  readonly name?: unknown
  readonly config?: { readonly steps?: unknown; readonly branches?: unknown; readonly else?: unknown }
}

/** The names of all steps, with those inside of others behind them. */
const stepNames = (steps: unknown, depth = 0): ReadonlyArray<string> => {
  if (!Array.isArray(steps) || depth > 10) return []
  return (steps as ReadonlyArray<AnyStep>).flatMap((step) => {
    const { branches, else: otherwise, steps: inner } = step.config ?? {}
    const ofBranches = Array.isArray(branches) ? branches.map((one: { readonly steps?: unknown }) => one?.steps) : []
    const ofElse = Array.isArray(otherwise) ? otherwise : (otherwise as { readonly steps?: unknown } | undefined)?.steps
    return [
      ...(typeof step.name === "string" ? [step.name] : []),
      ...[inner, ofElse, ...ofBranches].flatMap((list) => stepNames(list, depth + 1))
    ]
  })
}

export const StepTest = ({ workflow }: { readonly workflow: Workflow }) => {
  const names = stepNames((workflow.draft.spec as { readonly steps?: unknown } | null)?.steps)
  const [chosen, choose] = useState("")
  const name = names.includes(chosen) ? chosen : (names[0] ?? "")
  const [input, setInput] = useState("{}")
  const [steps, setSteps] = useState("{}")
  const [item, setItem] = useState("")
  const [mock, setMock] = useState<CallsOfTest>("full")
  const [customer, setCustomer] = useState("")
  const parsed = { input: parseJson(input), steps: parseJson(steps), item: parseJson(item === "" ? "null" : item) }
  const isReady = parsed.input.ok && parsed.steps.ok && parsed.item.ok
  const test = useChange(
    async () => {
      const { data } = await bodyOf(
        client.POST("/api/v1/workflows/{wid}/steps/{name}/test", {
          params: { path: { wid: workflow.id, name } },
          body: {
            input: parsed.input.ok ? (parsed.input.value as Record<string, never>) : {},
            ...(parsed.steps.ok && steps.trim() !== "{}" ? { steps: parsed.steps.value as Record<string, never> } : {}),
            ...(parsed.item.ok && item !== "" ? { item: parsed.item.value as Record<string, never> } : {}),
            ...(customer === "" ? {} : { customerId: customer }),
            mock
          }
        })
      )
      return data
    },
    { changes: ["/api/v1/executions"] }
  )
  const [result, setResult] = useState<ApiSchemas["StepTestResult"]>()
  if (names.length === 0)
    return (
      <Card title="Test one step">
        <Empty title="The draft has no steps" />
      </Card>
    )
  return (
    <Card title="Test one step">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          setResult(undefined)
          if (isReady && !test.isRunning) test.run(undefined, { onSuccess: setResult })
        }}
      >
        <p className="soft">The step runs alone, with those inside of it. By default no call has an effect.</p>
        <div className="columns">
          <Select label="Step" value={name} onChange={choose} options={names.map((one) => [one, one] as const)} />
          <MockField value={mock} onChange={setMock} />
          <CustomerChoice none="None" value={customer} onChange={setCustomer} />
        </div>
        <div className="columns">
          <JsonField
            label="Input of the workflow"
            value={input}
            onChange={setInput}
            wrong={test.error?.detailOf("input")}
          />
          <JsonField
            label="Outputs of other steps, by name"
            value={steps}
            onChange={setSteps}
            wrong={test.error?.detailOf("steps")}
          />
          <JsonField
            label="The item, of a step in a loop"
            value={item}
            onChange={setItem}
            wrong={test.error?.detailOf("item")}
          />
        </div>
        <div>
          <Button type="submit" kind="main" needs="workflows:update" isRunning={test.isRunning} disabled={!isReady}>
            Test the step
          </Button>
        </div>
      </form>
      <Problem error={test.error} />
      {result !== undefined && (
        <div className="stack tight" role="status">
          <p className="row">
            <Badge word={result.status} /> <Link href={`/runs/${result.executionId}`}>Open the run</Link>
          </p>
          {result.error !== null && <JsonValue name="error" value={result.error} />}
          <JsonValue name="output" value={result.output} />
        </div>
      )}
    </Card>
  )
}
