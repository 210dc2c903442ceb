/** All kinds of leased work, as data: what each leases, when it is due, and in which order. */
import { outwardPlaces } from "../../domain/Limits.js"
import type { PlacedKind, WorkKind } from "./LeasedWork.js"

/** The triggers `t` on polled events, with the connections `c` that they are for. */
export const polledBy = (triggers: string): string => `triggers t JOIN connections c ON c.org = t.org
  AND c.connector = t.app_event->>'connector' AND c.disconnected_at IS NULL
  AND (t.app_event->>'connectionId' IS NULL OR t.app_event->>'connectionId' = c.id)
  AND (t.customer_id IS NULL OR t.customer_id = c.customer_id)
  WHERE t.type = 'app_event' AND t.app_event->>'delivery' = 'poll' AND t.deleted_at IS NULL AND ${triggers}`

/** Polls of connections: those with an active trigger and an active connection. */
export const polls: PlacedKind = {
  task: "events.poll",
  table: "polls",
  key: ["connection_id", "event"],
  isDue: "w.next_at <= now()",
  isWanted: `EXISTS (SELECT FROM ${polledBy(
    "t.status = 'active' AND c.status = 'active' AND c.id = w.connection_id AND t.app_event->>'event' = w.event"
  )})`,
  dueAt: "w.next_at",
  lease: { until: "leased_until", seconds: 60 },
  shard: null,
  columns: `w.connection_id AS "connectionId", w.connector, w.event, w.seq, w.failures`,
  partner: "w.connection_id",
  bounds: outwardPlaces.polls
}

const millis = (time: string) => `(extract(epoch FROM ${time}) * 1000)::float8`

/** Ticks of schedules. */
export const schedules: WorkKind = {
  task: "schedules.fire",
  table: "trigger_states",
  key: ["trigger_id"],
  isDue: "w.next_fire_at <= now()",
  dueAt: "w.next_fire_at",
  lease: { until: "leased_until", seconds: 10 },
  shard: null,
  columns: `${millis("w.next_fire_at")} AS "dueAt", ${millis("now()")} AS now`
}
