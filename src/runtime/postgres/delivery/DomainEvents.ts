/** The port `DomainEvents` on the writer's pool. */
import { Effect, Layer } from "effect"
import { DomainEvents, type PublishedEvent } from "../../../actors/pipeline/Outbound.js"
import { PlatformConfiguration } from "../../../actors/ports/organisation/PlatformConfiguration.js"
import { platformAutoReplay, startedReplays } from "../event/ReplayCauses.js"
import { endFormerLeases, leaseSql, noLease, type WorkKind } from "../LeasedWork.js"
import { WriterSql } from "../database/Pools.js"
import { execute, rowsOf } from "../database/DatabaseUnavailable.js"
import type { DomainEvent } from "../../../actors/ports/connection/ConnectionStore.js"
import { castRows } from "../database/Sql.js"

/** The outbox: one node at a time hands an event over. It leaves in the statement that publishes it. */
const kind = {
  task: "events.publish",
  table: "domain_events",
  key: ["id"],
  isDue: "true",
  dueAt: "w.at",
  orderBy: "w.id",
  // Longer than a batch takes that is handed over to triggers.
  lease: { seconds: 15 },
  columns: `w.type, w.subject, w.customer_id AS "customerId", w.payload, w.at`
} as const satisfies WorkKind

export const work = [kind] as const

const batchSql = leaseSql(kind, "due")
const releaseSql = `UPDATE domain_events w SET ${noLease(kind)} WHERE w.id = ANY($1::text[])`

/** The workspace whose records an event names, if it names any: by its payload, and by its subject. */
const spaceOf = (event: string) => {
  const of = (table: string, id: string) =>
    `(SELECT r.space FROM ${table} r WHERE r.org = ${event}.org AND r.id = ${id})`
  const named = (member: string) => `${event}.payload->>'${member}'`
  return `COALESCE(${[
    of("workflows", named("workflowId")),
    of("triggers", named("triggerId")),
    of("triggers", `${event}.subject`),
    of("dead_letters", named("deadLetterId")),
    of("api_keys", `${event}.subject`)
  ].join(", ")})`
}

/**
 * `$1`: the ids of the events; `$2`: their deliveries, `$3` their notifications, `$4` the deliveries of these, as JSON;
 * `$5`: the platform's policy of replays.
 * It waits for locks, since whoever looks for events locks those of others for a moment: one that was left out would wait
 * for the end of its lease. Notifications are signed with the secret of the organisation's first workspace.
 */
const publishSql = `
  WITH locked AS (
    SELECT w.id FROM domain_events w WHERE w.id = ANY($1::text[]) ORDER BY w.id FOR UPDATE
  ), gone AS (
    DELETE FROM domain_events e USING locked WHERE e.id = locked.id RETURNING e.id, e.org, e.type, e.subject, e.customer_id, e.payload, e.at
  ), sent AS (
    INSERT INTO deliveries (id, org, kind, url, endpoint_id, event_type, customer_id, payload)
    SELECT d.id, gone.org, 'outbound', d.url, d.endpoint_id, gone.type, gone.customer_id, d.payload
    FROM json_to_recordset($2::json) AS d (event text, id text, endpoint_id text, url text, payload text)
    JOIN gone ON gone.id = d.event
  ), notices AS (
    INSERT INTO notifications (id, org, space, customer_id, channel, severity, title, body, link, source, status, pending, targets, cause, hour, created_at)
    SELECT n.id, gone.org, ${spaceOf("gone")}, gone.customer_id, n.channel, n.severity, n.title, n.body, n.link, n.source, n.status, n.pending, n.targets,
      n.cause, n.hour, n."createdAt"
    FROM json_to_recordset($3::json) AS n (event text, id text, channel text, severity text, title text, body text, link text,
      source jsonb, status text, pending int, targets int, cause text, hour timestamptz, "createdAt" timestamptz)
    JOIN gone ON gone.id = n.event
    ON CONFLICT DO NOTHING RETURNING id, org, customer_id
  ), notified AS (
    INSERT INTO deliveries (id, org, space, kind, url, customer_id, notification_id, payload)
    SELECT d.id, notices.org, (SELECT w.id FROM workspaces w WHERE w.org = notices.org ORDER BY w.created_at, w.id LIMIT 1),
      'notification', d.url, notices.customer_id, notices.id, d.payload
    FROM json_to_recordset($4::json) AS d (notification text, id text, url text, payload text)
    JOIN notices ON notices.id = d.notification
  ), ${startedReplays("$5::jsonb")}
  SELECT id FROM gone`

const deliveryRows = ({ deliveries, event }: PublishedEvent) =>
  deliveries.map(({ endpoint, id, payload }) => ({
    event: event.id,
    id,
    endpoint_id: endpoint.id,
    url: endpoint.url,
    payload
  }))

const notificationRows = ({ event, notifications }: PublishedEvent) =>
  notifications.map(({ notification }) => ({ ...notification, event: event.id }))

const notificationDeliveryRows = ({ notifications }: PublishedEvent) =>
  notifications.flatMap(({ deliveries, notification }) =>
    deliveries.map((delivery) => ({ ...delivery, notification: notification.id }))
  )

interface EventRow extends Omit<DomainEvent, "at"> {
  readonly at: Date
}

export const layer = Layer.effect(
  DomainEvents,
  Effect.gen(function* () {
    const sql = yield* WriterSql
    yield* endFormerLeases(sql, kind)
    const platformPolicy = platformAutoReplay(yield* PlatformConfiguration)

    return DomainEvents.of({
      // Not decoded, since one event that cannot be read would keep those of all organisations from being published.
      lease: (limit) =>
        Effect.map(rowsOf(castRows<EventRow>(sql.unsafe(batchSql, [limit]))), (rows) =>
          rows.map((row) => ({ ...row, at: row.at.toISOString() })).sort((a, b) => (a.id < b.id ? -1 : 1))
        ),
      release: (events) => execute(sql.unsafe(releaseSql, [events.map(({ id }) => id)])),
      publish: (events) =>
        Effect.map(
          rowsOf(
            sql.unsafe(publishSql, [
              events.map(({ event }) => event.id),
              JSON.stringify(events.flatMap(deliveryRows)),
              JSON.stringify(events.flatMap(notificationRows)),
              JSON.stringify(events.flatMap(notificationDeliveryRows)),
              platformPolicy
            ])
          ),
          (rows) => {
            const removed = new Set(rows.map((row) => Reflect.get(row, "id")))
            return events.flatMap(({ event }) => (removed.has(event.id) ? [event.id] : []))
          }
        )
    })
  })
)
