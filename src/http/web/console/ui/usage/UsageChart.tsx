/** Runs and events by day; the code that draws it is loaded when it is shown. */
import { lazy, Suspense, useMemo } from "react"
import { useRead } from "../../api/Reads.js"
import { Loaded, Loading } from "../States.js"

const Chart = lazy(async () => ({ default: (await import("./Chart.js")).Chart }))

/** Its figures are counted every hour. */
const every = 300_000

export const UsageChart = () => {
  const found = useRead("/api/v1/quota/daily", undefined, { every })
  const days = found.data?.data
  const series = useMemo(
    () => [
      { name: "runs", color: "--busy", values: days?.map(({ executions }) => executions) ?? [] },
      { name: "events", color: "--good", values: days?.map(({ events }) => events) ?? [] }
    ],
    [days]
  )
  const times = useMemo(() => days?.map(({ date }) => Date.parse(date)) ?? [], [days])
  return (
    <Loaded of={found} what="the use by day">
      {({ data }) => {
        const sum = (count: (day: (typeof data)[number]) => number) =>
          data.reduce((total, day) => total + count(day), 0).toLocaleString()
        const label = `${sum(({ executions }) => executions)} runs and ${sum(({ events }) => events)} events in ${data.length} days`
        return (
          <Suspense fallback={<Loading what="the chart" />}>
            <p className="soft">{label}</p>
            <Chart label={label} series={series} times={times} />
          </Suspense>
        )
      }}
    </Loaded>
  )
}
