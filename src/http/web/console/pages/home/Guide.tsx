/** Five steps from the example to an own integration, each ticked by the record that it made. */
import { type ReactNode, useState } from "react"
import { Link, useLocation } from "wouter"
import { bodyOf, client } from "../../api/Client.js"
import { useChange, useList, useRead } from "../../api/Reads.js"
import { useMay, useMe } from "../../api/Session.js"
import { Button } from "../../ui/Button.js"
import { Card } from "../../ui/Page.js"
import { Problem } from "../../ui/States.js"

const hiddenKey = "svc.guide.hidden"
/** How often the records are looked for while the guide is shown, in milliseconds. */
const every = 4_000

interface GuideStep {
  readonly title: string
  readonly isDone: boolean
  readonly how: ReactNode
}

/** Shown until all steps are done, or until the person hides it. */
export const Guide = () => {
  const me = useMe()
  const hiddenFor = `${hiddenKey}.${me.organisation.id}`
  const [isHidden, setHidden] = useState(localStorage.getItem(hiddenFor) !== null)
  const mayRead = useMay("workflows:read") && useMay("executions:read")
  if (isHidden || !mayRead) return null
  const hide = () => {
    localStorage.setItem(hiddenFor, "1")
    setHidden(true)
  }
  return <Steps hide={hide} />
}

const Steps = ({ hide }: { readonly hide: () => void }) => {
  const workflows = useList("/api/v1/workflows", {}, { every, pageSize: 200 })
  const runs = useList("/api/v1/executions", {}, { every, pageSize: 1 })
  const connections = useList("/api/v1/connections", {}, { every, pageSize: 1, enabled: useMay("connections:read") })
  const events = useList(
    "/api/v1/events",
    { source: "webhook" },
    { every, pageSize: 1, enabled: useMay("events:read") }
  )
  // The example is the oldest workflow.
  const example = workflows.rows.at(-1)
  const history = useRead(
    "/api/v1/workflows/{wid}/versions",
    { params: { path: { wid: example?.id ?? "" } } },
    { enabled: example !== undefined, every }
  )
  const versions = history.data?.data.length ?? 0
  if (workflows.isPending || runs.isPending) return null
  const isPublishedAgain = versions >= 2
  const isChanged =
    isPublishedAgain ||
    workflows.rows.some(({ createdAt, updatedAt, version }) => isEdited(createdAt, updatedAt, version))
  const steps: ReadonlyArray<GuideStep> = [
    {
      title: "Run the example",
      isDone: runs.rows.length > 0,
      how: example !== undefined && <RunExample wid={example.id} />
    },
    {
      title: "Change it",
      isDone: isChanged,
      how: example !== undefined && (
        <p>
          Open <Link href={`/workflows/${example.id}`}>{example.name}</Link> and edit its code: what you type is saved
          as a draft.
        </p>
      )
    },
    {
      title: "Publish",
      isDone: isPublishedAgain || workflows.rows.length > 1,
      how: example !== undefined && (
        <p>
          On the page of <Link href={`/workflows/${example.id}`}>{example.name}</Link>, choose Publish: runs use the new
          version from then on.
        </p>
      )
    },
    {
      title: "Connect an account",
      isDone: connections.rows.length > 0,
      how: (
        <p>
          Choose a system in the <Link href="/connectors">catalogue</Link>, and connect a customer's account on it.
        </p>
      )
    },
    {
      title: "Receive a webhook",
      isDone: events.rows.length > 0,
      how: (
        <p>
          Create a <Link href="/triggers">trigger</Link> of the type webhook, and send to its address.
        </p>
      )
    }
  ]
  const done = steps.filter(({ isDone }) => isDone).length
  if (done === steps.length) return null
  const next = steps.findIndex(({ isDone }) => !isDone)
  return (
    <Card
      title={`First steps: ${done} of ${steps.length} done`}
      actions={
        <Button kind="plain" onClick={hide}>
          Hide
        </Button>
      }
    >
      <ol className="guide">
        {steps.map(({ how, isDone, title }, at) => (
          <li key={title} className={isDone ? "done" : at === next ? "next" : undefined}>
            <span className="tick" aria-hidden>
              {isDone ? "✓" : at + 1}
            </span>
            <div className="stack tight">
              <h3>
                {title} {isDone && <span className="unseen">(done)</span>}
              </h3>
              {at === next && how}
            </div>
          </li>
        ))}
      </ol>
    </Card>
  )
}

/** Records of one moment are new, not edited. */
const isEdited = (createdAt: string, updatedAt: string, version: number): boolean =>
  version > 1 && Date.parse(updatedAt) - Date.parse(createdAt) > 2_000

const RunExample = ({ wid }: { readonly wid: string }) => {
  const [, go] = useLocation()
  const start = useChange(
    async () => {
      const path = { params: { path: { workflowId: wid } }, body: { input: {} } }
      const answer = await client.POST("/api/v1/workflows/{workflowId}/run", path)
      await bodyOf(Promise.resolve(answer))
      // An Instant workflow answers with what it returns.
      return answer.response.headers.get("x-svc-execution-id")
    },
    { changes: ["/api/v1/executions"], done: (id) => id !== null && go(`/runs/${id}`) }
  )
  return (
    <>
      <div>
        <Button kind="main" needs="workflows:execute" isRunning={start.isRunning} onClick={() => start.run()}>
          Run it
        </Button>
      </div>
      <Problem error={start.error} />
    </>
  )
}
