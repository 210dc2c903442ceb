/** The page that Prometheus scrapes: counters, and gauges that are read at the scrape. */
import { Clock, Effect, Metric, Option } from "effect"
import { memoryUsage, uptime } from "node:process"
import { LiveRuns } from "../../actors/execution/LiveRuns.js"
import { OutwardPlaces } from "../../actors/Places.js"
import { AuditTrail } from "../../actors/ports/AuditTrail.js"
import { Egress, type EgressReadings } from "../../actors/ports/Egress.js"
import { EventStream } from "../../actors/ports/event/EventStream.js"
import { HeldBytes, type LedgerReadings } from "../../actors/ports/HeldBytes.js"
import { FailedJobs } from "../../actors/ports/FailedJobs.js"
import { StartQueue } from "../../actors/ports/run/StartQueue.js"
import { BackgroundTasks, isFailing, type TaskStatus } from "../../actors/ports/BackgroundTasks.js"
import { isWorking, type ShardReading, ShardWatch } from "../../actors/shard/ShardWatch.js"
import type { RawReply } from "../../http/Wire.js"
import { DatabaseTrouble, type TroubleRegistry } from "../../actors/ports/DatabaseTrouble.js"
import { contentType, exposition, type Gauge } from "./Exposition.js"
import { JournalDepth } from "../../actors/ports/run/Journal.js"
import { conditionOf } from "./SqlStates.js"

const gauge = (name: string, help: string, value: number): Gauge => ({ name, help, type: "gauge", value })
const counter = (name: string, help: string, value: number): Gauge => ({ name, help, type: "counter", value })

const processReadings = (): ReadonlyArray<Gauge> => {
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

const ledgerReadings = ({ capacity, held, refused, waiting }: LedgerReadings): ReadonlyArray<Gauge> => [
  gauge("svc_held_capacity_bytes", "Memory for bytes from outside, in bytes.", capacity),
  ...Object.entries(held).map(([kind, bytes]) => ({
    ...gauge("svc_held_bytes", "Bytes from outside in memory, by kind.", bytes),
    labels: { kind }
  })),
  gauge("svc_held_waiting", "Pieces of work that wait for room.", waiting),
  counter("svc_held_refused_total", "Pieces of work that found no room in time.", refused)
]

const egressReadings = ({ capacity, open, refused, waiting }: EgressReadings): ReadonlyArray<Gauge> => [
  gauge("svc_egress_connections_capacity", "Outgoing connections that the node may have.", capacity),
  gauge("svc_egress_connections", "Outgoing connections, in use and idle.", open),
  gauge("svc_egress_waiting", "Requests that wait for a connection.", waiting),
  counter("svc_egress_refused_total", "Requests for which no connection was free in time.", refused)
]

const placeReadings = (all: OutwardPlaces["Type"]): ReadonlyArray<Gauge> =>
  [...all].flatMap(([use, places]) => {
    const { held, slow, waiting } = places.readings()
    const labels = { use }
    return [
      { ...gauge("svc_places_held", "Places for work at partners outside that are taken, by use.", held), labels },
      { ...gauge("svc_places_slow", "Those of them that slow partners have.", slow), labels },
      { ...gauge("svc_places_waiting", "Requests that wait for such a place.", waiting), labels }
    ]
  })

const databaseReadings = (trouble: TroubleRegistry): ReadonlyArray<Gauge> => [
  ...[...trouble.errors()].map(([sqlState, errors]) => ({
    ...counter("svc_database_errors_total", "Errors that Postgres answered, by condition and SQLSTATE.", errors),
    labels: { condition: conditionOf(sqlState) ?? "unknown", sqlstate: sqlState }
  })),
  ...trouble.ongoing().map(({ condition }) => ({
    ...gauge("svc_database_refusing", "Whether Postgres refuses work for a cause to remove, by condition.", 1),
    labels: { condition: condition.name }
  }))
]

const shardReadings = (reading: ShardReading): ReadonlyArray<Gauge> => [
  gauge("svc_shards_held", "Shards that this node holds.", reading.held),
  gauge(
    "svc_shards_unanswered",
    "Those of them that were asked, and did not answer in time.",
    reading.unanswered.length
  ),
  gauge("svc_shards_working", "Whether the node does the work of its shards.", isWorking(reading) ? 1 : 0)
]

const taskReadings = (status: TaskStatus, now: number): ReadonlyArray<Gauge> => {
  const labels = { task: status.name }
  return [
    { ...counter("svc_task_failures_total", "Passes of a background task that failed.", status.failures), labels },
    {
      ...gauge("svc_task_failing", "Whether the background task has stopped working.", isFailing(status, now) ? 1 : 0),
      labels
    },
    {
      ...gauge(
        "svc_task_last_success_timestamp_seconds",
        "When a pass of the background task last succeeded, in Unix seconds; 0 before the first.",
        (status.succeededAt ?? 0) / 1000
      ),
      labels
    },
    ...(status.remaining === null
      ? []
      : [
          {
            ...gauge("svc_task_remaining_jobs", "Jobs left, of a task with a fixed number of them.", status.remaining),
            labels
          }
        ])
  ]
}

export const make = Effect.gen(function* () {
  const live = yield* LiveRuns
  const depth = yield* JournalDepth
  const trail = yield* AuditTrail
  const tasks = yield* BackgroundTasks
  const stream = yield* EventStream
  const queue = yield* StartQueue
  const failedJobs = yield* FailedJobs
  const ledger = yield* HeldBytes
  const egress = yield* Egress
  const trouble = yield* DatabaseTrouble
  const places = yield* OutwardPlaces
  const shards = yield* ShardWatch

  /** Empty while the database does not answer. */
  const auditReadings = Effect.map(Effect.option(trail.backlog), (backlog): ReadonlyArray<Gauge> =>
    Option.match(backlog, {
      onNone: () => [],
      onSome: ({ oldestSeconds, unsealed }) => [
        gauge("svc_audit_unsealed", "Audit entries that wait for their seal.", unsealed),
        gauge("svc_audit_oldest_unsealed_seconds", "Age of the oldest of them, in seconds.", oldestSeconds)
      ]
    })
  )

  /** Without the queue's figures while the database does not answer. */
  const eventReadings = Effect.gen(function* () {
    const { carried, ok } = yield* stream.status
    const backlog = yield* Effect.option(queue.backlog)
    return [
      gauge("svc_event_stream_open", "Whether events take the configured way.", ok ? 1 : 0),
      gauge("svc_event_stream_carried", "Events that the broker carries for this node.", carried),
      ...Option.match(backlog, {
        onNone: () => [],
        onSome: ({ dead, held, leased, oldestSeconds, waiting }) => [
          gauge("svc_queue_waiting", "Runs and events that wait for a slot; at most 100,000.", waiting),
          gauge("svc_queue_oldest_seconds", "Age of the oldest of them, in seconds.", oldestSeconds),
          gauge("svc_queue_leased", "Events that a node dispatches; at most 100,000.", leased),
          gauge("svc_events_held", "Events that are held; at most 100,000.", held),
          gauge("svc_dead_letters", "Dead letters that wait for a replay; at most 100,000.", dead)
        ]
      })
    ]
  })

  /** Empty while the database does not answer. */
  const jobReadings = Effect.map(Effect.option(failedJobs.setAside), (found): ReadonlyArray<Gauge> =>
    Option.getOrElse(found, () => []).map(({ jobs, task }) => ({
      ...gauge("svc_task_jobs_set_aside", "Stored jobs that failed three times in a row, by task.", jobs),
      labels: { task }
    }))
  )

  const scrape: Effect.Effect<RawReply> = Effect.gen(function* () {
    const pairs = yield* Metric.snapshot
    const now = yield* Clock.currentTimeMillis
    const audit = yield* auditReadings
    return {
      status: 200,
      headers: { "content-type": contentType },
      // As bytes, which exist once for all who ask at the same time.
      body: Buffer.from(
        exposition(pairs, [
          ...processReadings(),
          gauge("svc_runs_live", "Runs that this node drives now.", live.size()),
          gauge("svc_journal_queue_depth", "Changes of runs that wait for their commit.", depth()),
          ...shardReadings(shards.reading()),
          ...ledgerReadings(ledger.readings()),
          ...egressReadings(yield* egress.readings),
          ...placeReadings(places),
          ...databaseReadings(trouble),
          ...audit,
          ...(yield* eventReadings),
          ...(yield* jobReadings),
          ...tasks.statuses().flatMap((status) => taskReadings(status, now))
        ])
      )
    }
  })

  return { scrape }
})
