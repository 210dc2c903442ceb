/** Load on one path at one, 16 and 64 connections, as rows of the table. */
import { load, type Server } from "./Children.js"
import type { Service } from "./Service.js"
import { Table } from "./Table.js"
import { machineMillis, type Usage, usage } from "./Usage.js"

export const table = () =>
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

export interface Measured {
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Processor time of one request in milliseconds. */
  readonly cpu: Usage["cpu"]
}

export interface Target {
  readonly name: string
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly usage: () => Usage
}

export const serviceTarget = (service: Service, name: string, workflow: string): Target => ({
  name,
  port: service.port,
  path: `/api/v1/workflows/${workflow}/execute`,
  headers: service.headers,
  usage: service.usage
})

/** A floor runs on the service's Postgres. */
export const floorTarget = (name: string, server: Server): Target => ({
  name,
  port: server.port,
  path: "/",
  headers: {},
  usage: () => usage(server.pid, -1)
})

export const levels = [1, 16, 64] as const
export type Level = (typeof levels)[number]

/** Seconds of each measurement; `SVC_BENCH_SECONDS` makes a quick run. */
const seconds = Number(process.env["SVC_BENCH_SECONDS"] ?? 6)

/** `SVC_BENCH_FLOORS=no` leaves them out, for who changes the service and measures often. */
export const withFloors = process.env["SVC_BENCH_FLOORS"] !== "no"

const body = JSON.stringify({ input: { name: "you" } })

/** What is measured has been running for a while, as servers do: V8 compiles what is hot only after thousands of calls. */
export const warmUp = async ({ headers, path, port }: Target): Promise<void> => {
  await load({ port, path, headers, body, connections: 64, warmupMillis: 0, millis: seconds * 1000 }, () => 0)
}

/** One level, as one row. */
export const measureAt = async (rows: Table, target: Target, connections: Level): Promise<Measured> => {
  const { headers, path, port } = target
  const order = { port, path, headers, body, connections, warmupMillis: seconds * 500, millis: seconds * 1000 }
  const { after, before, result } = await load(order, () => ({ ...target.usage(), machine: machineMillis() }))
  const spent = (part: keyof Usage["cpu"]) => after.cpu[part] - before.cpu[part]
  const each = (part: keyof Usage["cpu"]) => spent(part) / result.count
  const cpu = { own: each("own"), runners: each("runners"), postgres: each("postgres") }
  const rest = after.machine - before.machine - spent("own") - spent("runners") - spent("postgres") - result.cpuMillis
  const { count: _, errors, p50, p99, perSecond } = result
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
  return { perSecond, p50, p99, cpu }
}

export const measure = async (rows: Table, target: Target): Promise<ReadonlyMap<Level, Measured>> => {
  const found = new Map<Level, Measured>()
  await warmUp(target)
  for (const connections of levels) found.set(connections, await measureAt(rows, target, connections))
  return found
}

/** How the service stands to the best floor and to its targets. */
export const verdict = (
  rows: Table,
  own: ReadonlyMap<Level, Measured>,
  floor: ReadonlyMap<Level, Measured>,
  targets: {
    readonly mustPerSecond: number
    readonly aimPerSecond: number
    readonly mustP50: number
    readonly aimP50: number
  }
): void => {
  const most = own.get(64)?.perSecond ?? 0
  const ratio = most / (floor.get(64)?.perSecond ?? Number.NaN)
  const latency = own.get(1)?.p50 ?? Number.NaN
  const word = (must: boolean, aim: boolean) => (aim ? "aim reached" : must ? "must reached" : "MISSED")
  rows.note(
    `c=64: ${Math.round(most)}/s is ${ratio.toFixed(2)} of the floor; must ${targets.mustPerSecond}, aim ${targets.aimPerSecond}: ` +
      word(most >= targets.mustPerSecond, most >= targets.aimPerSecond)
  )
  rows.note(
    `c=1: p50 ${latency.toFixed(2)} ms (floor ${floor.get(1)?.p50.toFixed(2)}); must ${targets.mustP50}, aim ${targets.aimP50}: ` +
      word(latency <= targets.mustP50, latency <= targets.aimP50)
  )
}
