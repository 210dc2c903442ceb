/** The metrics of the service. Each series is created once; counting is a look-up and an addition. */
import { Metric, MetricBoundaries, MetricKey, MetricLabel } from "effect"
import { memoize } from "../../domain/RecentMap.js"

/** Which requests a count is of: a label of the metrics. */
export type Surface = "execution" | "resource" | "webhook" | "rpc" | "mcp" | "operator"

const total = (name: string, description: string) => MetricKey.counter(name, { description, incremental: true })
/** Puts labels into the metric's key, so that it looks its value up once instead of at every count. */
const labels = (named: { readonly [name: string]: string }) =>
  Object.entries(named).map(([name, value]) => MetricLabel.make(name, value))

const requests = total("svc_http_requests_total", "Requests answered, by surface and status.")
const requestsOf = memoize((label) => {
  const [surface = "", status = ""] = label.split(" ")
  return Metric.fromMetricKey(MetricKey.taggedWithLabels(requests, labels({ surface, status })))
})

const durations = MetricKey.histogram(
  "svc_http_request_duration_seconds",
  MetricBoundaries.fromIterable([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]),
  "From the whole request to its answer, by surface."
)
const durationOf = memoize((surface) =>
  Metric.fromMetricKey(MetricKey.taggedWithLabels(durations, labels({ surface })))
)

const limited = total("svc_http_rate_limited_total", "Requests refused with 429, by surface.")
const limitedOf = memoize((surface) => Metric.fromMetricKey(MetricKey.taggedWithLabels(limited, labels({ surface }))))

const dropped = total(
  "svc_connections_dropped_total",
  "Connections of clients that gave way to new ones or asked for too much at once (closed), or found no place (refused)."
)
const droppedOf = memoize((outcome) => Metric.fromMetricKey(MetricKey.taggedWithLabels(dropped, labels({ outcome }))))

const started = Metric.fromMetricKey(total("svc_runs_started_total", "Runs whose first row was committed."))
const finished = total("svc_runs_finished_total", "Runs that ended, by status.")
const finishedOf = memoize((status) => Metric.fromMetricKey(MetricKey.taggedWithLabels(finished, labels({ status }))))

const tooMany = 429
const none: ReadonlyArray<MetricLabel.MetricLabel> = []

/** Counts an answered request with its duration; one that a limit refused (429) is counted as such, too. */
export const countRequest = (surface: Surface, status: number, millis: number): void => {
  requestsOf(`${surface} ${status}`).unsafeUpdate(1, none)
  durationOf(surface).unsafeUpdate(millis / 1000, none)
  if (status === tooMany) limitedOf(surface).unsafeUpdate(1, none)
}

/** Counts a connection that ended before its request could be answered. */
export const countDropped = (outcome: "closed" | "refused"): void => droppedOf(outcome).unsafeUpdate(1, none)
export const countStarted = (): void => started.unsafeUpdate(1, none)
export const countFinished = (status: string): void => finishedOf(status).unsafeUpdate(1, none)
