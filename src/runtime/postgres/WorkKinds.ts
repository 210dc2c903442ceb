/** All kinds of leased work, as data: what each leases, when it is due, and in which order. */
import { Duration } from "effect"
import type { DeliveryUse } from "../../actors/ports/delivery/Deliveries.js"
import { eventLease } from "../../actors/ports/run/StartQueue.js"
import { deliveryTimeout } from "../../domain/delivery/Delivery.js"
import { longestHold, outwardPlaces } from "../../domain/Limits.js"
import { notSetAside } from "./FailedJobs.js"
import type { DueKind, PlacedKind, WorkKind } from "./LeasedWork.js"
import { stateKeyOwnerSql } from "./run/StateRow.js"

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
  columns: `${millis("w.next_fire_at")} AS "dueAt", ${millis("now()")} AS now`
}

/** The endpoint of a URL: without query and fragment. */
export const endpointSql = (url: string): string => `split_part(split_part(${url}, '#', 1), '?', 1)`

/** Messages for endpoints, which go to the present URL of an endpoint. */
export const deliveries = (use: DeliveryUse): WorkKind & PlacedKind => ({
  task: "deliveries.send",
  table: "deliveries",
  joinsToFind: "LEFT JOIN webhook_endpoints e ON e.id = w.endpoint_id",
  key: ["id"],
  isDue: "w.status = 'pending' AND w.next_at <= now()",
  isWanted: `w.kind ${use === "notifications" ? "=" : "<>"} 'notification'`,
  dueAt: "w.next_at",
  // Longer than any attempt, including the read of its secrets and the write of its result.
  lease: { until: "claimed_until", seconds: Duration.toSeconds(deliveryTimeout) + 15 },
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
  reads: `${isWanted} AS wanted, ${isOpen} AS open`,
  columns: `${subscriptionColumns}, due.wanted AS "isWanted", due.open AS "isOpen"`,
  partner: "w.connection_id",
  bounds: outwardPlaces.subscriptions
}

/** The owner of a connection does its work, one command at a time: it needs no lease. */
const connections = (isDue: string, dueAt: string): PlacedKind & { readonly hasShards: true } => ({
  task: "connections.renew",
  table: "connections",
  key: ["id"],
  isDue,
  dueAt,
  hasShards: true,
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

/** Replays of many dead letters. The lease is the time of a replay's next part. */
export const replays: WorkKind = {
  task: "events.replay",
  table: "replays",
  key: ["id"],
  isDue: "w.status = 'running'",
  dueAt: "w.next_at",
  lease: { until: "next_at", seconds: 15 },
  columns: `w.space AS "spaceId", w.filter, w.most AS limit, w.per_second AS "ratePerSecond", w.created_by AS "createdBy",
    w.after, w.replayed, w.failed, w.causes`
}

/** Dead letters that their policies replay on a schedule. The lease is the time at which the schedule looks again. */
export const scheduledLetters: WorkKind = {
  task: "events.replay",
  table: "dead_letters",
  key: ["id"],
  isDue: "(w.status = 'pending' OR w.status = 'replaying' AND w.replay_cause = 'schedule')",
  dueAt: "w.replay_at",
  lease: { until: "replay_at", seconds: 15 },
  columns: `w.space AS "spaceId"`
}

/** The outbox: one node at a time hands an event over. It leaves in the statement that publishes it. */
export const domainEvents: WorkKind = {
  task: "events.publish",
  table: "domain_events",
  key: ["id"],
  isDue: "true",
  dueAt: "w.at",
  orderBy: "w.id",
  // Longer than a batch takes that is handed over to triggers.
  lease: { until: "leased_until", seconds: 15 },
  columns: `w.type, w.subject, w.customer_id AS "customerId", w.payload, w.at`
}

/** Events that were held for too long. One becomes a dead letter in the statement that locks it. */
export const expiredHolds: DueKind = {
  task: "events.release_held",
  table: "events",
  key: ["id"],
  isDue: `w.status = 'held'
    AND w.id < 'evt_' || substr(svc_ulid_bound(now() - interval '${Duration.toSeconds(longestHold)} seconds'), 6)`,
  dueAt: "w.received_at",
  orderBy: "w.id"
}

export const stateKey = ["org", "space", "scope", "environment", "owner", "key"] as const
const stateKeySql = stateKey.map((column) => `w.${column}`).join(", ")

/**
 * Values of `svc.state` that earlier releases stored in clear, after the key `$1` to `$6`. One is sealed by the statement
 * that locks it. The id of a job has nothing in clear that a tenant chose: `/readyz` and the log show it.
 */
export const clearState: DueKind = {
  task: "state.seal",
  table: "key_values",
  key: stateKey,
  id: `encode(sha256(convert_to(json_build_array(${stateKeySql})::text, 'UTF8')), 'hex')`,
  isDue: "w.value IS NOT NULL",
  isWanted: `(${stateKeySql}) > ($1, $2, $3, $4, $5, $6) AND ${notSetAside("state.seal", stateKeyOwnerSql)}`,
  dueAt: "w.updated_at",
  orderBy: stateKeySql
}

/**
 * Events that wait to be dispatched, and runs that wait to start. `svc_take_queued` of `migrations` picks them, not the common
 * statement: its turns are fair over classes, organisations and customers, and its plan must not depend on the statistics
 * of a queue that filled a second ago.
 */
export const startQueue: WorkKind = {
  task: null,
  table: "start_queue",
  key: ["id"],
  isDue: "NOT w.held AND w.not_before <= now()",
  dueAt: "w.not_before",
  lease: { until: "claimed_until", seconds: Duration.toSeconds(eventLease), holder: "claimed_by", lost: "lost" },
  hasShards: true,
  columns: "w.priority, w.shard, w.claims, w.lane"
}
