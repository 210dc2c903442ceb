/** The page that a Prometheus server reads: what was counted, and what is so right now. */
import { Effect, Metric } from "effect"
import { memoryUsage, uptime } from "node:process"
import { LiveRuns } from "../../actors/execution/LiveRuns.js"
import type { RawReply } from "../../http/Wire.js"
import { contentType, exposition, type Reading } from "./Exposition.js"
import { JournalDepth } from "./JournalMetrics.js"

const gauge = (name: string, help: string, value: number): Reading => ({ name, help, type: "gauge", value })
const counter = (name: string, help: string, value: number): Reading => ({ name, help, type: "counter", value })

const processReadings = (): ReadonlyArray<Reading> => {
  const { system, user } = process.cpuUsage()
  const { active, idle } = performance.eventLoopUtilization()
  const memory = memoryUsage()
  return [
    counter("process_cpu_seconds_total", "Time that the process computed, in seconds.", (user + system) / 1e6),
    gauge(
      "process_start_time_seconds",
      "When the process began, in Unix seconds.",
      Math.round(Date.now() / 1000 - uptime())
    ),
    gauge("process_resident_memory_bytes", "Memory of the process, in bytes.", memory.rss),
    gauge("nodejs_heap_used_bytes", "JavaScript heap in use, in bytes.", memory.heapUsed),
    gauge("nodejs_external_memory_bytes", "Memory of buffers, in bytes.", memory.external),
    counter("nodejs_eventloop_active_seconds_total", "Time that the event loop was busy, in seconds.", active / 1000),
    counter("nodejs_eventloop_idle_seconds_total", "Time that the event loop waited, in seconds.", idle / 1000)
  ]
}

export const make = Effect.gen(function* () {
  const live = yield* LiveRuns
  const depth = yield* JournalDepth

  const scrape: Effect.Effect<RawReply> = Effect.map(Metric.snapshot, (pairs) => ({
    status: 200,
    headers: { "content-type": contentType },
    body: exposition(pairs, [
      ...processReadings(),
      gauge("svc_runs_live", "Runs that this node drives now.", live.size()),
      gauge("svc_journal_queue_depth", "Changes of runs that wait for their commit.", depth())
    ])
  }))

  return { scrape }
})
