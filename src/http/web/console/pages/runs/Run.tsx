/** One run: its steps over time, values, log, approvals, and what it came from. */
import { useEffect, useMemo, useState } from "react"
import { Link, useParams } from "wouter"
import type { ApiSchemas } from "../../api/Client.js"
import { useList, useRead } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { CopyText } from "../../ui/CopyText.js"
import { JsonValue } from "../../ui/JsonValue.js"
import { Card, Facts, Page } from "../../ui/Page.js"
import { Loaded } from "../../ui/States.js"
import { Tabs } from "../../ui/Tabs.js"
import { durationText, Time } from "../../ui/Time.js"
import { OpenApprovals } from "../approvals/OpenApprovals.js"
import { Reruns } from "./Reruns.js"
import { RunActions } from "./RunActions.js"
import { RunDiagram } from "./RunDiagram.js"
import { RunLogs } from "./RunLogs.js"
import { StepDetail } from "./StepDetail.js"
import { rangeOf, timeByKind, type TraceStep } from "./trace.js"
import { useTrace } from "./useTrace.js"
import { Waterfall } from "./Waterfall.js"

type Execution = ApiSchemas["Execution"]

const isOpen = ({ status }: Execution): boolean => status === "pending" || status === "running"

export const Run = () => {
  const { exec: eid = "" } = useParams()
  const run = useRead("/api/v1/executions/{eid}", { params: { path: { eid } } })
  const found = run.data?.data
  return (
    <Page
      title={found?.workflowName ?? "Run"}
      above={[{ name: "Runs", to: "/runs" }]}

      beside={found !== undefined && <Badge word={found.status} />}
      actions={found !== undefined && <RunActions run={found} />}
    >
      <Loaded of={run} what="the run">
        {({ data }) => <Parts key={data.id} run={data} />}
      </Loaded>
    </Page>
  )
}

const Parts = ({ run: read }: { readonly run: Execution }) => {
  const { hasMore, isReadingMore, more, run, steps } = useTrace(read)
  const logs = useList("/api/v1/executions/{eid}/logs", {}, { path: { eid: run.id }, pageSize: 200 })
  return (
    <div className="stack">
      <Outcome run={run} />
      {run.waiting !== null && <Waiting waiting={run.waiting} />}
      <OpenApprovals executionId={run.id} isRunning={isOpen(run)} />
      <Tabs
        label="Parts of the run"
        tabs={[
          {
            id: "steps",
            name: `Steps (${run.metrics === null ? steps.length : countOf(run, steps)})`,
            of: () => (
              <Steps
                run={run}
                steps={steps}
                logs={logs.rows}
                hasMore={hasMore}
                isReadingMore={isReadingMore}
                more={more}
              />
            )
          },
          {
            id: "values",
            name: "Input and output",
            of: () => (
              <div className="columns">
                <Card title="Input">
                  <JsonValue name={`${run.id}-input`} value={run.input} />
                </Card>
                <Card title="Output">
                  <JsonValue name={`${run.id}-output`} value={run.output} />
                </Card>
              </div>
            )
          },
          { id: "log", name: "Log", of: () => <RunLogs list={logs} /> },
          {
            id: "diagram",
            name: "Diagram",
            of: () => <RunDiagram run={run} />
          },
          { id: "about", name: "About", of: () => <About run={run} steps={steps} /> }
        ]}
      />
    </div>
  )
}

const countOf = ({ metrics }: Execution, steps: ReadonlyArray<TraceStep>): number => {
  const total = (metrics as { readonly totalSteps?: number } | null)?.totalSteps ?? 0
  return Math.max(total, steps.length)
}

const Outcome = ({ run }: { readonly run: Execution }) => {
  const error = run.error as { readonly message?: string; readonly code?: string; readonly step?: string | null } | null
  return error === null ? null : (
    <div className="notice bad stack tight">
      <p>{error.message ?? "The run failed."}</p>
      <p className="soft">
        {error.code}
        {error.step !== null && error.step !== undefined && ` in ${error.step}`}
        {run.statusReason !== null && ` · ${run.statusReason}`}
      </p>
    </div>
  )
}

const Waiting = ({ waiting }: { readonly waiting: NonNullable<Execution["waiting"]> }) => (
  <div className="notice">
    <p>
      Waits for {waiting.kind}
      {waiting.step !== null && ` in ${waiting.step}`}, until <Time at={waiting.until} isExact />
    </p>
  </div>
)

const Steps = ({
  hasMore,
  isReadingMore,
  logs,
  more,
  run,
  steps
}: Pick<ReturnType<typeof useTrace>, "hasMore" | "isReadingMore" | "more" | "run" | "steps"> & {
  readonly logs: Parameters<typeof StepDetail>[0]["logs"]
}) => {
  const [index, setIndex] = useState<number>()
  const now = useClock(isOpen(run))
  const range = rangeOf(run, now)
  const chosen = useMemo(() => steps.find((step) => step.index === index), [index, steps])
  return (
    <div className={chosen === undefined ? "stack" : "run-parts"}>
      <div className="stack tight">
        <Waterfall steps={steps} range={range} now={now} chosen={chosen} choose={(step) => setIndex(step.index)} />
        {hasMore && (
          <p className="row">
            <span className="soft">Only the first {steps.length.toLocaleString()} steps are read.</span>
            <button type="button" className="button" onClick={more} aria-busy={isReadingMore || undefined}>
              {isReadingMore ? "Reading …" : "Read the rest"}
            </button>
          </p>
        )}
      </div>
      {chosen !== undefined && <StepDetail step={chosen} logs={logs} now={now} />}
    </div>
  )
}

/** The time, which goes on ten times a second while `isRunning`. */
const useClock = (isRunning: boolean): number => {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    if (!isRunning) return undefined
    const timer = setInterval(() => setNow(Date.now()), 100)
    return () => clearInterval(timer)
  }, [isRunning])
  return now
}

const About = ({ run, steps }: { readonly run: Execution; readonly steps: ReadonlyArray<TraceStep> }) => {
  const { eventId, id, keyName, type } = run.trigger
  const times = timeByKind(steps, Date.now())
  const metrics = run.metrics as {
    readonly queuedMs?: number
    readonly peakSandboxMB?: number
    readonly calls?: number
  } | null
  return (
    <div className="columns">
      <Card title="What it came from">
        <Facts
          facts={[
            ["Run", <CopyText key="id" text={run.id} />],
            [
              "Workflow",
              <Link key="workflow" href={`/workflows/${run.workflowId}`}>
                {run.workflowName}
                {run.workflowVersion === null ? ", draft" : `, version ${run.workflowVersion}`}
              </Link>
            ],
            ["Environment", run.environment],
            [
              "Customer",
              run.customerId === null ? (
                "–"
              ) : (
                <Link key="customer" href={`/customers/${run.customerId}`}>
                  {run.customerRef ?? run.customerId}
                </Link>
              )
            ],
            ["Started by", <Starter key="starter" type={type} id={id} keyName={keyName} />],
            ["Event", eventId === null ? "–" : <Link href={`/events/${eventId}`}>{eventId}</Link>],
            [
              "Started again from",
              run.parentId === null ? "–" : <Link href={`/runs/${run.parentId}`}>{run.parentId}</Link>
            ],
            ["Tier", run.tier],
            ["Priority", `P${run.priority}`],
            ["Attempt", `${run.attempt} of ${run.maxAttempts}`],
            ["Connector calls", run.mock === "none" ? "real" : `mocked: ${run.mock}`]
          ]}
        />
      </Card>
      <Card title="Where its time went">
        <Facts
          facts={[
            ["Created", <Time key="created" at={run.createdAt} isExact />],
            ["Started", <Time key="started" at={run.startedAt} isExact />],
            ["Ended", <Time key="ended" at={run.finishedAt} isExact />],
            ["Duration", run.durationMs === null ? "–" : durationText(run.durationMs)],
            ["In the queue", durationText(metrics?.queuedMs ?? 0)],
            ["Providers", durationText(times.attempt + times["failed attempt"])],
            ["Waiting for places", durationText(times.waiting)],
            ["Between attempts", durationText(times["back-off"])],
            ["Calls", (metrics?.calls ?? 0).toLocaleString()],
            ["Memory at most", `${metrics?.peakSandboxMB ?? 0} MB`]
          ]}
        />
      </Card>
      <Reruns id={run.id} />
      {run.metadata !== null && (
        <Card title="Metadata">
          <JsonValue name={`${run.id}-metadata`} value={run.metadata} />
        </Card>
      )}
    </div>
  )
}

const Starter = ({
  id,
  keyName,
  type
}: {
  readonly type: string
  readonly id: string | null
  readonly keyName: string | null
}) => {
  if (id?.startsWith("trg_")) return <Link href={`/triggers/${id}`}>{type.replaceAll("_", " ")}</Link>
  if (id?.startsWith("usr_")) return <Link href="/people">a person</Link>
  return <>{keyName === null ? type.replaceAll("_", " ") : `${type.replaceAll("_", " ")}, key “${keyName}”`}</>
}
