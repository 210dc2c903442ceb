/** What the service counts. Each series is made once; counting is a look-up and an addition. */
import { Metric, MetricBoundaries } from "effect"

export type Surface = "execution" | "resource" | "operator"

/** A metric of which each label value has a series of its own, kept so that counting makes nothing. */
const series = <A>(make: (label: string) => A): ((label: string) => A) => {
  const known = new Map<string, A>()
  return (label) => {
    const found = known.get(label)
    if (found !== undefined) return found
    const made = make(label)
    known.set(label, made)
    return made
  }
}

const total = (name: string, description: string) => Metric.counter(name, { description, incremental: true })

const requests = total("svc_http_requests_total", "Requests answered, by surface and status.")
const requestsOf = series((label) => {
  const [surface = "", status = ""] = label.split(" ")
  return requests.pipe(Metric.tagged("surface", surface), Metric.tagged("status", status))
})

const durations = Metric.histogram(
  "svc_http_request_duration_seconds",
  MetricBoundaries.fromIterable([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]),
  "From the whole request to its answer, by surface."
)
const durationOf = series((surface) => Metric.tagged(durations, "surface", surface))

const limited = total("svc_http_rate_limited_total", "Requests refused with 429, by surface.")
const limitedOf = series((surface) => Metric.tagged(limited, "surface", surface))

const started = total("svc_runs_started_total", "Runs whose first row was committed.")
const finished = total("svc_runs_finished_total", "Runs that ended, by status.")
const finishedOf = series((status) => Metric.tagged(finished, "status", status))

const tooMany = 429

export const countRequest = (surface: Surface, status: number, millis: number): void => {
  requestsOf(`${surface} ${status}`).unsafeUpdate(1, [])
  durationOf(surface).unsafeUpdate(millis / 1000, [])
  if (status === tooMany) limitedOf(surface).unsafeUpdate(1, [])
}

export const countStarted = (): void => started.unsafeUpdate(1, [])
export const countFinished = (status: string): void => finishedOf(status).unsafeUpdate(1, [])
