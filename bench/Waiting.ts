/**
 * What 1,000,000 waiting events cost a node that has nothing to do: memory, processor time, and the time of one pick from
 * the start queue. They wait for tomorrow, are held, or wait in one lane behind a run.
 */
import { setTimeout as pause } from "node:timers/promises"
import { sql } from "./support/Database.js"
import { publish, type Service, startService } from "./support/Service.js"
import { insertWaiting, settleOne, type WaitingEvents } from "./support/StoredEvents.js"
import { Table } from "./support/Table.js"

const count = Number(process.env["SVC_BENCH_WAITING"] ?? 1_000_000)
const seconds = Number(process.env["SVC_BENCH_SECONDS"] ?? 20)
/** For the sweeps that the insertion woke. */
const settlingMillis = 10_000

const kinds: ReadonlyArray<readonly [name: string, events: Omit<WaitingEvents, "count" | "priority">]> = [
  ["until tomorrow", { notBefore: "now() + interval '1 day'", flow: "'cus_' || n % 1000" }],
  ["held", { held: true, flow: "'cus_' || n % 1000" }],
  ["in an occupied lane", { lane: "'lane'" }]
]

/** One pick of 64 rows, which is rolled back; with the connection for it. */
const pick = `SELECT count(*) FROM svc_take_queued(ARRAY(SELECT generate_series(1, 300)), 64, 'bench', '1 second', '{}', '{}', '{}', '{}')`

const measurePick = async (service: Service): Promise<number> => {
  const times: Array<number> = []
  for (let i = 0; i < 9; i++) {
    const began = performance.now()
    await sql(service.admin("svc"), "BEGIN", pick, "ROLLBACK")
    times.push(performance.now() - began)
  }
  return times.sort((a, b) => a - b)[4] ?? Number.NaN
}

export const waiting = async (): Promise<void> => {
  const table = new Table("waiting events", "MB: own", "cores: own", "runners", "Postgres", "pick ms")
  const service = await startService()
  const workflowId = await publish(service, "last", "return 1", "standard")
  const event = { type: "event", name: "last", event: { type: "bench.last" }, routes: [{ workflowId }] }
  await service.call("POST", "/api/v1/triggers", event)
  const template = await settleOne(service, "/api/v1/events", { type: "bench.last", payload: { n: 1 } })
  const measure = async (name: string) => {
    await pause(settlingMillis)
    const before = service.usage()
    await pause(seconds * 1_000)
    const after = service.usage()
    const cores = (["own", "runners", "postgres"] as const).map((part) =>
      ((after.cpu[part] - before.cpu[part]) / (seconds * 1_000)).toFixed(4)
    )
    table.add(name, after.memory.own.toFixed(0), ...cores, (await measurePick(service)).toFixed(1))
  }
  await measure("none")
  for (const [name, events] of kinds) {
    await sql(
      service.admin("svc"),
      `INSERT INTO lanes (org, lane, execution_id) VALUES ('${service.dev.organisationId}', 'lane', 'exec_bench')
       ON CONFLICT DO NOTHING`
    )
    const began = performance.now()
    await insertWaiting(service, template, { ...events, count, priority: 4 })
    // What the insertion leaves to Postgres is not what the events cost later.
    await sql(service.admin("svc"), "VACUUM ANALYZE start_queue, events", "CHECKPOINT")
    table.note(`${name}: inserted in ${((performance.now() - began) / 1_000).toFixed(0)} s`)
    await measure(name)
    await sql(service.admin("svc"), "TRUNCATE start_queue, events, lanes", "VACUUM ANALYZE start_queue, events")
  }
  table.print(`A node with nothing to do beside ${count.toLocaleString("en")} waiting events`)
  await service.stop()
}
