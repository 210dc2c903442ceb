/** The runs of the last day by the hour, and what failed in it, in groups. */
import { lazy, Suspense, useMemo } from "react"
import { Link } from "wouter"
import type { ApiSchemas } from "../../api/Client.js"
import { useRead } from "../../api/Reads.js"
import { Card } from "../../ui/Page.js"
import { Loaded, Loading } from "../../ui/States.js"
import { Table } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"

const Chart = lazy(async () => ({ default: (await import("../../ui/usage/Chart.js")).Chart }))

type Bucket = ApiSchemas["ExecutionBucket"]

const hourMillis = 3_600_000
const hours = 24
/** They are counted once a minute. */
const every = 60_000

/** The beginning of the first of the last 24 hours. */
const firstHour = (): number => Math.floor(Date.now() / hourMillis) * hourMillis - (hours - 1) * hourMillis

export const RunsOverTime = () => {
  const from = firstHour()
  const found = useRead(
    "/api/v1/executions/stats",
    { params: { query: { bucket: "hour", from: new Date(from).toISOString() } } },
    { every }
  )
  const buckets = found.data?.data
  const { series, times } = useMemo(() => {
    const at = Array.from({ length: hours }, (_, hour) => from + hour * hourMillis)
    const known = new Map(buckets?.map((bucket) => [Date.parse(bucket.from), bucket]) ?? [])
    const count = (of: (bucket: Bucket) => number) =>
      at.map((time) => {
        const bucket = known.get(time)
        return bucket === undefined ? 0 : of(bucket)
      })
    return {
      times: at,
      series: [
        { name: "completed", color: "--good", values: count(({ completed }) => completed) },
        { name: "failed", color: "--bad", values: count(({ failed, timedOut }) => failed + timedOut) }
      ]
    }
  }, [buckets, from])
  return (
    <Card title="Ended runs, last 24 hours" actions={<Link href="/runs">All runs</Link>}>
      <Loaded of={found} what="the runs over time">
        {() => {
          const sums = series.map(
            ({ name, values }) => `${values.reduce((sum, one) => sum + one, 0).toLocaleString()} ${name}`
          )
          return (
            <Suspense fallback={<Loading what="the chart" />}>
              <p className="soft">{sums.join(", ")}. They are counted once a minute.</p>
              <Chart label={`Runs by the hour: ${sums.join(", ")}`} series={series} times={times} />
            </Suspense>
          )
        }}
      </Loaded>
    </Card>
  )
}

/** Failures of the last day by workflow, step and error, the most frequent first. */
export const FailureGroups = () => {
  const found = useRead("/api/v1/executions/failures", undefined, { every })
  const groups = found.data?.data ?? []
  if (groups.length === 0) return null
  return (
    <Card title="Failures, last 24 hours" flush>
      <Table
        label="Failures of the last 24 hours in groups"
        rows={groups.slice(0, 10)}
        keyOf={({ error, step, workflowId }) => `${workflowId} ${step} ${error}`}
        columns={[
          { name: "Error", of: ({ error }) => error },
          { name: "Step", of: ({ step }) => step ?? "–" },
          {
            name: "Workflow",
            of: ({ workflowId }) =>
              workflowId === null ? "several" : <Link href={`/workflows/${workflowId}`}>{workflowId}</Link>
          },
          { name: "Runs", isNumber: true, of: ({ count }) => count.toLocaleString() },
          { name: "Latest", of: ({ lastAt }) => <Time at={lastAt} /> },
          {
            name: "Example",
            of: ({ examples: [first] }) =>
              first === undefined ? "–" : <Link href={`/runs/${first}`}>{`…${first.slice(-6)}`}</Link>
          }
        ]}
      />
    </Card>
  )
}
