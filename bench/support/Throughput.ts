/** Measures one path under load at 1, 16 and 64 connections, and adds a row to the table for each. */
import { load, type Server } from "./Children.js"
import type { Service } from "./Service.js"
import { Table } from "./Table.js"
import { machineMillis, readUsage, type Usage } from "./Usage.js"

export const makeTable = () =>
  new Table(
    "",
    "c",
    "per s",
    "p50 ms",
    "p99 ms",
    "errors",
    "cpu ms/req: own",
    "runners",
    "postgres",
    "MB: own",
    "runners",
    "others, cores"
  )

export interface Measurement {
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** CPU time of one request in milliseconds. */
  readonly cpu: Usage["cpu"]
  /** Requests that were answered. */
  readonly count: number
}

export interface Target {
  readonly name: string
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Default: POST. */
  readonly method?: "GET" | "POST"
  readonly usage: () => Usage
  /** Sent over WebSockets instead of requests. */
  readonly message?: string
}

export const serviceTarget = (service: Service, name: string, workflow: string): Target => ({
  name,
  port: service.port,
  path: `/api/v1/workflows/${workflow}/execute`,
  headers: service.headers,
  usage: service.usage
})

/** The target of a floor. Its Postgres is the service's and is not counted. */
export const floorTarget = (name: string, server: Server): Target => ({
  name,
  port: server.port,
  path: "/",
  headers: {},
  usage: () => readUsage(server.pid, -1)
})

export const levels = [1, 16, 64] as const
export type Level = (typeof levels)[number]

/** Seconds of each measurement; `SVC_BENCH_SECONDS` makes a quick run. */
const seconds = Number(process.env["SVC_BENCH_SECONDS"] ?? 6)

/** `SVC_BENCH_FLOORS=no` omits the floors, for quicker measurements while the service is changed. */
export const withFloors = process.env["SVC_BENCH_FLOORS"] !== "no"

const body = JSON.stringify({ input: { name: "you" } })

/** Runs load without measuring: V8 compiles hot functions only after thousands of calls. */
export const warmUp = async ({ headers, method = "POST", message, path, port }: Target): Promise<void> => {
  const said = message === undefined ? {} : { message }
  const order = { port, path, headers, method, body, connections: 64, warmupMillis: 0, millis: seconds * 1000, ...said }
  await load(order, () => 0)
}

/** Measures at one number of connections, and adds one row. */
export const measureAt = async (rows: Table, target: Target, connections: Level): Promise<Measurement> => {
  const { headers, message, method = "POST", path, port } = target
  const said = message === undefined ? {} : { message }
  const times = { warmupMillis: seconds * 500, millis: seconds * 1000 }
  const order = { port, path, headers, method, body, connections, ...times, ...said }
  const { after, before, result } = await load(order, () => ({ ...target.usage(), machine: machineMillis() }))
  const cpuSpent = (part: keyof Usage["cpu"]) => after.cpu[part] - before.cpu[part]
  const cpuPerRequest = (part: keyof Usage["cpu"]) => cpuSpent(part) / result.count
  const cpu = { own: cpuPerRequest("own"), runners: cpuPerRequest("runners"), postgres: cpuPerRequest("postgres") }
  const rest =
    after.machine - before.machine - cpuSpent("own") - cpuSpent("runners") - cpuSpent("postgres") - result.cpuMillis
  const { count, errors, p50, p99, perSecond } = result
  rows.add(
    target.name,
    connections,
    Math.round(perSecond),
    p50.toFixed(2),
    p99.toFixed(2),
    errors,
    cpu.own.toFixed(3),
    cpu.runners.toFixed(3),
    cpu.postgres.toFixed(3),
    Math.round(after.memory.own),
    Math.round(after.memory.runners),
    (rest / (seconds * 1000)).toFixed(2)
  )
  return { perSecond, p50, p99, cpu, count }
}

export const measure = async (rows: Table, target: Target): Promise<ReadonlyMap<Level, Measurement>> => {
  const measurements = new Map<Level, Measurement>()
  await warmUp(target)
  for (const connections of levels) measurements.set(connections, await measureAt(rows, target, connections))
  return measurements
}

/** Adds notes that compare the service with the best floor and with its targets. */
export const addVerdict = (
  rows: Table,
  own: ReadonlyMap<Level, Measurement>,
  floor: ReadonlyMap<Level, Measurement>,
  targets: {
    readonly mustPerSecond: number
    readonly aimPerSecond: number
    readonly mustP50: number
    readonly aimP50: number
  }
): void => {
  const peakRate = own.get(64)?.perSecond ?? 0
  const ratio = peakRate / (floor.get(64)?.perSecond ?? Number.NaN)
  const latency = own.get(1)?.p50 ?? Number.NaN
  const describeResult = (must: boolean, aim: boolean) => (aim ? "aim reached" : must ? "must reached" : "MISSED")
  rows.note(
    `c=64: ${Math.round(peakRate)}/s is ${ratio.toFixed(2)} of the floor; must ${targets.mustPerSecond}, aim ${targets.aimPerSecond}: ` +
      describeResult(peakRate >= targets.mustPerSecond, peakRate >= targets.aimPerSecond)
  )
  rows.note(
    `c=1: p50 ${latency.toFixed(2)} ms (floor ${floor.get(1)?.p50.toFixed(2)}); must ${targets.mustP50}, aim ${targets.aimP50}: ` +
      describeResult(latency <= targets.mustP50, latency <= targets.aimP50)
  )
}
