/** The kinds of leased work that other modules use beside their drivers. */
import { Duration } from "effect"
import type { DeliveryUse } from "../../actors/ports/delivery/Deliveries.js"
import { eventLease } from "../../actors/ports/run/StartQueue.js"
import { deliveryTimeout } from "../../domain/delivery/Delivery.js"
import { outwardPlaces } from "../../domain/Limits.js"
import type { PlacedKind, WorkKind } from "./LeasedWork.js"

const millis = (time: string) => `(extract(epoch FROM ${time}) * 1000)::float8`

/** Ticks of schedules. */
export const schedules = {
  task: "schedules.fire",
  table: "trigger_states",
  key: ["trigger_id"],
  isDue: "w.next_fire_at <= now()",
  dueAt: "w.next_fire_at",
  lease: { seconds: 10 },
  columns: `${millis("w.next_fire_at")} AS "dueAt", ${millis("now()")} AS now`
} as const satisfies WorkKind

/** The endpoint of a URL: without query and fragment. */
export const endpointSql = (url: string): string => `split_part(split_part(${url}, '#', 1), '?', 1)`

/** Messages for endpoints, which go to the present URL of an endpoint. */
export const deliveries = (use: DeliveryUse): WorkKind<"deliveries.send"> & PlacedKind<"deliveries.send"> => ({
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
  bounds: outwardPlaces[use],
  isAnyDueWork: true
})

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
