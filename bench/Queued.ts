/**
 * Starts that are answered 202: how fast a burst is accepted and drained, and the time that a single run waits for its
 * start. With `--compare`, on two builds in turns.
 */
import { setTimeout as pause } from "node:timers/promises"
import { sql } from "./support/Database.js"
import { publish, type Service, startService } from "./support/Service.js"
import { Table } from "./support/Table.js"

const rounds = Number(process.env["SVC_BENCH_ROUNDS"] ?? 3)
const burst = 3_000
const connections = 64
const singles = 250
const singlePauseMillis = 20

interface Figures {
  readonly acks: number
  readonly drained: number
  readonly p50: number
  readonly p99: number
}

const countFinished = async (service: Service): Promise<number> =>
  Number((await sql(service.admin("svc"), "SELECT count(*) AS n FROM executions"))[0]?.["n"])

const awaitFinished = async (service: Service, count: number): Promise<void> => {
  while ((await countFinished(service)) < count) await pause(20)
}

const measureBuild = async (service: Service, workflow: string): Promise<Figures> => {
  const start = () => service.call("POST", `/api/v1/workflows/${workflow}/execute`, { input: {} })
  const before = await countFinished(service)
  const began = performance.now()
  let left = burst
  const client = async () => {
    while (left-- > 0) await start()
  }
  await Promise.all(Array.from({ length: connections }, client))
  const accepted = performance.now()
  await awaitFinished(service, before + burst)
  const drained = performance.now()
  const [since] = await sql(service.admin("svc"), "SELECT max(id) AS id FROM executions")
  for (let i = 0; i < singles; i++) await Promise.all([start(), pause(singlePauseMillis)])
  await awaitFinished(service, before + burst + singles)
  const [p50, p99] = await sql(
    service.admin("svc"),
    `SELECT unnest(percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP
       (ORDER BY (record->>'startedAt')::float8 - (record->>'createdAt')::float8)) AS millis
     FROM executions WHERE id > '${String(since?.["id"])}'`
  )
  return {
    acks: (burst * 1_000) / (accepted - began),
    drained: (burst * 1_000) / (drained - began),
    p50: Number(p50?.["millis"]),
    p99: Number(p99?.["millis"])
  }
}

export const queued = async (): Promise<void> => {
  const other = process.env["SVC_BENCH_OTHER"]
  const table = new Table("build", "round", "acks/s", "drained/s", "wait p50, ms", "wait p99, ms")
  const builds: Array<{ readonly name: string; readonly service: Service; readonly workflow: string }> = []
  for (const [name, program] of [["this", "dist/svc.js"] as const, ["other", other] as const]) {
    if (program === undefined) continue
    const service = await startService({ program })
    builds.push({ name, service, workflow: await publish(service, "queued", "return 1", "standard") })
  }
  for (const { service, workflow } of builds) await measureBuild(service, workflow)
  for (let round = 1; round <= rounds; round++) {
    for (const { name, service, workflow } of round % 2 === 0 ? builds : builds.toReversed()) {
      const { acks, drained, p50, p99 } = await measureBuild(service, workflow)
      table.add(name, round, acks.toFixed(0), drained.toFixed(0), p50.toFixed(1), p99.toFixed(1))
    }
  }
  for (const { service } of builds) {
    service.child.kill("SIGTERM")
    await service.child.ended
  }
  table.print(`Starts answered 202: bursts of ${burst} at ${connections} connections, then singles`)
}
