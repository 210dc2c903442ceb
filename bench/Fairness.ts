/**
 * How the starts of a node are divided while more waits than it can start: between ten organisations, of which one floods
 * through 300 customers, and between the four classes of priority.
 */
import { setTimeout as pause } from "node:timers/promises"
import { createSecondOrganisation } from "../test/support/secondOrganisation.js"
import { jain } from "../test/support/jain.js"
import { sql } from "./support/Database.js"
import { publish, type Service, startService } from "./support/Service.js"
import { countWaiting, insertWaiting, settleOne } from "./support/StoredEvents.js"
import { Table } from "./support/Table.js"

const organisations = 10
const seconds = 10
const flood = { count: 12_000, flow: "'cus_' || n % 300" }
const others = { count: 4_000, flow: "''" }
const classes = [
  { priority: 1, count: 16_000 },
  { priority: 2, count: 8_000 },
  { priority: 3, count: 5_000 },
  { priority: 4, count: 4_000 }
] as const

/** The service as another organisation sees it. */
const asOrganisation = (service: Service, apiKey: string): Service => ({
  ...service,
  call: async (method, path, body) => {
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" }
    const init = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(`http://127.0.0.1:${service.port}${path}`, { method, headers, ...init })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return JSON.parse(text)
  }
})

/** An event of the organisation that was settled, to be copied. */
const settledEvent = async (service: Service): Promise<string> => {
  const workflowId = await publish(service, "last", "return 1", "standard")
  const event = { type: "event", name: "last", event: { type: "bench.last" }, routes: [{ workflowId }] }
  await service.call("POST", "/api/v1/triggers", event)
  return settleOne(service, "/api/v1/events", { type: "bench.last", payload: { n: 1 } })
}

/** The events that were settled so far, by an expression of SQL. */
const countSettled = async (service: Service, by: string): Promise<ReadonlyMap<string, number>> => {
  const rows = await sql(
    service.admin("svc"),
    `SELECT ${by} AS name, count(*)::int AS n FROM event_records WHERE status = 'delivered' GROUP BY 1 ORDER BY 1`
  )
  return new Map(rows.map(({ n, name }) => [String(name), Number(n)]))
}

/** How many events were settled within the bench's seconds, by an expression of SQL. */
const measureShares = async (service: Service, by: string): Promise<ReadonlyMap<string, number>> => {
  await pause(2_000)
  const before = await countSettled(service, by)
  await pause(seconds * 1_000)
  const after = await countSettled(service, by)
  const left = await sql(service.admin("svc"), "SELECT org, priority FROM start_queue GROUP BY 1, 2")
  if (left.length < (by === "org" ? organisations : classes.length))
    throw new Error(`a backlog ended before the measurement: ${JSON.stringify([...left, ...after])}`)
  return new Map([...after].map(([name, n]) => [name, n - (before.get(name) ?? 0)]))
}

const drain = async (service: Service): Promise<void> => {
  while ((await countWaiting(service)) > 0) await pause(200)
}

export const fairness = async (): Promise<void> => {
  const table = new Table("divided between", "starts/s", "shares, %")
  const service = await startService()
  const add = (name: string, shares: ReadonlyMap<string, number>): ReadonlyArray<number> => {
    const counts = [...shares.values()]
    const sum = counts.reduce((a, b) => a + b, 0)
    table.add(name, (sum / seconds).toFixed(0), counts.map((n) => ((n * 100) / sum).toFixed(1)).join(" "))
    return counts
  }
  const events = [await settledEvent(service)]
  for (let i = 1; i < organisations; i++) {
    const key = await createSecondOrganisation(service.dataDir, `Bench ${i}`)
    events.push(await settledEvent(asOrganisation(service, key)))
  }
  for (const [i, event] of events.entries())
    await insertWaiting(service, event, { ...(i === 0 ? flood : others), priority: 4 })
  const byOrganisation = add("ten organisations, one floods", await measureShares(service, "org"))
  table.note(`Jain's index over the organisations: ${jain(byOrganisation).toFixed(4)}; must 0.95`)
  await drain(service)
  const [first] = events
  if (first === undefined) throw new Error("no event")
  for (const { count, priority } of classes) await insertWaiting(service, first, { count, flow: "''", priority })
  const byClass = add("classes P1 to P4", await measureShares(service, "priority"))
  const share = ((byClass[3] ?? 0) * 100) / byClass.reduce((a, b) => a + b, 0)
  table.note(`the share of P4: ${share.toFixed(1)} %; must 5 %`)
  await drain(service)
  table.print("Starts of a node while more waits than it can start")
  await service.stop()
}
