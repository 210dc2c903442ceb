/** Inserts many events by SQL, as copies of one that the service accepted. */
import { setTimeout as pause } from "node:timers/promises"
import { sql } from "./Database.js"
import type { Service } from "./Service.js"

/** The copied columns of an event, all but its id, status, class of priority and the time of its arrival. */
const copied =
  "class, org, space, source, trigger_id, connector, connection_id, customer_id, type, record, payload, sealed"

/** An id with the time, an expression of SQL, and the number `n` in place of the random part. */
const idAt = (time: string) => `svc_ulid_bound('evt', ${time}) || lpad(to_hex(n), 16, '0')`

/** Sends an event with the body, and waits until it is settled. Returns its id. */
export const settleOne = async (service: Service, path: string, body: unknown): Promise<string> => {
  const { data } = await service.call("POST", path, body)
  const { eventId } = data as { readonly eventId: string }
  const find = `SELECT FROM event_records WHERE id = '${eventId}'`
  while ((await sql(service.admin("svc"), find)).length === 0) await pause(20)
  return eventId
}

export interface WaitingEvents {
  readonly count: number
  readonly priority: 1 | 2 | 3 | 4
  /** When they may start: an expression of SQL. Default: now. */
  readonly notBefore?: string
  readonly held?: boolean
  /** The organisation's customer and the trigger's lane that an event belongs to: expressions with `n`, its number. */
  readonly flow?: string
  readonly lane?: string
}

/** Inserts copies of a settled event that wait to start. */
export const insertWaiting = async (service: Service, eventId: string, events: WaitingEvents): Promise<void> => {
  const { count, flow = "''", held = false, lane = "NULL", notBefore = "now()", priority } = events
  const status = held ? "held" : "received"
  const id = idAt(`'${new Date().toISOString()}'`)
  await sql(
    service.admin("svc"),
    `INSERT INTO events (id, ${copied}, priority, status, received_at)
       SELECT ${id}, ${copied}, ${priority}, '${status}', now() FROM event_records e, generate_series(1, ${count}) n
       WHERE e.id = '${eventId}'`,
    `INSERT INTO start_queue (id, org, shard, priority, flow, lane, held, not_before)
       SELECT ${id}, e.org, 1 + n % 100, ${priority}, ${flow}, ${lane}, ${held}, ${notBefore}
       FROM event_records e, generate_series(1, ${count}) n WHERE e.id = '${eventId}'`,
    "ANALYZE events, start_queue"
  )
}

export const countWaiting = async (service: Service): Promise<number> =>
  Number((await sql(service.admin("svc"), "SELECT count(*) AS n FROM start_queue"))[0]?.["n"])
