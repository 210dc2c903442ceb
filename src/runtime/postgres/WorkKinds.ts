/** All kinds of leased work, as data: what each leases, when it is due, and in which order. */
import { Duration } from "effect"
import type { DeliveryUse } from "../../actors/ports/Deliveries.js"
import { deliveryTimeout } from "../../domain/Delivery.js"
import { outwardPlaces } from "../../domain/Limits.js"
import type { PlacedKind, WorkKind } from "./LeasedWork.js"

/** The triggers `t` on polled events, with the connections `c` that they are for. */
export const polledBy = (triggers: string): string => `triggers t JOIN connections c ON c.org = t.org
  AND c.connector = t.app_event->>'connector' AND c.disconnected_at IS NULL
  AND (t.app_event->>'connectionId' IS NULL OR t.app_event->>'connectionId' = c.id)
  AND (t.customer_id IS NULL OR t.customer_id = c.customer_id)
  WHERE t.type = 'app_event' AND t.app_event->>'delivery' = 'poll' AND t.deleted_at IS NULL AND ${triggers}`

/** Polls of connections: those with an active trigger and an active connection. */
export const polls: WorkKind & PlacedKind = {
  task: "events.poll",
  table: "polls",
  key: ["connection_id", "event"],
  isDue: "w.next_at <= now()",
  isWanted: `EXISTS (SELECT FROM ${polledBy(
    "t.status = 'active' AND c.status = 'active' AND c.id = w.connection_id AND t.app_event->>'event' = w.event"
  )})`,
  dueAt: "w.next_at",
  lease: { until: "leased_until", seconds: 60 },
  shards: "none",
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
  shards: "none",
  columns: `${millis("w.next_fire_at")} AS "dueAt", ${millis("now()")} AS now`
}

/** The endpoint of a URL: without query and fragment. */
export const endpointSql = (url: string): string => `split_part(split_part(${url}, '#', 1), '?', 1)`

/** Messages for endpoints, which go to the present URL of an endpoint. */
export const deliveries = (use: DeliveryUse): WorkKind & PlacedKind => ({
  task: "deliveries.send",
  table: "deliveries",
  joins: "LEFT JOIN webhook_endpoints e ON e.id = w.endpoint_id",
  key: ["id"],
  isDue: "w.status = 'pending' AND w.next_at <= now()",
  isWanted: `w.kind ${use === "notifications" ? "=" : "<>"} 'notification'`,
  dueAt: "w.next_at",
  // Longer than any attempt, including the read of its secrets and the write of its result.
  lease: { until: "claimed_until", seconds: Duration.toSeconds(deliveryTimeout) + 15 },
  shards: "none",
  columns: "w.space, w.kind, w.endpoint_id, w.url, w.execution_id, w.payload, w.attempts, w.attempts_before",
  partner: endpointSql("COALESCE(e.url, w.url)"),
  bounds: outwardPlaces[use]
})

const isWanted = `(t.status = 'active' AND t.deleted_at IS NULL AND (t.app_event->>'connectionId' IS NULL
  OR t.app_event->>'connectionId' = w.connection_id))`
const isOpen = "(c.status = 'active')"

export const subscriptionColumns = `w.org AS "organisationId", w.trigger_id AS "triggerId", w.connection_id AS "connectionId",
  w.state, w.attempts, w.number, w.external_id AS "externalId", w.secret,
  ${millis("w.expires_at")} AS "expiresAt"`

/** Subscriptions at providers whose state is not what their trigger and connection ask for. */
export const subscriptions: WorkKind & PlacedKind = {
  task: "events.subscribe",
  table: "subscriptions",
  joins: "JOIN triggers t ON t.id = w.trigger_id JOIN connections c ON c.id = w.connection_id",
  key: ["trigger_id", "connection_id"],
  isDue: `CASE WHEN NOT ${isWanted} THEN w.state <> 'unsubscribed' WHEN NOT ${isOpen} THEN w.state <> 'suspended'
    WHEN w.state IN ('suspended', 'unsubscribed') THEN true ELSE w.next_at <= now() END`,
  dueAt: "COALESCE(w.next_at, '-infinity'::timestamptz)",
  // Longer than a call to a provider may take, with its retries.
  lease: { until: "leased_until", seconds: 120 },
  shards: "none",
  reads: `${isWanted} AS wanted, ${isOpen} AS open`,
  columns: `${subscriptionColumns}, due.wanted AS "isWanted", due.open AS "isOpen"`,
  partner: "w.connection_id",
  bounds: outwardPlaces.subscriptions
}

/** The owner of a connection does its work, one command at a time: it needs no lease. */
const connections = (isDue: string, dueAt: string): PlacedKind => ({
  task: "connections.renew",
  table: "connections",
  key: ["id"],
  isDue,
  dueAt,
  shards: "byId",
  partner: "w.id",
  bounds: outwardPlaces.refreshes
})

export const connectionsToRenew = connections("w.status = 'active' AND w.next_look_at <= now()", "w.next_look_at")

export const connectionsToAbandon = connections(
  `w.status = 'pending' AND EXISTS (SELECT 1 FROM connect_sessions s WHERE s.connection_id = w.id)
    AND NOT EXISTS (SELECT 1 FROM connect_sessions s WHERE s.connection_id = w.id AND s.status = 'open' AND s.expires_at > now())`,
  "w.created_at"
)

export const connectionsToDisconnect = connections(
  `w.disconnected_at IS NULL
    AND EXISTS (SELECT 1 FROM customers u WHERE u.id = w.customer_id AND u.deleted_at IS NOT NULL)`,
  "w.created_at"
)
